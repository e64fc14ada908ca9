"""JSON parsing and writing, and the collection of problems."""

from __future__ import annotations

import enum
import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr import _json
from omnizarr._json import Problems
from omnizarr.errors import ArgumentError, MetadataError

LIMIT = 10**6

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=12,
)


def parse(data: bytes, limit: int = LIMIT) -> Any:
    return _json.parse(data, "the document", limit=limit)


@given(JSON)
def test_R153_what_is_written_is_read_back(value: Any) -> None:
    data = _json.dump(value)
    assert parse(data) == value
    assert json.loads(data.decode("utf-8")) == value


class Text(str):
    pass


class Number(enum.IntEnum):
    ONE = 1


NUMBERS = [math.nan, -math.inf, Number.ONE, np.float64(0.1), np.int8(3), np.arange(3)]
NAMES = [{1: 2}, {None: [True]}, {0.5: "", Text("b"): {}}, {(1, 2): 3}, {"\udfff": "é"}]
UNUSUAL = st.sampled_from([*NUMBERS, *NAMES, (), (1, "a"), {1, 2}, Text("é"), b"bytes", "\ud800"])
ANYTHING = st.recursive(
    UNUSUAL | st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=12,
)


def dump_with_json(value: Any, *, allow_nan: bool, ascii: bool) -> bytes | None:
    """What `json.dumps` writes; None if it fails."""

    def default(item: Any) -> Any:
        if isinstance(item, (np.generic, np.ndarray)):
            return item.tolist()
        raise TypeError

    try:
        text = json.dumps(value, indent=2, ensure_ascii=ascii, allow_nan=allow_nan, default=default)
        try:
            return text.encode()
        except UnicodeEncodeError:
            return json.dumps(value, indent=2, allow_nan=allow_nan, default=default).encode()
    except (TypeError, ValueError, RecursionError):
        return None


@given(JSON | ANYTHING, st.booleans(), st.booleans(), st.sampled_from([0, 1, 90, 198, 199, 200, 5000]))
def test_R153_writes_the_bytes_that_json_dumps_writes(value: Any, allow_nan: bool, ascii: bool, depth: int) -> None:
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    expected = dump_with_json(value, allow_nan=allow_nan, ascii=ascii)
    if expected is None:
        with pytest.raises(ArgumentError):
            _json.dump(value, allow_nan=allow_nan, ascii=ascii)
    else:
        assert _json.dump(value, allow_nan=allow_nan, ascii=ascii) == expected


def test_an_integer_that_python_does_not_print_is_an_argument_error() -> None:
    with pytest.raises(ArgumentError):
        _json.dump([10**5000])


def test_a_value_that_contains_itself_is_an_argument_error() -> None:
    value: dict[str, Any] = {}
    value["a"] = [value]
    with pytest.raises(ArgumentError, match="nested more than"):
        _json.dump(value)


@given(st.binary(max_size=40))
def test_any_bytes_give_a_value_or_a_metadata_error(data: bytes) -> None:
    try:
        parse(data)
    except MetadataError:
        pass


@pytest.mark.parametrize("value", [2**64 - 1, -(2**63), 2**200])
def test_R153_integers_survive(value: int) -> None:
    assert parse(_json.dump({"a": value})) == {"a": value}


def test_R153_writes_utf8_without_escapes_or_a_mark() -> None:
    assert _json.dump({"é": "Ω"}) == '{\n  "é": "Ω"\n}'.encode()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, [1.0, math.nan]])
def test_A60_never_writes_numbers_that_json_does_not_have(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"`\$.*` cannot be written as JSON: .* number -?(nan|inf); .* text"):
        _json.dump(value)


def test_A60_reads_what_python_wrote() -> None:
    found = parse(b"[NaN, Infinity, -Infinity]")
    assert math.isnan(found[0])
    assert found[1:] == [math.inf, -math.inf]


def test_R154_of_repeated_members_the_last_counts() -> None:
    assert parse(b'{"a": 1, "a": 2}') == {"a": 2}


def test_a_byte_order_mark_is_ignored() -> None:
    assert parse(b"\xef\xbb\xbf{}") == {}


def test_a_lone_surrogate_survives() -> None:
    assert parse(_json.dump({"a": "\ud800"})) == {"a": "\ud800"}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"{'a': 1}", "not valid JSON"),
        (b'{"a": 1,}', "not valid JSON"),
        (b"\xff", "not UTF-8"),
        (b"1" * 5000, "not valid JSON"),
        (b"[" * 201 + b"]" * 201, "nested more than 200 levels"),
        (b"[" * 100_000, "nested too deeply|not valid JSON"),
    ],
)
def test_invalid_json_is_a_metadata_error(data: bytes, message: str) -> None:
    with pytest.raises(MetadataError, match=message):
        parse(data)


