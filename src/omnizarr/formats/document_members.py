"""Members of documents that several generations have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from omnizarr._json import Json, Problems, is_integer
from omnizarr.errors import ArgumentError
from omnizarr.grids import Regular
from omnizarr.model import MOST_DIMENSIONS, ArrayModel

__all__ = [
    "check_ascii",
    "check_required",
    "dimension_names_attribute",
    "parse_attributes",
    "parse_chunk_shape",
    "parse_shape",
    "unknown_members",
    "with_dimension_names_attribute",
]


def check_required(
    document: dict[str, Json], members: Iterable[str], problems: Problems, *, rule: str | None = None
) -> None:
    """Adds a problem for each of `members` that is missing."""
    for member in members:
        if member not in document:
            problems.add(f"$.{member}", "is missing", rule=rule)


def unknown_members(document: dict[str, Json], known: Collection[str]) -> dict[str, Json]:
    """The members that are not in `known`."""
    return {member: value for member, value in document.items() if member not in known}


def parse_shape(document: dict[str, Json], problems: Problems, member: str = "shape") -> tuple[int, ...] | None:
    """The member `shape`, or another; None if it is missing or invalid."""
    if member not in document:
        return None
    shape, place = document[member], f"$.{member}"
    if not isinstance(shape, list) or not all(is_integer(length) and length >= 0 for length in shape):
        problems.expected(place, "a list of integers of at least 0", shape)
        return None
    if len(shape) > MOST_DIMENSIONS:
        problems.add(place, f"has {len(shape)} dimensions, more than {MOST_DIMENSIONS}")
        return None
    if any(length >= 2**63 for length in shape):
        problems.add(place, "has a length of 2^63 or more")
        return None
    return tuple(shape)


def parse_chunk_shape(value: Json, shape: tuple[int, ...] | None, place: str, problems: Problems) -> Regular | None:
    """A regular grid from its chunk shape."""
    chunk_shape = Regular.parse_lengths(value, shape, place, problems)
    return None if chunk_shape is None else Regular(chunk_shape)


def parse_attributes(value: Json, place: str, problems: Problems) -> dict[str, Json]:
    """The attributes; null counts as none (A65)."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        problems.expected(place, "an object", value)
        return {}
    return value


def check_ascii(path: str, generation: str) -> None:
    """Raises ArgumentError if the path of a new node has characters that the generation's keys cannot hold."""
    if not path.isascii():
        raise ArgumentError(
            f"`{path}` cannot be created: in {generation} the name of a node has only ASCII characters", argument="path"
        )


_DIMENSION_NAMES = "_ARRAY_DIMENSIONS"


def with_dimension_names_attribute(model: ArrayModel) -> ArrayModel:
    """The same array with its dimension names in the attribute that xarray introduced, not in a member."""
    if model.dimension_names is None:
        return model
    names = list(model.dimension_names)
    return replace(model, dimension_names=None, attributes=model.attributes | {_DIMENSION_NAMES: names})


def dimension_names_attribute(model: ArrayModel) -> tuple[str | None, ...] | None:
    """The dimension names from that attribute, or else from those of netCDF; None if both are absent or do not hold a
    name per dimension."""
    names = model.attributes.get(_DIMENSION_NAMES)
    if names is None:
        names = _netcdf_dimension_names(model)
    if not isinstance(names, list) or len(names) != len(model.shape):
        return None
    return tuple(names) if all(name is None or isinstance(name, str) for name in names) else None


def _netcdf_dimension_names(model: ArrayModel) -> Json:
    """The dimension names as NCZarr stores them: paths such as `/lat`, in an attribute, or until netCDF 4.9 in a member
    of the array's document."""
    for members, name, item in (
        (model.attributes, "_nczarr_array", "dimension_references"),
        (model.extra, "_NCZARR_ARRAY", "dimrefs"),
    ):
        member = members.get(name)
        paths = member.get(item) if isinstance(member, dict) else None
        if isinstance(paths, list):
            return [path.rpartition("/")[2] if isinstance(path, str) else None for path in paths]
    return None
