"""For tests of extensions: packages made of a folder, and registries that are afterwards as they were before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from omnizarr._registry import Registry
from omnizarr.chunk_keys import chunk_key_encodings
from omnizarr.codecs import codecs
from omnizarr.dtypes import data_types
from omnizarr.formats.document_encoding import metadata_encodings
from omnizarr.formats.draft.arrays import chunk_memory_layouts
from omnizarr.formats.draft.extensions import extensions
from omnizarr.grids import chunk_grids
from omnizarr.store.address.schemes import stores
from omnizarr.transformers import storage_transformers

__all__ = ["REGISTRIES", "all_as_they_were", "as_it_was", "install"]

REGISTRIES: tuple[Registry[Any], ...] = (
    codecs,
    data_types,
    chunk_grids,
    chunk_key_encodings,
    storage_transformers,
    stores,
    extensions,
    chunk_memory_layouts,
    metadata_encodings,
)


def install(folder: Path, package: str, points: Mapping[str, Mapping[str, str]], modules: Mapping[str, str]) -> None:
    """Makes a folder on the path hold an installed distribution: its entry points by group, and its modules."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = []
    for group, named in points.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in named.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)


@contextmanager
def as_it_was(registry: Registry[Any]) -> Iterator[None]:
    """Within, the registry looks for installed packages anew; afterwards it knows what it knew before."""
    parts = ("_items", "_sources", "_aliases", "_offers")
    before = {part: dict(getattr(registry, part)) for part in parts}
    registry._points = None
    try:
        yield
    finally:
        for part, content in before.items():
            setattr(registry, part, content)
        registry._points = None
        Registry.changes += 1  # names may stand for something else again


@contextmanager
def all_as_they_were() -> Iterator[None]:
    """The same for all registries."""
    with ExitStack() as stack:
        for registry in REGISTRIES:
            stack.enter_context(as_it_was(registry))
        yield
