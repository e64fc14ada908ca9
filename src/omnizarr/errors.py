"""Every error and warning that omnizarr raises, with the facts as fields and the text made from them.

The family::

    OmnizarrError
    ├── LocationError (ValueError)            a store or path argument that cannot be understood
    ├── ArgumentError (ValueError)            another argument that cannot be used
    ├── StoreError (OSError)                  a store could not do what it was asked
    │   ├── InvalidKeyError (ValueError)      a key that no store may accept (`..`, absolute, empty)
    │   └── ReadOnlyError (PermissionError)   a write through something opened for reading
    ├── NodeError
    │   ├── NodeNotFoundError (KeyError, FileNotFoundError)
    │   ├── NodeExistsError (FileExistsError)
    │   └── NodeTypeError (TypeError)         an array where a group was asked for, or the reverse
    ├── MetadataError (ValueError)            a document that breaks the format; all its problems
    ├── SelectionError (IndexError)           a selection that cannot be made
    │   └── OutOfBoundsError
    ├── BroadcastError (ValueError)           a value whose shape does not fit the selection
    ├── CodecError (ValueError)               a codec could not encode or decode
    │   └── ChunkError                        the same, with the array, the chunk and the key
    ├── ExtensionError (ImportError)          an installed package offers a name and cannot be loaded
    └── MissingDependencyError (ImportError)  an optional library is needed

    OmnizarrWarning (UserWarning)

A builtin base stands beside ours only where a user would write it in `except`.
This file imports nothing of omnizarr.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

__all__ = [
    "ArgumentError",
    "BroadcastError",
    "ChunkError",
    "CodecError",
    "ExtensionError",
    "InvalidKeyError",
    "LocationError",
    "MetadataError",
    "MissingDependencyError",
    "NodeError",
    "NodeExistsError",
    "NodeNotFoundError",
    "NodeTypeError",
    "OmnizarrError",
    "OmnizarrWarning",
    "OutOfBoundsError",
    "Problem",
    "ReadOnlyError",
    "SelectionError",
    "StoreError",
    "warn",
]


class OmnizarrWarning(UserWarning):
    """Something the user may want to act on; never raised twice for one cause."""


def warn(message: str) -> None:
    """Warns, and names the line of the user's program that led here."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, OmnizarrWarning, stacklevel=level)


