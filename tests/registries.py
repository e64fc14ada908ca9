"""Helpers for tests of extensions: install packages in a folder, and restore registries after a test."""

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
from omnizarr.formats.draft.extensions import extensions
from omnizarr.formats.draft.layouts import chunk_memory_layouts
from omnizarr.grids import chunk_grids
from omnizarr.store.address.schemes import stores
from omnizarr.transformers import storage_transformers

__all__ = ["REGISTRIES", "install", "restoring", "restoring_all"]

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
    """Install a distribution in a folder of the path: its entry points by group, and its modules."""
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
def restoring(registry: Registry[Any]) -> Iterator[None]:
    """Make the registry search for installed packages again, and restore its entries on exit."""
    parts = ("_items", "_sources", "_aliases", "_offers")
    before = {part: dict(getattr(registry, part)) for part in parts}
    registry._points = None
    try:
        yield
    finally:
        for part, content in before.items():
            setattr(registry, part, content)
        registry._points = None
        Registry.changes += 1  # cached lookups by name are outdated


@contextmanager
def restoring_all() -> Iterator[None]:
    """Do the same for all registries."""
    with ExitStack() as stack:
        for registry in REGISTRIES:
            stack.enter_context(restoring(registry))
        yield