def test_the_size_of_a_document_is_limited() -> None:
    with pytest.raises(MetadataError, match="more than the limit of 3"):
        parse(b"[1,2]", limit=3)


class Colour(enum.IntEnum):
    RED = 1


class Word(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, [2, (3,)]), [1, [2, [3]]]),
        (np.float32(1.5), 1.5),
        (np.int8(-3), -3),
        (np.bool_(True), True),
        (np.longdouble(2.5), 2.5),
        (np.arange(3), [0, 1, 2]),
        (np.array([[True], [False]]), [[True], [False]]),
        (np.array("text"), "text"),
        (np.array([{"a": 1}, None], object), [{"a": 1}, None]),
        (Colour.RED, 1),
        (Word("w"), "w"),
        ({Word("w"): {"x": None}}, {"w": {"x": None}}),
    ],
)
def test_plain_returns_the_value_that_is_read_back(value: Any, expected: Any) -> None:
    found = _json.plain(value, "x")
    assert found == expected
    assert parse(_json.dump(found)) == expected
    assert type(found) in (bool, int, float, str, list, dict)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({1: "a"}, "`x`"),
        ({"a": {None: 1}}, "`x.a`"),
        ({"a": [1, {2, 3}]}, "`x.a\\[1\\]`"),
        (math.nan, "`x`"),
        ({"a": np.float64("inf")}, "`x.a`"),
        ([b"bytes"], "`x\\[0\\]`"),
        (np.array(["2001-01-01"], "M8[ns]"), "`x`"),
        (np.array([1j]), "`x`"),
        (object(), "`x`"),
    ],
)
def test_plain_names_the_path_of_a_value_that_json_cannot_hold(value: Any, place: str) -> None:
    with pytest.raises(ArgumentError, match=f"{place} cannot be written as JSON") as caught:
        _json.plain(value, "x")
    assert caught.value.argument is not None
    assert caught.value.argument.startswith("x")


def test_plain_rejects_values_nested_too_deeply() -> None:
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(ArgumentError, match="levels deep"):
        _json.plain(deep, "x")
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ArgumentError, match="levels deep"):
        _json.plain(circle, "x")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        ("a", '"a"'),
        ([1, 2], "[1, 2]"),
        (math.nan, "nan"),
        ("x" * 100, '"' + "x" * 56 + "..."),
        pytest.param(10**5000, "a value of type int that is too long to show", id="too many digits for Python"),
        ([10**5000], "a value of type list that is too long to show"),
        ({1, 2}, '"{1, 2}"'),
    ],
)
def test_describe_is_short_and_never_fails(value: Any, text: str) -> None:
    assert _json.describe(value) == text


def test_describe_handles_circular_values() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert _json.describe(circle)


def test_nearest_suggests_only_similar_names() -> None:
    assert _json.nearest("reguler", ["regular", "rectilinear"]) == "did you mean `regular`?"
    assert _json.nearest("zzz", ["regular"]) is None


def test_problems_are_collected_with_their_paths() -> None:
    problems = Problems()
    assert not problems
    problems.expected("$.a", "an integer", "x")
    problems.unknown("$.b", "codec", "gzap", ["gzip"])
    problems.warn("$.c", "odd")
    assert problems
    assert [(problem.path, problem.message, problem.hint) for problem in problems.found] == [
        ("$.a", 'expected an integer, found "x"', None),
        ("$.b", "unknown codec `gzap`", "did you mean `gzip`?"),
    ]
    assert [problem.path for problem in problems.warnings] == ["$.c"]


def test_same_treats_nan_as_equal_to_nan() -> None:
    assert _json.same({"a": [math.nan, 1]}, {"a": [math.nan, 1]})
    assert not _json.same({"a": math.nan}, {"a": math.inf})
    assert _json.same({"a": 1, "b": 2}, {"b": 2, "a": 1})


def test_no_codec_is_imported_for_text() -> None:
    """A signal handler in the middle of such an import would find no codec: `LookupError: unknown encoding`."""
    code = """
import sys
from omnizarr import _json
assert _json.parse(b'\\xef\\xbb\\xbf{}', "x", limit=10) == {}
print(*[name for name in sys.modules if name.startswith("encodings.utf_8_sig")])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == ""
