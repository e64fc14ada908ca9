"""Every error and warning that omnizarr raises. Errors have their facts as fields; the message is built from them.

The hierarchy::

    OmnizarrError
    ├── LocationError (ValueError)            an invalid store, path or URL argument
    ├── ArgumentError (ValueError)            any other invalid argument
    ├── StoreError (OSError)                  a failed operation of a store
    │   ├── InvalidKeyError (ValueError)      a key that no store may accept (`..`, absolute, empty)
    │   ├── ReadOnlyError (PermissionError)   a write to a read-only store or node
    │   ├── TimedOutError (TimeoutError)      the time limit of a call is over
    │   ├── UncertainWriteError               a conditional write that may or may not have been stored
    │   └── ConflictError                     a commit that would undo the commit of another session
    ├── NodeError
    │   ├── NodeNotFoundError (KeyError, FileNotFoundError)
    │   ├── NodeExistsError (FileExistsError)
    │   └── NodeTypeError (TypeError)         an array where a group is expected, or the reverse
    ├── MetadataError (ValueError)            an invalid metadata document, with all its problems
    ├── SelectionError (IndexError)           an invalid selection
    │   └── OutOfBoundsError
    ├── BroadcastError (ValueError)           a value whose shape does not fit the selection
    ├── TooLargeError                         an array that is too large to be loaded implicitly
    ├── CodecError (ValueError)               a codec failed to encode or decode
    │   └── ChunkError                        the same, with the array, the chunk and the key
    ├── ExtensionError (ImportError)          an installed extension that cannot be loaded
    └── MissingDependencyError (ImportError)  an optional library that is not installed

    OmnizarrWarning (UserWarning)

An error has a built-in base class only if users would write that class in `except`.
This module imports no other module of omnizarr.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple, Self

__all__ = [
    "ArgumentError",
    "BroadcastError",
    "ChunkError",
    "CodecError",
    "ConflictError",
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
    "TimedOutError",
    "TooLargeError",
    "UncertainWriteError",
    "warn",
]


class OmnizarrWarning(UserWarning):
    """A condition that the user may want to act on. Issued once per cause."""


def warn(message: str) -> None:
    """Issue an OmnizarrWarning that points to the calling line of the user's program."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, OmnizarrWarning, stacklevel=level)


class OmnizarrError(Exception):
    """Base class of all errors: `message`, an optional `hint`, and fields with the facts."""

    message: str
    hint: str | None

    def __init__(self, message: str, *, hint: str | None = None, **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.__dict__.update(fields)

    def add_context(self, what: str) -> Self:
        """Prefix the message with the operation that failed; returns the error itself."""
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
    """An invalid store, path or URL argument."""


class ArgumentError(OmnizarrError, ValueError):
    """An invalid argument; `argument` is its name."""

    argument: str | None = None


class StoreError(OmnizarrError, OSError):
    """A failed operation of a store; `store` and `key` say where."""

    store: str | None = None
    key: str | None = None
    errno: int | None = None  # our own field, because pickling loses that of OSError


class InvalidKeyError(StoreError, ValueError):
    """A key that would leave the store or cannot be stored in it; `key` is the key."""


class ReadOnlyError(StoreError, PermissionError):
    """A write to a store or a node that is read-only."""


class TimedOutError(StoreError, TimeoutError):
    """A call took longer than its `timeout`; `seconds` is the limit."""

    seconds: float | None = None


class UncertainWriteError(StoreError):
    """A store cannot tell whether a conditional write was stored, as after a lost connection.

    `Updates.write` and `Updates.erase` raise it. `store.update.update` then compares the stored value with the one that
    it sent.
    """


class ConflictError(StoreError):
    """Another session changed some of the same keys of a versioned array first; `keys` are these keys."""

    keys: tuple[str, ...] = ()


class NodeError(OmnizarrError):
    """An error about a node of a hierarchy; `path` is its path."""

    path: str | None = None


class NodeNotFoundError(NodeError, FileNotFoundError, KeyError):  # unpickling needs this order
    """There is no array or group at `path`."""


class NodeExistsError(NodeError, FileExistsError):
    """There is an array or a group at `path` already."""


class NodeTypeError(NodeError, TypeError):
    """A group where an array is expected, or an array where a group is."""


class Problem(NamedTuple):
    """One problem of a document: a JSON path such as `$.codecs[1].name`, and what is wrong there."""

    path: str
    message: str
    hint: str | None = None
    rule: str | None = None
    """The number of the rule that the document breaks, such as `R54`; docs/rules.md explains the numbers. A shared
    parser cites the rule of v3, and `Dialect.rules` replaces it by that of its generation."""


_MOST_SHOWN = 50  # problems of a document; more do not help the reader


class MetadataError(OmnizarrError, ValueError):
    """An invalid metadata document; `problems` holds all its problems."""

    problems: tuple[Problem, ...]

    def __init__(self, what: str, problems: Iterable[Problem] = (), *, hint: str | None = None, **fields: Any) -> None:
        problems = tuple(problems)
        hints = list(dict.fromkeys(problem.hint for problem in problems if problem.hint is not None))
        if hint is None and len(hints) == 1:
            hint, hints = hints[0], []  # a single hint goes to the end, several go to their problems
        lines = [
            f"  {problem.path}: {problem.message}" + (f" ({problem.hint})" if problem.hint in hints else "")
            for problem in problems[:_MOST_SHOWN]
        ]
        if len(problems) > _MOST_SHOWN:
            lines.append(f"  and {len(problems) - _MOST_SHOWN} more")
        super().__init__("\n".join([what, *lines]), hint=hint, problems=problems, **fields)


class SelectionError(OmnizarrError, IndexError):
    """An invalid selection."""


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


class TooLargeError(OmnizarrError):
    """An operation that would load an array larger than `config.max_implicit_bytes`; `nbytes` is its size."""

    nbytes: int = 0


class CodecError(OmnizarrError, ValueError):
    """A codec failed to encode or decode; `codec` is its name."""

    codec: str

    def __init__(self, codec: str, reason: str, *, hint: str | None = None, **fields: Any) -> None:
        super().__init__(f"codec `{codec}`: {reason}", hint=hint, codec=codec, reason=reason, **fields)


class ChunkError(CodecError):
    """A chunk that cannot be decoded or encoded; `array`, `chunk`, `key` and `codec` say where."""

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
    """An extension of an installed package that cannot be loaded; see `extension`, `package` and `entry_point`."""

    def __init__(
        self, kind: str, extension: str, package: str, entry_point: str, reason: str, *, hint: str | None = None
    ) -> None:
        super().__init__(
            f"cannot load {kind} `{extension}` of package `{package}` (entry point `{entry_point}`): {reason}",
            hint=hint or f"repair or uninstall `{package}`",
            kind=kind,
            extension=extension,
            package=package,
            entry_point=entry_point,
        )


class MissingDependencyError(OmnizarrError, ImportError):
    """An optional library that is not installed; `install` is the command to install it, None if `hint` differs."""

    def __init__(self, what: str, package: str, *, hint: str | None = None) -> None:
        # Quoted, because shells interpret `>` in `zarr>=3`, and some interpret brackets in `omnizarr[obstore]`.
        quoted = package if package.isidentifier() else f'"{package}"'
        install = f"pip install {quoted}" if hint is None else None
        super().__init__(
            f"{what} needs the package `{package}`, which is not installed",
            hint=hint or f"run `{install}`",
            package=package,
            install=install,
        )
