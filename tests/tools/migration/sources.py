"""The arrays of all stored corpora, as sources of migrations."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import omnizarr
from omnizarr.store import MemoryStore
from tests.corpora.reading import CORPORA, all_stored
from tests.oracles import draft_2022_corpus

__all__ = ["GENERATIONS", "Source", "all_sources", "opened"]

GENERATIONS: tuple[Any, ...] = (1, 2, "3-draft-2020", "3-draft-2022", 3, "n5")
_V3 = CORPORA / "v3"


class Source(NamedTuple):
    """An array of a corpus."""

    generation: Any
    name: str
    store: Any
    path: str

    def __str__(self) -> str:
        return f"{self.generation}:{self.name}"


def all_sources() -> Iterator[Source]:
    """Every array of every corpus that omnizarr reads."""
    names = {"v1": 1, "v2": 2, "draft-2020": "3-draft-2020", "n5": "n5"}
    for stored in all_stored():
        if not stored.expected.marks & {"reject", "shards-lost", "unreadable"}:
            name = f"{stored.writer}:{stored.name}"
            yield Source(names[stored.generation], name, stored.location, stored.expected.path)
    for writer in sorted(place for place in _V3.iterdir() if place.is_dir() and place.name != "expected"):
        for document in sorted(writer.rglob("zarr.json")):
            if b'"array"' in document.read_bytes()[:2000]:
                place = document.parent
                yield Source(3, f"{writer.name}:{place.relative_to(writer).as_posix()}", place, "")
    for name in draft_2022_corpus.valid_names():
        for path, node in draft_2022_corpus.expected(name).items():
            if node["kind"] == "array" and node["elements"] is not None:
                yield Source("3-draft-2022", f"{name}:{path}", _store_of(name), path)


def _store_of(name: str) -> MemoryStore:
    store = MemoryStore()
    for key, value in draft_2022_corpus.load(name).items():
        if key and not any(part in ("", ".", "..") for part in key.split("/")):
            store.set(key, value)
    return store


def opened(source: Source) -> omnizarr.Array | None:
    """The array; None if the document has no array after all."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", omnizarr.OmnizarrWarning)
        node = omnizarr.open(source.store, path=source.path, mode="r")
    return node if isinstance(node, omnizarr.Array) else None
