"""Members of documents that several generations spell alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from omnizarr._json import Json, Problems, is_integer
from omnizarr.errors import ArgumentError
from omnizarr.grids import Regular
from omnizarr.model import MOST_DIMENSIONS, ArrayModel

__all__ = [
    "check_ascii",
    "dimension_names_attribute",
    "missing",
    "parse_attributes",
    "parse_chunk_shape",
    "parse_shape",
    "unknown_members",
    "with_dimension_names_attribute",
]


def missing(document: dict[str, Json], members: Iterable[str], problems: Problems) -> None:
    """Adds a problem for each member that must be there and is not."""
    for member in members:
        if member not in document:
            problems.add(f"$.{member}", "is missing")


def unknown_members(document: dict[str, Json], known: Collection[str]) -> dict[str, Json]:
    """The members that nobody knows."""
    return {member: value for member, value in document.items() if member not in known}


def parse_shape(document: dict[str, Json], problems: Problems) -> tuple[int, ...] | None:
    """The member `shape`."""
    if "shape" not in document:
        return None
    found = document["shape"]
    if not isinstance(found, list) or not all(is_integer(length) and length >= 0 for length in found):
        problems.expected("$.shape", "a list of integers of at least 0", found)
        return None
    if len(found) > MOST_DIMENSIONS:
        problems.add("$.shape", f"has {len(found)} dimensions, more than {MOST_DIMENSIONS}")
        return None
    if any(length >= 2**63 for length in found):
        problems.add("$.shape", "has a length of 2^63 or more")
        return None
    return tuple(found)


def parse_chunk_shape(found: Json, shape: tuple[int, ...] | None, place: str, problems: Problems) -> Regular | None:
    """A regular grid from the lengths of its chunks."""
    sizes = Regular.parse_lengths(found, shape, place, problems)
    return None if sizes is None else Regular(sizes)


def parse_attributes(found: Json, place: str, problems: Problems) -> dict[str, Json]:
    """An object of attributes; null counts as none (A65)."""
    if found is None:
        return {}
    if not isinstance(found, dict):
        problems.expected(place, "an object", found)
        return {}
    return found


def check_ascii(path: str, generation: str) -> None:
    """Refuses names that keys of ASCII cannot hold."""
    if not path.isascii():
        raise ArgumentError(
            f"`{path}` cannot be created: in {generation} the name of a node has only ASCII characters", argument="path"
        )


_ATTRIBUTE = "_ARRAY_DIMENSIONS"


def with_dimension_names_attribute(model: ArrayModel) -> ArrayModel:
    """The same array with the names of its dimensions among its attributes."""
    if model.dimension_names is None:
        return model
    names = list(model.dimension_names)
    return replace(model, dimension_names=None, attributes=model.attributes | {_ATTRIBUTE: names})


def dimension_names_attribute(model: ArrayModel) -> tuple[str | None, ...] | None:
    """The names that the attribute holds; None if there is none, or something else under that name."""
    found = model.attributes.get(_ATTRIBUTE)
    if not isinstance(found, list) or len(found) != len(model.shape):
        return None
    return tuple(found) if all(name is None or isinstance(name, str) for name in found) else None
