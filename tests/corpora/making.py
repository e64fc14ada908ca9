"""Shared code of the scripts that create corpora: environments of writers, descriptions of the arrays, and
PROVENANCE.md.

A script runs twice: by hand, and then in the Python of each writer, which may be as old as 3.8. There only `Corpus` and
`sample` are used.
"""

from __future__ import annotations

import datetime
import importlib.util
import json
import platform
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tests.peers.environments import Environment, Recipe

ROOT = Path(__file__).resolve().parents[2]


def _exchange() -> Any:
    """`tests/peers/exchange.py` as a single module: an old Python cannot import the rest of that package."""
    spec = importlib.util.spec_from_file_location("exchange", ROOT / "tests" / "peers" / "exchange.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pack, pack_dtype = _exchange().pack, _exchange().pack_dtype

__all__ = ["Corpus", "by_document", "main", "partly", "sample", "scalar"]

# -- the arrays


def sample(dtype: Any, shape: Sequence[int] = (5,)) -> npt.NDArray[Any]:
    """Values from the whole range of a simple type."""
    dtype = np.dtype(dtype)
    values: npt.NDArray[Any]
    if dtype.kind == "b":
        values = np.array([True, False, False])
    elif dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = np.array([1, limits.max, limits.min, 77, limits.max - 1], dtype)
    elif dtype.kind == "f":
        values = np.array([1.5, -0.0, np.inf, np.nan, -2.25, -np.inf], dtype)
    elif dtype.kind == "c":
        values = np.array([1.5 - 2j, complex(np.inf, np.nan), complex(-0.0, 0.25)], dtype)
    elif dtype.kind in "Mm":
        values = np.array([0, 1, -86400, 2**30, np.iinfo("i8").min], "i8").astype(dtype)
    elif dtype.kind == "S":
        values = np.array([b"a", b"", b"\xff\x00\xfe"], dtype)
    elif dtype.kind == "U":
        values = np.array(["a", "", "ü🦀"], dtype)
    else:
        raise TypeError(f"no sample of {dtype}")
    count = int(np.prod(shape, dtype=int))
    return np.tile(values, -(-count // len(values)))[:count].reshape(shape)


def partly(data: npt.NDArray[Any], fill: Any, region: Any) -> npt.NDArray[Any]:
    """An array with a single written region."""
    result = np.full_like(data, fill)
    result[region] = data[region]
    return result


def same(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Whether two arrays are equal to the bit, except for byte order, padding and the payload of NaN."""
    if one.dtype.newbyteorder("=") != other.dtype.newbyteorder("=") or one.shape != other.shape:
        return False
    return (
        pack(one)["items"] == pack(other)["items"]
        if one.dtype == object
        else repr(one.tolist()) == repr(other.tolist())
    )


class Corpus:
    """The folder of one writer, and the descriptions of its nodes."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.nodes: list[dict[str, Any]] = []
        self.left_out: dict[str, str] = {}

    def array(
        self,
        name: str,
        data: npt.NDArray[Any],
        write: Callable[[Path], None],
        look: Callable[[Path, str], dict[str, Any]],
        *,
        location: str | None = None,
        path: str = "",
        marks: Iterable[str] = (),
        defined: npt.NDArray[Any] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Has an array written, and describes what a reader should find.

        `data` are its elements. `write` creates it at the path that it is given. `look` returns what the writer sees
        there: `chunks`, `order`, `fill_value`, `attributes` and the callable `elements`. `location` is the folder of
        the store, if it is not the name, and `path` the path of the array in the store. Marks are those of
        `tests/corpora/reading.py`: with `lossy`, the expected elements are those that the writer reads, not `data`.
        `defined` says which elements have a value at all, and `facts` holds any other information for readers.
        """
        place = self.place / (name if location is None else location)
        try:
            write(place)
        except Exception as error:
            self.left_out[name] = summary(error)
            if location is None:
                shutil.rmtree(place, ignore_errors=True)
            return
        try:
            seen = look(place, path)
        except Exception as error:
            self.left_out[name] = f"it cannot open what it made: {summary(error)}"
            if location is None:
                shutil.rmtree(place, ignore_errors=True)
            return
        self.note(name, data, seen, location=location, path=path, marks=marks, defined=defined, facts=facts)

    def note(
        self,
        name: str,
        data: npt.NDArray[Any],
        seen: Mapping[str, Any],
        *,
        location: str | None = None,
        path: str = "",
        marks: Iterable[str] = (),
        defined: npt.NDArray[Any] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Describes an array that was created; the arguments are those of `array`, and `seen` is the result of
        `look`."""
        marks = list(marks)
        node: dict[str, Any] = {"name": name}
        if location is not None:
            node["location"] = location
        if path:
            node["path"] = path
        try:
            elements = seen["elements"]()
        except Exception as error:
            elements = data
            marks.append("unreadable")
            node["unreadable"] = summary(error)
        if not isinstance(elements, np.ndarray):
            elements = scalar(elements, data.dtype)
        right = elements if "lossy" in marks else data
        if not same(*(one if defined is None else one[defined] for one in (elements, right))):
            marks.append("differs")
            node["read_back"] = pack(elements)
        fill = seen["fill_value"]
        node["shape"] = list(right.shape)
        node["dtype"] = pack_dtype(right.dtype)
        node["chunks"] = list(seen["chunks"])
        node["order"] = seen["order"]
        node["fill_value"] = None if fill is None else pack(scalar(fill, right.dtype))
        node["attributes"] = seen["attributes"]
        node["elements"] = pack(right)
        if defined is not None:
            node["defined"] = pack(defined)
        if facts:
            node["facts"] = dict(facts)
        if marks:
            node["marks"] = marks
        self.nodes.append(node)

    def group(self, name: str, members: Sequence[str], attributes: dict[str, Any], **more: Any) -> None:
        """Describes a group that was created: the paths of all nodes below it, and its attributes."""
        self.nodes.append({"name": name, "kind": "group", "members": sorted(members), "attributes": attributes, **more})

    def save(self, **about: Any) -> None:
        """Saves the descriptions where `main` expects them."""
        about = {"python": platform.python_version(), "numpy": np.__version__, **about}
        notes = {**about, "left_out": self.left_out, "nodes": self.nodes}
        self.place.mkdir(parents=True, exist_ok=True)
        (self.place / "notes.json").write_text(json.dumps(notes))


def scalar(value: Any, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """A value as an array without dimensions; NumPy would take a list apart."""
    result = np.zeros((), dtype)
    if dtype.names is not None and isinstance(value, np.void) and value.dtype.names is not None:
        for name in dtype.names:  # the value may have extra fields for the padding of the type
            result[name] = value[name]
    else:
        result[()] = value
    return result


def by_document(place: Path) -> dict[str, Any]:
    """The properties of an array of v2, from its own documents alone."""
    document = json.loads((place / ".zarray").read_text("utf-8"))
    attributes = place / ".zattrs"
    fill = document["fill_value"]
    return {
        "chunks": document["chunks"],
        "order": document["order"],
        "fill_value": complex(*map(float, fill)) if isinstance(fill, list) else fill,
        "attributes": json.loads(attributes.read_text("utf-8")) if attributes.exists() else {},
    }


def summary(error: Exception) -> str:
    text = (f"{type(error).__name__}: {error}".splitlines() or [""])[0]
    text = text.replace(str(ROOT), "…")
    return text if len(text) <= 120 else f"{text[:119]}…"


# -- the environments, and PROVENANCE.md


def main(
    generation: str,
    script: str,
    writers: Mapping[str, tuple[Recipe, str]],
    inside: Callable[[str, Corpus], None],
    remarks: Sequence[str] = (),
) -> None:
    """The main function of a script. Run by hand, it creates the parts that are named on its command line, or all; in
    the environment of a writer, it calls `inside`.

    `writers` says, by the names of the parts, how to create the environment and which package names the folder.
    `remarks` are added to PROVENANCE.md.
    """
    if sys.argv[1:2] == ["--inside"]:
        warnings.simplefilter("ignore")
        inside(sys.argv[2], Corpus(Path(sys.argv[3])))
        return
    place = ROOT / "tests" / "corpora" / generation
    for name in sys.argv[1:] or writers:
        recipe, package = writers[name]
        environment = environment_of(recipe)
        if environment.missing:
            print(f"{name}: left out, {environment.missing}")
            continue
        made = ROOT / "build" / "corpora" / name
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        subprocess.run([environment.python, "-E", "-s", script, "--inside", name, made], check=True, cwd=ROOT)
        keep(place, made, package, environment)
    write_provenance(place, Path(script).name, remarks)


def environment_of(recipe: Recipe) -> Environment:
    """The environment; it is created if it is missing or has another recipe."""
    from tests.peers.environments import find, make

    found = find(recipe.name)
    return found if found is not None and found.recipe == repr(recipe) and not found.missing else make(recipe)


def keep(place: Path, made: Path, package: str, environment: Environment) -> None:
    """Replaces the part of one writer."""
    notes = json.loads((made / "notes.json").read_text())
    (made / "notes.json").unlink()
    version = notes.pop("version", None) or environment.versions[package]
    folder = f"{notes.pop('writer', None) or package}-{version}"
    nodes, about = notes.pop("nodes"), {"made": str(datetime.datetime.now(datetime.UTC).date()), **notes}
    if "numcodecs" in environment.versions:
        about["numcodecs"] = environment.versions["numcodecs"]
    shutil.rmtree(place / folder, ignore_errors=True)
    shutil.copytree(made, place / folder)
    lines = ",\n".join(json.dumps(node, ensure_ascii=False) for node in nodes)
    expected = place / "expected" / f"{folder}.json"
    expected.parent.mkdir(parents=True, exist_ok=True)
    expected.write_text(f'{{"about": {json.dumps(about, ensure_ascii=False)},\n"nodes": [\n{lines}\n]}}\n', "utf-8")
    # Git must treat chunks as binary even if they look like text.
    (place / ".gitattributes").write_text("* -text\n")
    files = [file for file in (place / folder).rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    print(f"{folder}: {len(nodes)} nodes, {len(files)} files, {size} bytes, without {about['left_out']}")


def write_provenance(place: Path, script: str, remarks: Sequence[str]) -> None:
    """PROVENANCE.md, from the descriptions of all parts."""
    parts = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(place.glob("expected/*.json"))}
    lines = [
        "# Where this corpus comes from",
        "",
        f"Made by `tests/corpora/{script}`: each folder by the program that it is named after, in an environment",
        "of its own. The contents are invented for this purpose, and what a program writes when it is run is data: the",
        "files are under the licence of this project and hold nothing of the programs themselves.",
        "",
        "The file of the same name in `expected` describes a folder; `tests/corpora/reading.py` reads it.",
        *remarks,
        "",
        "| folder | nodes | files | made | Python | NumPy | numcodecs |",
        "|---|---|---|---|---|---|---|",
    ]
    for folder, part in parts.items():
        files = sum(file.is_file() for file in (place / folder).rglob("*"))
        cells = [f"`{folder}`", len(part["nodes"]), files]
        cells += [part["about"].get(name, "–") for name in ("made", "python", "numpy", "numcodecs")]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    left_out = [
        f"- `{folder}` `{name}`: {reason}"
        for folder, part in parts.items()
        for name, reason in part["about"]["left_out"].items()
    ]
    if left_out:
        lines += [
            "",
            "Left out, because the program does not write it or cannot read it back:",
            "",
            *left_out,
        ]
    (place / "PROVENANCE.md").write_text("\n".join(lines) + "\n", "utf-8")
