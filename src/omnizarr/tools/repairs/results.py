"""The results of `repair` and `restore`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Repair", "RepairKind", "RepairResult", "RestoreResult", "Unrepaired"]

RepairKind: TypeAlias = Literal["temporary", "lock", "chunk", "inner chunks", "document", "unfinished", "consolidated"]
"""What was wrong.

- `temporary`: a temporary file of a crashed writer.
- `lock`: the lock file of one.
- `chunk`: a chunk or a shard that cannot be decoded.
- `inner chunks`: some of those in a shard.
- `document`: a document that cannot be parsed.
- `unfinished`: a shrink or an append of a crashed writer.
- `consolidated`: copies of metadata that differ.
"""


@dataclass(frozen=True, slots=True)
class Repair:
    """Something that was wrong, and what was done about it; with a dry run, what would be."""

    kind: RepairKind
    path: str
    """The path of the node, with a leading slash; of a file, that of its directory."""
    key: str | None
    message: str
    """What was wrong."""
    action: str
    """What was done."""
    reversible: bool
    """Whether `restore` takes it back."""


@dataclass(frozen=True, slots=True)
class Unrepaired:
    """Something that is wrong and stays so."""

    path: str
    key: str | None
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class RepairResult:
    """What `repair` found and did."""

    sound: bool
    """Whether nothing was wrong."""
    dry_run: bool
    repairs: tuple[Repair, ...]
    unrepaired: tuple[Unrepaired, ...]
    quarantine: str | None
    """The name of the quarantine that holds what was replaced or removed; None if nothing was."""
    chunks: int
    """The number of decoded chunks."""


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """What `restore` put back."""

    dry_run: bool
    restored: tuple[str, ...]
    """The keys that have their old values again."""
    kept: tuple[str, ...]
    """The keys that another writer has changed since: their old values stay in quarantine."""
