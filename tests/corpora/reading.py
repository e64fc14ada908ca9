"""Reads the stored corpora for tests.

    @pytest.mark.parametrize("stored", list(all_stored(generation="v2")), ids=str)
    def test_we_read_the_corpus(stored):
        array = omnizarr.open_array(stored.location, path=stored.expected.path)
        assert stored.expected.agrees(array[...])

Marks name peculiarities:

- `f-as-c`: the metadata say Fortran order, but the chunks have C order.
- `lossy`: the elements are those that the writer reads, not those that it was given.
- `differs`: the writer itself reads other elements, `read_back`, than it was given.
- `unreadable`: the writer cannot read the elements that it wrote.
- `reject`: a reader must reject them, because they are pickles.
- `shards-lost`: the array has shards of `facts["chunks_per_shard"]` chunks, but its metadata no longer say so.
- `implicit`: a group without a document.
- `separator-unsaid`: chunk keys have slashes, but the metadata do not say so.
- `lower-case`: all keys are in lower case, but the path is not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.peers.exchange import unpack, unpack_dtype

__all__ = ["CORPORA", "Expected", "Stored", "about", "all_stored", "generations"]

CORPORA = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected properties of a node. A group has only `kind`, `path`, `attributes`, `members` and `marks`."""

    kind: str
    """`array` or `group`."""
    path: str = ""
    """Its path in the hierarchy at the location."""
    attributes: dict[str, Any] = field(default_factory=dict)
    members: tuple[str, ...] = ()
    """The paths of all nodes below a group."""
    marks: frozenset[str] = frozenset()
    facts: dict[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] = ()
    dtype: np.dtype[Any] | None = None
    chunks: tuple[int, ...] = ()
    order: str | None = None
    """`C` or `F`; None if the writer does not say."""
    fill_value: npt.NDArray[Any] | None = None
    """Without dimensions; None if the fill value is null or irrelevant."""
    elements: npt.NDArray[Any] | None = None
    defined: npt.NDArray[Any] | None = None
    """Which elements have a value, if not all: missing chunks have none if there is no fill value."""
    read_back: npt.NDArray[Any] | None = None
    """The elements that the writer itself reads, if they differ."""

    def agrees(self, found: Any) -> bool:
        """Whether these are the elements. Byte order, padding and the payload of NaN do not count; the sign of zero and
        the type do, but text and bytes of variable length may be objects or have a type of their own."""
        assert self.elements is not None
        found = np.asarray(found)
        if found.shape != self.shape:
            return False
        if self.elements.dtype.kind == "O" and found.dtype.kind in "OT":
            found = found.astype(object)
        elif not _same_type(found.dtype, self.elements.dtype):
            return False
        chosen = (found, self.elements) if self.defined is None else (found[self.defined], self.elements[self.defined])
        return _plain(chosen[0]) == _plain(chosen[1])


class Stored(NamedTuple):
    """A node of a corpus, its location, and its expected properties."""

    generation: str
    writer: str
    name: str
    location: Path
    """The folder of the store that holds it."""
    expected: Expected

    def __str__(self) -> str:
        return f"{self.generation}:{self.writer}:{self.name}"


def generations() -> list[str]:
    """The corpora that are described in this way."""
    found = {place.parents[1].name for place in CORPORA.glob("*/expected/*.json")}
    return sorted(found - {"draft-2022"})  # no program wrote it, so it has another description


def about(generation: str) -> dict[str, dict[str, Any]]:
    """For each writer, how its part was created, and in `left_out` what the writer could not do."""
    return {file.stem: _notes(file)["about"] for file in sorted((CORPORA / generation / "expected").glob("*.json"))}


def all_stored(
    generation: str | None = None, writer: str | None = None, kind: str | None = "array"
) -> Iterator[Stored]:
    """All nodes of the corpora, or those of one generation, of one writer (`zarr-2.18.7`) and of one kind; `kind=None`
    returns both arrays and groups."""
    for chosen in generations() if generation is None else [generation]:
        for file in sorted((CORPORA / chosen / "expected").glob("*.json")):
            if writer not in (None, file.stem):
                continue
            for node in _notes(file)["nodes"]:
                if kind in (None, node.get("kind", "array")):
                    location = CORPORA / chosen / file.stem / node.get("location", node["name"])
                    yield Stored(chosen, file.stem, node["name"], location, _expected(node))


@cache
def _notes(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def _expected(node: dict[str, Any]) -> Expected:
    def array(name: str) -> npt.NDArray[Any] | None:
        return None if node.get(name) is None else unpack(node[name])

    return Expected(
        kind=node.get("kind", "array"),
        path=node.get("path", ""),
        attributes=node["attributes"],
        members=tuple(node.get("members", ())),
        marks=frozenset(node.get("marks", ())),
        facts=node.get("facts", {}),
        shape=tuple(node.get("shape", ())),
        dtype=unpack_dtype(node["dtype"]) if "dtype" in node else None,
        chunks=tuple(node.get("chunks", ())),
        order=node.get("order"),
        fill_value=array("fill_value"),
        elements=array("elements"),
        defined=array("defined"),
        read_back=array("read_back"),
    )


def _same_type(one: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Whether two types are equal except for byte order and padding."""
    if one.names is not None and one.names == other.names:
        return all(_same_type(one[name], other[name]) for name in one.names)
    if one.subdtype is not None and other.subdtype is not None:
        return one.shape == other.shape and _same_type(one.base, other.base)
    return one.newbyteorder("=") == other.newbyteorder("=")


def _plain(value: Any) -> Any:
    """A value that is equal for equal elements; `repr` distinguishes zeros and makes NaN equal."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [_plain(item) for item in value.ravel()]
    if isinstance(value, np.ndarray):
        value = value.astype(value.dtype.newbyteorder("="))  # records show the byte order of the arrays in them
        kind = value.dtype.newbyteorder("=").str if value.dtype.names is None else ""
        return kind, value.shape, repr(value.astype("i8").tolist() if value.dtype.kind in "mM" else value.tolist())
    return [type(value).__name__.removesuffix("_"), repr(value)]
