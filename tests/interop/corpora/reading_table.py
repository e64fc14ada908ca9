"""Measures how many arrays of other writers omnizarr, zarr-python 3 and TensorStore read, for docs/generations.md.

`python -m tests.interop.corpora.reading_table` reads the corpora. With `--repository NAME=GIT`, which may be repeated,
it also reads all arrays in the newest commit of a public repository; GIT is a clone or its git directory. Rows of
repositories that are not named stay as they were measured before. `docs/make_reading.py` writes the table.

An array of a corpus counts as read if its elements are those that the writer stored. For arrays of a repository no
elements are known: they count as read if all elements can be read, and differences between libraries are printed.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import tarfile
import tempfile
import warnings
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tests.corpora.reading import CORPORA, Expected, all_stored
from tests.interop.cases import same
from tests.peers import Peer, PeerError, Unsupported
from tests.peers.environments import ROOT, find

import omnizarr

__all__ = ["LIBRARIES", "RESULTS", "corpus_arrays", "reads", "repository_arrays"]

RESULTS = ROOT / "docs" / "reading.json"
LIBRARIES = ("omnizarr", "zarr", "tensorstore")
_MOST_ELEMENTS = 2**24  # of an array in a repository
_NOT_DATA = ("site-packages/", "node_modules/")


class StoredArray(NamedTuple):
    """An array, and its elements if they are known."""

    location: Path
    path: str
    expected: Expected | np.ndarray[Any, Any] | None


def corpus_arrays() -> dict[str, list[StoredArray]]:
    """The arrays of the corpora by generation and writer, without those that readers must reject."""
    rows: dict[str, list[StoredArray]] = {}
    for stored in all_stored():
        if stored.generation != "v3" and not stored.expected.marks & {"refuse", "unreadable"}:
            row = rows.setdefault(f"{stored.generation} {stored.writer}", [])
            row.append(StoredArray(stored.location, stored.expected.path, stored.expected))
    folder = CORPORA / "v3"
    for file in sorted((folder / "expected").rglob("*.npy")):
        name = file.relative_to(folder / "expected").with_suffix("")
        for document in sorted(folder.glob(f"*/{name.as_posix()}/zarr.json")):
            writer = document.relative_to(folder).parts[0]
            array = StoredArray(document.parent, "", np.load(file))
            rows.setdefault(f"v3 {writer}", []).append(array)
    return dict(sorted(rows.items()))


def _agrees(elements: Any, expected: Any) -> bool:
    if isinstance(expected, Expected):
        return expected.agrees(elements)
    if expected is None:
        return True
    array = np.asarray(elements)
    return array.tolist() == expected.tolist() if array.dtype.kind in "OT" else same(array, expected)


def reads(array: StoredArray, library: str = "omnizarr", peer: Peer | None = None) -> Any:
    """The elements, if the library reads them and they are the expected ones; otherwise None."""
    try:
        if peer is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                store = omnizarr.LocalStore(array.location, read_only=True, follow_symlinks=True)
                elements = omnizarr.open_array(store, path=array.path, mode="r")[...]
        else:
            elements = peer.read(library, array.location, array.path)
    except (omnizarr.OmnizarrError, PeerError, Unsupported):
        return None
    return elements if _agrees(elements, array.expected) else None


# -- public repositories


def _git(repository: str, *arguments: str) -> bytes:
    return subprocess.run(["git", "-C", repository, *arguments], capture_output=True, check=True).stdout


def repository_arrays(repository: str, folder: Path) -> Iterator[StoredArray]:
    """Copies the folders with documents to `folder`, and returns their arrays."""
    names = _git(repository, "ls-tree", "-r", "-z", "--name-only", "HEAD").decode().split("\0")
    names = [name for name in names if not any(part in name for part in _NOT_DATA)]
    documents = [name for name in names if f"/{name}".endswith(("/.zarray", "/zarr.json", "/attributes.json"))]
    with tarfile.open(fileobj=io.BytesIO(_git(repository, "archive", "HEAD", *_roots(documents)))) as archive:
        archive.extractall(folder, filter="data")
    for name in documents:
        try:
            document = json.loads((folder / name).read_text("utf-8"))
        except ValueError:
            continue
        if not isinstance(document, dict):
            continue
        parent = name.rpartition("/")[0]
        if "metadata_encoding" in document:  # the entry point of a draft of v3
            yield from _draft_arrays(folder / parent)
            continue
        is_array = name.endswith(".zarray") or document.get("node_type") == "array"
        if name.endswith("/attributes.json"):
            is_array = {"dimensions", "dataType"} <= document.keys()
        shape = document.get("shape", document.get("dimensions", ()))
        if is_array and prod(shape) <= _MOST_ELEMENTS:
            yield StoredArray(folder, parent, None)


def _draft_arrays(root: Path) -> Iterator[StoredArray]:
    for top in (root / "meta" / "root", root / "meta"):  # the draft of 2020, that of 2022
        documents = sorted(top.rglob("*.array.json"))
        for file in documents:
            yield StoredArray(root, file.relative_to(top).as_posix().removesuffix(".array.json"), None)
        if documents:
            return


def _roots(documents: list[str]) -> list[str]:
    """The folders of documents that lie in no other such folder."""
    roots: list[str] = []
    for folder in sorted({name.rpartition("/")[0] for name in documents}):
        if not roots or not f"{folder}/".startswith(f"{roots[-1]}/"):
            roots.append(folder)
    return roots


# -- measuring


def _measure(source: str, arrays: list[StoredArray], peer: Peer) -> dict[str, Any]:
    counts = dict.fromkeys(LIBRARIES, 0)
    missing: list[str] = []
    for array in arrays:
        results = {name: reads(array, name, None if name == "omnizarr" else peer) for name in LIBRARIES}
        read = {name: np.asarray(elements) for name, elements in results.items() if elements is not None}
        for name in read:
            counts[name] += 1
        if "omnizarr" not in read and read:
            missing.append(array.path)
        if array.expected is None and len({repr(elements.tolist()) for elements in read.values()}) > 1:
            print(f"{source}: {array.path} differs between {', '.join(read)}")
    print(source, len(arrays), counts, *missing, sep="\n  " if missing else " ")
    return {"source": source, "arrays": len(arrays), **counts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repository", action="append", default=[], metavar="NAME=GIT")
    chosen = parser.parse_args().repository
    environment = find("zarr3")
    assert environment is not None, "run `make peers`"
    before = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {"repositories": []}
    public = {row["source"]: row for row in before["repositories"]}
    with Peer(environment) as peer:
        corpora = [_measure(source, arrays, peer) for source, arrays in corpus_arrays().items()]
        for name, _, repository in (item.partition("=") for item in chosen):
            with tempfile.TemporaryDirectory() as folder:
                row = _measure(name, list(repository_arrays(repository, Path(folder))), peer)
            public[name] = row | {"commit": _git(repository, "rev-parse", "HEAD").decode()[:10]}
    versions = {name: environment.versions[name] for name in LIBRARIES[1:]}
    rows = [public[name] for name in sorted(public, key=str.lower)]
    RESULTS.write_text(json.dumps({"versions": versions, "corpora": corpora, "repositories": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
