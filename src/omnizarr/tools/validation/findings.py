"""The results of `validate`: findings, each with its rule, its place, what was found and how to fix it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

__all__ = ["Finding", "FindingKind", "Level", "ReaderVerdict", "Report", "stricter"]

Level: TypeAlias = Literal["error", "warning", "advice"]
"""`error`: readers may fail or read wrong values. `warning`: omnizarr accepts it, but a rule forbids it. `advice`: a
rule recommends something else."""
FindingKind: TypeAlias = Literal[
    "document", "hierarchy", "torn", "undecodable", "unchecked", "foreign", "orphan", "convention"
]
"""What a finding is about. `torn`: a stored value that ends too early. `undecodable`: a chunk that its codecs reject.
`unchecked`: chunks that exceed the limit for memory. `foreign`: a key that belongs to no node. `orphan`: a chunk
outside the array."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One deviation from a rule."""

    level: Level
    rule: str
    """The number of the rule, such as `R54`, or the name of a convention and its rule, such as `cf: coordinates`."""
    kind: FindingKind
    path: str
    """The path of the node, with a leading slash."""
    key: str | None
    """The key of the document or of the chunk."""
    place: str | None
    """The JSON path in the document."""
    message: str
    mend: str
    """How to fix it."""


@dataclass(frozen=True, slots=True)
class ReaderVerdict:
    """Whether another program can read the hierarchy, and why not."""

    program: str
    versions: str
    reads: bool
    reasons: tuple[str, ...] = ()
    """One per feature that the program lacks, with the path of a node that has it."""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """What `validate` found."""

    valid: bool
    """Whether there are no errors; with `strict`, no warnings either."""
    generation: str
    arrays: int
    groups: int
    chunks: int | None = None
    """The number of decoded chunks; None without `data`."""
    stored_bytes: int | None = None
    errors: int = 0
    warnings: int = 0
    advice: int = 0
    findings: tuple[Finding, ...] = ()
    readers: tuple[ReaderVerdict, ...] = field(default=())


def stricter(finding: Finding) -> Finding:
    """A finding as `strict` counts it: warnings are errors."""
    return replace(finding, level="error") if finding.level == "warning" else finding