class OmnizarrError(Exception):
    """The head of the family: `message`, an optional `hint`, and fields that say what and where."""

    message: str
    hint: str | None

    def __init__(self, message: str, *, hint: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.__dict__.update(fields)

    def add_context(self, what: str) -> Self:
        """The same error, with what was being done in front of its message."""
        self.message = f"{what}: {self.message}"
        return self

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n\nhint: {self.hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(cls: type[OmnizarrError], args: tuple[Any, ...], state: dict[str, Any]) -> OmnizarrError:
    error = cls.__new__(cls, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class LocationError(OmnizarrError, ValueError):
    """A store, path or URL argument that cannot be understood."""


class ArgumentError(OmnizarrError, ValueError):
    """An argument that cannot be used; `argument` names it."""

    argument: str | None = None


class StoreError(OmnizarrError, OSError):
    """A store could not do what it was asked; `store` and `key` say where."""

    store: str | None = None
    key: str | None = None
    errno: int | None = None  # a field of ours, because OSError's own is lost when the error is pickled


class InvalidKeyError(StoreError, ValueError):
    """A key that would leave the store or cannot be stored in it; `key` is the key."""


class ReadOnlyError(StoreError, PermissionError):
    """A write was tried through a store or a node that is read-only."""


class NodeError(OmnizarrError):
    """Something about a node of a hierarchy; `path` says which."""

    path: str | None = None


class NodeNotFoundError(NodeError, FileNotFoundError, KeyError):  # in this order it can be made anew from a pickle
    """No array or group lies at `path`."""


class NodeExistsError(NodeError, FileExistsError):
    """An array or a group lies at `path` already."""


class NodeTypeError(NodeError, TypeError):
    """A group lies where an array was asked for, or an array where a group was."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a document: a JSON path such as `$.codecs[1].name`, and what is wrong there."""

    path: str
    message: str
    hint: str | None = None


_MOST_SHOWN = 50  # problems of a document; whoever wrote more of them did not do so by mistake


class MetadataError(OmnizarrError, ValueError):
    """A document that breaks the format; `problems` holds every one that was found."""

    problems: tuple[Problem, ...]

    def __init__(self, what: str, problems: Iterable[Problem] = (), *, hint: str | None = None, **fields: Any) -> None:
        problems = tuple(problems)
        hints = list(dict.fromkeys(problem.hint for problem in problems if problem.hint is not None))
        if hint is None and len(hints) == 1:
            hint, hints = hints[0], []  # a single hint stands at the end; several each beside what they are for
        lines = [
            f"  {problem.path}: {problem.message}" + (f" ({problem.hint})" if problem.hint in hints else "")
            for problem in problems[:_MOST_SHOWN]
        ]
        if len(problems) > _MOST_SHOWN:
            lines.append(f"  and {len(problems) - _MOST_SHOWN} more")
        super().__init__("\n".join([what, *lines]), hint=hint, problems=problems, **fields)


class SelectionError(OmnizarrError, IndexError):
    """A selection that the array cannot give."""


class OutOfBoundsError(SelectionError):
    """An index outside the array; `axis`, `index` and `length` say which."""

    def __init__(self, axis: int, index: int, length: int) -> None:
        super().__init__(
            f"index {index} is out of bounds for axis {axis} with length {length}",
            axis=axis,
            index=index,
            length=length,
        )


class BroadcastError(OmnizarrError, ValueError):
    """A value whose shape cannot be broadcast to the selection's."""

    def __init__(self, value_shape: tuple[int, ...], selection_shape: tuple[int, ...]) -> None:
        super().__init__(
            f"a value of shape {value_shape} cannot be broadcast to the selection's shape {selection_shape}",
            value_shape=value_shape,
            selection_shape=selection_shape,
        )


class CodecError(OmnizarrError, ValueError):
    """A codec could not encode or decode; `codec` is its name."""

    codec: str

    def __init__(self, codec: str, reason: str, *, hint: str | None = None, **fields: Any) -> None:
        super().__init__(f"codec `{codec}`: {reason}", hint=hint, codec=codec, reason=reason, **fields)


class ChunkError(CodecError):
    """A stored chunk could not be decoded or a value not encoded: `array`, `chunk`, `key` and `codec` say where."""

    def __init__(self, action: str, array: str, chunk: tuple[int, ...], key: str, error: CodecError) -> None:
        OmnizarrError.__init__(
            self,
            f"cannot {action} chunk {chunk} of array `{array or '/'}` (key `{key}`): {error.message}",
            hint=error.hint,
            array=array,
            chunk=chunk,
            key=key,
            codec=error.codec,
        )


class ExtensionError(OmnizarrError, ImportError):
    """An installed package offers what was asked for and cannot be loaded; `extension`, `package` and `entry_point` say
    which."""

    def __init__(
        self, kind: str, extension: str, package: str, entry_point: str, reason: str, *, hint: str | None = None
    ) -> None:
        super().__init__(
            f"{kind} `{extension}` is offered by `{package}` (entry point `{entry_point}`), but unusable: {reason}",
            hint=hint or f"repair or uninstall `{package}`",
            kind=kind,
            extension=extension,
            package=package,
            entry_point=entry_point,
        )


class MissingDependencyError(OmnizarrError, ImportError):
    """An optional library is needed; `install` is the command that brings it, None where a `hint` says what else."""

    def __init__(self, what: str, package: str, *, hint: str | None = None) -> None:
        # A shell would take `zarr>=3` for a file to write to, and some take `omnizarr[obstore]` for a pattern.
        quoted = package if package.isidentifier() else f'"{package}"'
        install = f"pip install {quoted}" if hint is None else None
        super().__init__(
            f"{what} needs the package `{package}`, which is not installed",
            hint=hint or f"run `{install}`",
            package=package,
            install=install,
        )
