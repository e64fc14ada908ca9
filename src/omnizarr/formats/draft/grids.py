"""Chunk grids in the drafts of v3: `regular`, and extensions with a URI (S19–S21, T9)."""

from __future__ import annotations

from typing import Literal

from omnizarr._extension import call_extension
from omnizarr._json import Json, Problems
from omnizarr.formats.document_members import parse_chunk_shape
from omnizarr.formats.draft.extensions import is_uri
from omnizarr.grids import Grid, Regular, chunk_grids

__all__ = ["dump_draft_grid", "is_draft_grid", "parse_draft_grid"]


def parse_draft_grid(
    member: Json, shape: tuple[int, ...] | None, year: Literal[2020, 2022], problems: Problems
) -> tuple[Grid | None, str]:
    """The grid and the separator of chunk keys from the member `chunk_grid`."""
    if not isinstance(member, dict):
        problems.expected("$.chunk_grid", "an object", member, rule="S19")
        return None, "/"
    separator = member.get("separator", "/")
    if "separator" not in member and year == 2022:
        problems.warn("$.chunk_grid.separator", "is missing: `/` is assumed", rule="A17")
    if separator not in ("/", "."):
        problems.expected("$.chunk_grid.separator", '"/" or "."', separator, rule="S19")
        separator = "/"
    if "extension" in member:
        return _parse_extension(member, shape, problems), separator
    if member.get("type") != "regular":
        problems.unknown("$.chunk_grid.type", "chunk grid", str(member.get("type")), ("regular",), rule="S19")
        return None, separator
    return parse_chunk_shape(member.get("chunk_shape"), shape, "$.chunk_grid.chunk_shape", problems), separator


def _parse_extension(member: dict[str, Json], shape: tuple[int, ...] | None, problems: Problems) -> Grid | None:
    """A registered grid. Its configuration is all other members. An unknown one is a problem (S19)."""
    uri = member["extension"]
    known = chunk_grids.get(uri) if isinstance(uri, str) and is_uri(uri) else None
    if known is None:
        problems.unknown(
            "$.chunk_grid.extension", "chunk grid", str(uri), filter(is_uri, chunk_grids.names()), rule="S19"
        )
        return None
    configuration = {name: value for name, value in member.items() if name not in ("extension", "separator")}
    return call_extension("chunk grid", str(uri), "$.chunk_grid", problems, known.parse, configuration, shape)


def is_draft_grid(grid: Grid) -> bool:
    """Whether a document of a draft can name the grid."""
    return grid.name == Regular.name or is_uri(grid.name)


def dump_draft_grid(grid: Grid, separator: str) -> dict[str, Json]:
    """The member `chunk_grid`."""
    if is_uri(grid.name):
        document = grid.to_json()
        configuration = document.get("configuration", {}) if isinstance(document, dict) else {}
        return {"extension": grid.name, **configuration, "separator": separator}
    assert isinstance(grid, Regular)
    return {"type": "regular", "chunk_shape": list(grid.chunk_shape), "separator": separator}
