"""The error classes: base classes, fields, messages, pickling."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import pytest

from omnizarr import errors
from omnizarr.errors import (
    ArgumentError,
    BroadcastError,
    ChunkError,
    CodecError,
    ConflictError,
    ExtensionError,
    InvalidKeyError,
    LocationError,
    MetadataError,
    MissingDependencyError,
    NodeError,
    NodeExistsError,
    NodeNotFoundError,
    NodeTypeError,
    OmnizarrError,
    OmnizarrWarning,
    OutOfBoundsError,
    Problem,
    ReadOnlyError,
    SelectionError,
    StoreError,
    TimedOutError,
    TooLargeError,
    UncertainWriteError,
    warn,
)

EXAMPLES: dict[type[OmnizarrError], OmnizarrError] = {
    OmnizarrError: OmnizarrError("it failed", hint="try again"),
    LocationError: LocationError("not a place", location="x"),
    ArgumentError: ArgumentError("not usable", argument="chunks", hint="give integers"),
    StoreError: StoreError("cannot read", store="MemoryStore()", key="a/b", errno=5),
    TimedOutError: TimedOutError("too slow", store="S3Store(x)", key="a/b", seconds=5),
    UncertainWriteError: UncertainWriteError("no response", store="S3Store(x)", key="a/b"),
    ConflictError: ConflictError("changed elsewhere", store="MemoryStore()", keys=("c/0", "c/1")),
    InvalidKeyError: InvalidKeyError("not a key", key="../a"),
    ReadOnlyError: ReadOnlyError("read-only", store="MemoryStore()"),
    NodeError: NodeError("odd", path="a"),
    NodeNotFoundError: NodeNotFoundError("nothing there", path="a/b", hint="look elsewhere"),
    NodeExistsError: NodeExistsError("there already", path="a"),
    NodeTypeError: NodeTypeError("a group", path="a"),
    MetadataError: MetadataError("bad", [Problem("$.a", "is missing", "add it"), Problem("$.b", "wrong")], path="x"),
    SelectionError: SelectionError("cannot be selected"),
    OutOfBoundsError: OutOfBoundsError(1, 7, 5),
    BroadcastError: BroadcastError((2, 3), (4,)),
    TooLargeError: TooLargeError("too large", hint="select a part", nbytes=100),
    CodecError: CodecError("gzip", "not gzip", hint="look at it", found=3),
    ChunkError: ChunkError("read", "a", (0, 1), "a/c/0/1", CodecError("gzip", "not gzip")),
    ExtensionError: ExtensionError(
        "codec", "lz77", "some-package", "omnizarr.codecs: lz77 = some_package:Lz77", "ImportError: no module"
    ),
    MissingDependencyError: MissingDependencyError("reading", "obstore"),
}

BUILTINS: list[tuple[type[OmnizarrError], type[Exception]]] = [
    (LocationError, ValueError),
    (ArgumentError, ValueError),
    (StoreError, OSError),
    (InvalidKeyError, ValueError),
    (ReadOnlyError, PermissionError),
    (NodeNotFoundError, KeyError),
    (NodeNotFoundError, FileNotFoundError),
    (NodeExistsError, FileExistsError),
    (NodeTypeError, TypeError),
    (MetadataError, ValueError),
    (SelectionError, IndexError),
    (OutOfBoundsError, IndexError),
    (BroadcastError, ValueError),
    (CodecError, ValueError),
    (ChunkError, CodecError),
    (ExtensionError, ImportError),
    (MissingDependencyError, ImportError),
]


def test_every_error_of_the_module_has_an_example_here() -> None:
    family = {item for _, item in inspect.getmembers(errors, inspect.isclass) if issubclass(item, OmnizarrError)}
    assert family == set(EXAMPLES)
    assert {item.__name__ for item in family} <= set(errors.__all__)


def test_the_docstring_of_the_module_names_every_error() -> None:
    assert errors.__doc__ is not None
    for cls in EXAMPLES:
        assert cls.__name__ in errors.__doc__


@pytest.mark.parametrize("error", EXAMPLES.values(), ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_pickle_with_their_fields(error: OmnizarrError, protocol: int) -> None:
    again = pickle.loads(pickle.dumps(error, protocol))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.__dict__ == error.__dict__
    assert again.args == error.args


@pytest.mark.parametrize("error", EXAMPLES.values(), ids=lambda error: type(error).__name__)
def test_errors_can_be_copied(error: OmnizarrError) -> None:
    assert str(copy.copy(error)) == str(error)


def test_notes_survive_a_pickle() -> None:
    error = ArgumentError("no")
    error.add_note("while doing something")
    assert pickle.loads(pickle.dumps(error)).__notes__ == ["while doing something"]


@pytest.mark.parametrize(("cls", "builtin"), BUILTINS)
def test_errors_have_built_in_base_classes(cls: type[OmnizarrError], builtin: type[Exception]) -> None:
    with pytest.raises(builtin):
        raise EXAMPLES[cls]
    assert issubclass(cls, OmnizarrError)


@pytest.mark.parametrize("error", EXAMPLES.values(), ids=lambda error: type(error).__name__)
def test_str_is_the_message_and_the_hint(error: OmnizarrError) -> None:
    expected = error.message if error.hint is None else f"{error.message}\n\nhint: {error.hint}"
    assert str(error) == expected


def test_fields_are_none_by_default() -> None:
    assert ArgumentError("no").argument is None
    assert StoreError("no").store is None
    assert StoreError("no").key is None
    assert StoreError("no").errno is None
    assert NodeNotFoundError("no").path is None


def test_metadata_errors_list_every_problem_and_its_hint() -> None:
    problems = [Problem("$.a", "is missing", "add it"), Problem("$.b", "wrong"), Problem("$.c", "old", "renew it")]
    error = MetadataError("3 problems", problems)
    assert error.problems == tuple(problems)
    assert str(error) == "3 problems\n  $.a: is missing (add it)\n  $.b: wrong\n  $.c: old (renew it)"
    assert str(MetadataError("2 problems", problems[:2])) == (
        "2 problems\n  $.a: is missing\n  $.b: wrong\n\nhint: add it"
    )
    assert str(MetadataError("2 problems", problems[:2], hint="all is old")) == (
        "2 problems\n  $.a: is missing (add it)\n  $.b: wrong\n\nhint: all is old"
    )


def test_chunk_errors_have_the_location_as_fields() -> None:
    error = EXAMPLES[ChunkError]
    assert (error.array, error.chunk, error.key, error.codec) == ("a", (0, 1), "a/c/0/1", "gzip")  # type: ignore[attr-defined]


def test_warnings_point_to_the_line_of_the_user() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn("look here")
    assert [(item.category, item.filename) for item in caught] == [(OmnizarrWarning, __file__)]
