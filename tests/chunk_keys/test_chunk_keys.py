"""Chunk key encodings: keys, their inverse, and metadata."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import omnizarr
from omnizarr._json import Problems
from omnizarr.chunk_keys import ChunkKeys, DefaultKeys, FanoutKeys, V2Keys, chunk_key_encodings, parse_chunk_keys
from omnizarr.errors import ArgumentError

EVERY = (DefaultKeys("/"), DefaultKeys("."), V2Keys("/"), V2Keys("."), FanoutKeys(), FanoutKeys(100))
encodings = pytest.mark.parametrize("keys", EVERY, ids=str)


def read(value: Any) -> tuple[ChunkKeys | None, Problems]:
    problems = Problems()
    return parse_chunk_keys(value, "$.chunk_key_encoding", problems), problems


def test_every_registered_name_is_tested() -> None:
    assert set(chunk_key_encodings.names()) == {keys.name for keys in EVERY}


def test_R73_default_keys() -> None:
    assert DefaultKeys().key((1, 23, 45)) == "c/1/23/45"
    assert DefaultKeys(".").key((1, 23, 45)) == "c.1.23.45"
    assert DefaultKeys("/").key(()) == DefaultKeys(".").key(()) == "c"


def test_R74_v2_keys() -> None:
    assert V2Keys().key((1, 23, 45)) == "1.23.45"
    assert V2Keys("/").key((1, 23, 45)) == "1/23/45"
    assert V2Keys("/").key(()) == V2Keys(".").key(()) == "0"


@encodings
@given(coordinates=st.lists(st.integers(0, 2**63 - 1), max_size=6).map(tuple))
def test_coordinates_is_the_inverse_of_key(keys: ChunkKeys, coordinates: tuple[int, ...]) -> None:
    key = keys.key(coordinates)
    assert keys.coordinates(key, len(coordinates)) == coordinates
    assert keys.join([str(index) for index in coordinates]) == key
    for ndim in range(8):
        found = keys.coordinates(key, ndim)
        assert found is None or keys.key(found) == key


@encodings
@given(key=st.text("c0123/.-+_ ²", max_size=6), ndim=st.integers(0, 3))
def test_a_key_with_coordinates_is_the_key_of_these(keys: ChunkKeys, key: str, ndim: int) -> None:
    found = keys.coordinates(key, ndim)
    assert found is None or (len(found) == ndim and keys.key(found) == key)


@pytest.mark.parametrize(
    "key",
    [
        *["c/01/2", "c/1/2/3", "c/1", "c", "c/", "c//1", "c/-1/2", "c/+1/2", "c/1/2/", "/c/1/2", "c.1.2", "c/1.2"],
        *[
            "1/2",
            "zarr.json",
            "c/1/x",
            "c/1/\uff12",
            "c/1/2\n",
            "c/1_0/2",
            "c /1/2",
            "C/1/2",
            "",
            "c/" + "1" * 5000 + "/2",
        ],
    ],
)
def test_keys_that_are_not_canonical_have_no_coordinates(key: str) -> None:
    assert DefaultKeys().coordinates(key, 2) is None


@pytest.mark.parametrize("key", ["00", "", "c", "0.0", "1"])
def test_R74_array_without_dimensions_has_one_key(key: str) -> None:
    assert V2Keys().coordinates(key, 0) is None


def test_numpy_integers_are_coordinates() -> None:
    assert DefaultKeys().key(tuple(np.array([3, 4]))) == "c/3/4"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("default", DefaultKeys("/")),
        ({"name": "default"}, DefaultKeys("/")),
        ({"name": "default", "configuration": {}}, DefaultKeys("/")),
        ({"name": "default", "configuration": {"separator": "."}}, DefaultKeys(".")),
        ("v2", V2Keys(".")),
        ({"name": "v2", "configuration": {"separator": "/"}}, V2Keys("/")),
    ],
)
def test_R77_names_and_objects(value: Any, expected: ChunkKeys) -> None:
    found, problems = read(value)
    assert found == expected
    assert not problems.warnings


@pytest.mark.parametrize("separator", ["", "-", "//", None, 0, [], ["/"], {}])
@pytest.mark.parametrize("name", ["default", "v2"])
def test_R76_other_separators_are_rejected(name: str, separator: Any) -> None:
    found, problems = read({"name": name, "configuration": {"separator": separator}})
    assert found is None
    assert problems.found[0].path == "$.chunk_key_encoding.configuration.separator"


def test_unknown_members_of_the_configuration_are_rejected() -> None:
    found, problems = read({"name": "default", "configuration": {"seperator": "."}})
    assert found is None
    assert problems.found[0].hint == "did you mean `separator`?"


def test_R36_a_chunk_key_encoding_cannot_be_ignored() -> None:
    found, problems = read({"name": "default", "must_understand": False})
    assert found is None
    assert problems.found[0].path == "$.chunk_key_encoding.must_understand"


def test_R37_unknown_encodings_are_rejected() -> None:
    found, problems = read({"name": "defualt"})
    assert found is None
    assert problems.found[0].path == "$.chunk_key_encoding.name"
    assert problems.found[0].hint == "did you mean `default`?"


@encodings
def test_A32_an_encoding_is_written_as_an_object_with_its_configuration(keys: ChunkKeys) -> None:
    members = ("separator", "max_children")
    expected = {member: getattr(keys, member) for member in members if hasattr(keys, member)}
    assert keys.to_json() == {"name": keys.name, "configuration": expected}
    assert read(keys.to_json())[0] == keys


@encodings
def test_encodings_are_values(keys: ChunkKeys) -> None:
    assert pickle.loads(pickle.dumps(keys)) == keys
    assert len({keys, *EVERY}) == len(EVERY)


@pytest.mark.parametrize("encoding", [DefaultKeys, V2Keys])
def test_other_separators_are_argument_errors(encoding: Any) -> None:
    with pytest.raises(ArgumentError, match="separator"):
        encoding("-")


def test_R75_new_arrays_do_not_get_the_encoding_of_v2() -> None:
    assert omnizarr.zeros((2, 2)).metadata.chunk_keys == DefaultKeys("/")


@encodings
@given(st.data())
def test_prefixes_select_chunks_by_their_first_coordinates(keys: ChunkKeys, data: st.DataObject) -> None:
    ndim = data.draw(st.integers(0, 4))
    at = tuple(data.draw(st.lists(st.integers(0, 12), min_size=ndim, max_size=ndim)))
    key = keys.key(at)
    for end, letter in enumerate(key):
        if letter == "/":
            prefix = key[: end + 1]
            leading = keys.leading(prefix, ndim)
            assert leading is not None
            assert leading == at[: len(leading)]
            directory = keys.directory(leading, ndim)
            # A prefix of `fanout` may end within a coordinate, and so select chunks that no coordinates describe.
            assert directory == prefix or (isinstance(keys, FanoutKeys) and prefix.startswith(directory))
    for count in range(ndim + 1):
        assert key.startswith(keys.directory(at[:count], ndim))
    assert keys.leading("", ndim) == ()


@encodings
def test_prefixes_without_chunks(keys: ChunkKeys) -> None:
    for prefix in ("d/", "c/x/", "c0/0/", "c/01/", "c/0/0/", "0/0/", "c/c/", "-1/"):
        assert keys.leading(prefix, 2) is None, prefix
    assert keys.leading("1/", 1) is keys.leading("c/", 0) is None


def test_the_fallbacks_for_prefixes() -> None:
    class Minimal(V2Keys):
        leading = ChunkKeys.leading
        directory = ChunkKeys.directory

    assert Minimal().leading("any/", 2) == ()
    assert Minimal().directory((1,), 2) == ""
