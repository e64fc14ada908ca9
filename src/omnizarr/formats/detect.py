"""Which generation lies here: from documents to a verdict. Pure; somebody else fetches the documents."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from omnizarr._json import Json
from omnizarr.formats.contract import Documents
from omnizarr.model import ZarrFormat

__all__ = ["Verdict", "candidates", "detect", "foreign", "suspects"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A node of this generation lies here."""

    zarr_format: ZarrFormat


def candidates(path: str) -> tuple[str, ...]:
    """The keys to ask for, all together, to find out what lies at `path`."""
    return (_key(path, "zarr.json"),)


def detect(path: str, documents: Documents) -> Verdict | None:
    """What the documents under `candidates(path)` say; None if there is no node.

    A `zarr.json` without a `zarr_format` of 3 still counts as v3, so that its reader can say what is wrong with it."""
    return Verdict(3) if _key(path, "zarr.json") in documents else None


# Generations that cannot be read yet, and the key that gives each away.
_FOREIGN = {".zarray": "a Zarr v2 array", ".zgroup": "a Zarr v2 group", "meta": "a Zarr v1 array"}


def suspects(path: str) -> tuple[str, ...]:
    """The keys that would show one of those generations at `path`."""
    return tuple(_key(path, name) for name in _FOREIGN)


def foreign(path: str, keys: Collection[str], document: Json = None) -> str | None:
    """What lies at `path` if it is Zarr that this release cannot open: for the hint of an error. `keys` are those of
    the `suspects` that exist."""
    if isinstance(document, dict) and isinstance(document.get("zarr_format"), str):
        return "a hierarchy of a draft of Zarr v3"
    return next((what for name, what in _FOREIGN.items() if _key(path, name) in keys), None)


def _key(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name
