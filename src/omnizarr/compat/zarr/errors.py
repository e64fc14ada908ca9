"""The errors and warnings of zarr-python, and the translation of omnizarr's errors into them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, TypeVar

from omnizarr import errors as own

__all__ = [
    "ArrayIndexError",
    "ArrayNotFoundError",
    "BaseZarrError",
    "BoundsCheckError",
    "ChunkNotFoundError",
    "ContainsArrayAndGroupError",
    "ContainsArrayError",
    "ContainsGroupError",
    "DataTypeValidationError",
    "GroupNotFoundError",
    "MetadataValidationError",
    "NegativeStepError",
    "NodeNotFoundError",
    "NodeTypeValidationError",
    "PickleCodecDisabledError",
    "UnknownCodecError",
    "UnstableSpecificationWarning",
    "VindexInvalidSelectionError",
    "ZarrDeprecationWarning",
    "ZarrFutureWarning",
    "ZarrRuntimeWarning",
    "ZarrUserWarning",
]


class BaseZarrError(ValueError):
    """Base class of most errors: one argument is the message, several fill in the template `_msg`."""

    _msg: str = "{}"

    def __init__(self, *args: object) -> None:
        super().__init__(args[0] if len(args) == 1 else self._msg.format(*args))


class NodeNotFoundError(BaseZarrError, FileNotFoundError):
    """There is no node at a path."""


class ArrayNotFoundError(NodeNotFoundError):
    """There is no array at a path."""

    _msg = "No array found in store {!r} at path {!r}"


class GroupNotFoundError(NodeNotFoundError):
    """There is no group at a path."""

    _msg = "No group found in store {!r} at path {!r}"


class ContainsGroupError(BaseZarrError):
    """There is a group at a path already."""

    _msg = "A group exists in store {!r} at path {!r}."


class ContainsArrayError(BaseZarrError):
    """There is an array at a path already."""

    _msg = "An array exists in store {!r} at path {!r}."


class ContainsArrayAndGroupError(BaseZarrError):
    """There are documents of an array and of a group at the same path."""

    _msg = (
        "Array and group metadata documents (.zarray and .zgroup) were both found in store {!r} at path {!r}. "
        "Only one of these files may be present in a given directory / prefix. "
        "Remove the .zarray file, or the .zgroup file, or both."
    )


class MetadataValidationError(BaseZarrError):
    """A metadata document is invalid."""

    _msg = "Invalid value for '{}'. Expected '{}'. Got '{}'."


class UnknownCodecError(BaseZarrError):
    """A metadata document names an unknown codec."""


class PickleCodecDisabledError(BaseZarrError):
    """A document names the codec `pickle`, which can run any code."""


class DataTypeValidationError(ValueError):
    """A NumPy dtype or a JSON value is not of a data type."""


class NodeTypeValidationError(MetadataValidationError):
    """A document has another `node_type` than expected."""


class ChunkNotFoundError(BaseZarrError):
    """A chunk is not stored, and the array is configured to raise in this case."""


class ZarrFutureWarning(FutureWarning):
    """A feature will change."""


class UnstableSpecificationWarning(ZarrFutureWarning):
    """A feature is not part of the specification."""


class ZarrDeprecationWarning(DeprecationWarning):
    """A feature will be removed."""


class ZarrUserWarning(UserWarning):
    """A program probably does not do what its author wants."""


class ZarrRuntimeWarning(RuntimeWarning):
    """Doubtful behaviour at run time."""


class VindexInvalidSelectionError(IndexError):
    """A selection that `vindex` does not support."""


class NegativeStepError(IndexError):
    """A slice with a negative step."""


class BoundsCheckError(IndexError):
    """An index outside the array."""


class ArrayIndexError(IndexError):
    """A selection that an array does not support."""


READ_ONLY = "store was opened in read-only mode and does not support writing"


def reraise(error: own.OmnizarrError) -> NoReturn:
    """Raises the error of zarr-python that stands for an error of omnizarr."""
    if isinstance(error, own.ReadOnlyError):
        raise ValueError(READ_ONLY) from error
    if isinstance(error, own.OutOfBoundsError):
        length = error.__dict__.get("length")
        raise BoundsCheckError(f"index out of bounds for dimension with length {length}") from error
    if type(error) is own.SelectionError:
        raise IndexError(str(error)) from error
    if isinstance(error, own.MetadataError) and "has no consolidated metadata" in str(error):
        raise ValueError(f"Consolidated metadata requested. {error}") from error
    if isinstance(error, own.NodeNotFoundError):
        raise NodeNotFoundError(str(error)) from error
    if isinstance(error, own.BroadcastError):
        raise ValueError(f"shape mismatch: {error}") from error
    raise error


F = TypeVar("F", bound=Callable[..., Any])


def translated(function: F) -> F:
    """Decorator: raises errors of zarr-python instead of those of omnizarr."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except own.OmnizarrError as error:
            reraise(error)

    return call  # type: ignore[return-value]
