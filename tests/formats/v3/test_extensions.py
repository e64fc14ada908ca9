"""Extensions in v3 documents: their forms, and unknown ones."""

from __future__ import annotations

from typing import Any

import pytest
from tests.formats.documents import (
    LITTLE,
    array_document,
    dumped,
    group_document,
    parsed,
    problem_paths,
    sharding,
    warning_paths,
)

import omnizarr
from omnizarr.codecs import Skipped
from omnizarr.errors import OmnizarrWarning, ReadOnlyError
from omnizarr.model import ArrayModel

UNKNOWN = {"name": "mystery", "configuration": {"x": 1}, "must_understand": False}
URI = "https://example.org/codecs/mystery"


def read(document: Any) -> ArrayModel:
    node, problems = parsed(document)
    assert isinstance(node, ArrayModel), problems.found
    return node


POINTS = ["data_type", "chunk_grid", "chunk_key_encoding"]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(
    ("value", "end"),
    [
        ({"name": 3}, ".name"),
        ({"configuration": {}}, ".name"),
        ({"name": "x1", "configuration": []}, ".configuration"),
        ({"name": "x1", "other": 1}, ".other"),
    ],
)
def test_R33_the_object_form(point: str, value: Any, end: str) -> None:
    assert problem_paths(array_document(**{point: value})) == [f"$.{point}{end}"]


@pytest.mark.parametrize("name", ["crc32c", {"name": "crc32c"}, {"name": "crc32c", "configuration": {}}])
def test_R34_the_short_form_means_the_same(name: Any) -> None:
    assert read(array_document(codecs=[LITTLE, name])) == read(array_document(codecs=[LITTLE, "crc32c"]))


def test_R35_R37_an_unknown_extension_that_must_be_understood_is_an_error() -> None:
    assert problem_paths(array_document(codecs=[LITTLE, "mystery"])) == ["$.codecs[1]"]
    assert problem_paths(array_document(codecs=[LITTLE, {"name": "mystery"}])) == ["$.codecs[1].name"]
    assert problem_paths(array_document(codecs=[LITTLE, {"name": "mystery", "must_understand": True}])) == [
        "$.codecs[1].name"
    ]


@pytest.mark.parametrize("point", POINTS)
def test_R36_data_type_grid_and_keys_cannot_be_ignored(point: str) -> None:
    document = array_document()
    value = document[point] if isinstance(document[point], dict) else {"name": document[point]}
    assert problem_paths({**document, point: {**value, "must_understand": False}}) == [f"$.{point}.must_understand"]


@pytest.mark.parametrize("point", POINTS)
def test_R37_an_unknown_name_is_an_error(point: str) -> None:
    _, problems = parsed(array_document(**{point: "mystery"}))
    assert [problem.path for problem in problems.found] == [f"$.{point}"]
    assert "mystery" in problems.found[0].message


def test_R37_a_misspelt_codec_has_a_hint() -> None:
    _, problems = parsed(array_document(codecs=[LITTLE, "gzap"]))
    assert problems.found[0].hint == "did you mean `gzip`?"


def test_R38_A29_an_unknown_codec_that_may_be_ignored_is_skipped_with_a_warning_and_kept() -> None:
    document = array_document(codecs=[LITTLE, UNKNOWN])
    node = read(document)
    assert isinstance(node.codecs[1], Skipped)
    assert warning_paths(document) == ["$.codecs[1]"]
    assert dumped(node) == document
    assert node == read(document)
    assert hash(node.codecs[1]) == hash(read(document).codecs[1])


def test_A29_an_unknown_codec_never_replaces_the_array_to_bytes_codec() -> None:
    assert problem_paths(array_document(codecs=[UNKNOWN])) == ["$.codecs"]
    assert problem_paths(array_document(codecs=[sharding(codecs=[UNKNOWN])])) == ["$.codecs[0].configuration.codecs"]


def test_A29_a_known_codec_is_not_skipped_and_its_must_understand_not_written() -> None:
    document = array_document(codecs=[LITTLE, {"name": "crc32c", "must_understand": False}])
    assert dumped(read(document))["codecs"] == [LITTLE, {"name": "crc32c"}]


def stored(document: Any) -> omnizarr.MemoryStore:
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store, attributes={"x": 1}).create_array("a", shape=(10, 6), dtype="int16", chunks=(4, 3))
    z = omnizarr.open_array(store, path="a")
    z[...] = 5
    store.set("a/zarr.json", omnizarr._json.dump(document))
    return store


@pytest.mark.parametrize(
    "document",
    [
        array_document(
            codecs=[LITTLE, UNKNOWN], chunk_grid={"name": "regular", "configuration": {"chunk_shape": [4, 3]}}
        ),
        array_document(codecs=[LITTLE], storage_transformers=[UNKNOWN]),
        array_document(codecs=[sharding(codecs=[LITTLE, UNKNOWN])]),
        array_document(codecs=[sharding(codecs=[sharding(codecs=[LITTLE, UNKNOWN])])]),
        array_document(codecs=[sharding(index_codecs=[LITTLE, UNKNOWN])]),
    ],
    ids=["codec", "storage transformer", "codec in a shard", "codec in a nested shard", "codec of an index"],
)
def test_R38_a_codec_that_reading_skips_is_rejected_in_writing(document: Any) -> None:
    store = stored(document)
    with pytest.warns(OmnizarrWarning, match="mystery"):
        z = omnizarr.open_array(store, path="a")
    for write in (lambda: z.__setitem__(..., 1), lambda: z.resize((3, 3)), lambda: z.append([[1] * 6])):
        with pytest.raises(ReadOnlyError, match="names unknown codecs"):
            write()


def test_R32_R38_changing_attributes_keeps_the_unknown_codec() -> None:
    document = array_document(codecs=[LITTLE, UNKNOWN], storage_transformers=[UNKNOWN], other=UNKNOWN)
    store = stored(document)
    with pytest.warns(OmnizarrWarning):
        omnizarr.open_array(store, path="a").attrs["new"] = [1]
    changed = omnizarr._json.parse(store.get("a/zarr.json") or b"", "it", limit=10**6)
    assert changed == {**document, "attributes": {"a": 1, "new": [1]}}


def test_R38_reading_skips_the_unknown_codec() -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, shape=6, dtype="int16", chunks=3, compressors=None)
    z[...] = range(6)
    document = omnizarr._json.parse(store.get("zarr.json") or b"", "it", limit=10**6)
    document["codecs"].append(UNKNOWN)
    store.set("zarr.json", omnizarr._json.dump(document))
    with pytest.warns(OmnizarrWarning, match="mystery"):
        again = omnizarr.open_array(store)
    assert again[...].tolist() == list(range(6))


@pytest.mark.parametrize("name", ["foo/bar", "foo:bar", "F", "x"])
def test_R39_an_invalid_name_is_an_unknown_name(name: str) -> None:
    assert problem_paths(array_document(codecs=[LITTLE, name])) == ["$.codecs[1]"]


def test_R40_uris_are_accepted_as_names() -> None:
    assert problem_paths(array_document(codecs=[LITTLE, {"name": URI}])) == ["$.codecs[1].name"]
    document = array_document(codecs=[LITTLE, {"name": URI, "must_understand": False}])
    assert warning_paths(document) == ["$.codecs[1]"]


def test_R42_the_fill_value_is_not_an_extension_point() -> None:
    assert problem_paths(array_document(fill_value={"name": "x1", "must_understand": False})) == ["$.fill_value"]


def test_A33_short_forms_inside_a_shard_are_read_and_written_as_objects() -> None:
    document = array_document(data_type="int8", codecs=[sharding(codecs=["bytes"], index_codecs=[LITTLE, "crc32c"])])
    inner = dumped(read(document))["codecs"][0]["configuration"]
    assert inner["codecs"] == [{"name": "bytes"}]
    assert inner["index_codecs"] == [LITTLE, {"name": "crc32c"}]


@pytest.mark.parametrize("item", ["indexed", {"name": "indexed"}, {"name": "indexed", "must_understand": True}])
def test_R123_a_storage_transformer_is_an_error(item: Any) -> None:
    (place,) = problem_paths(array_document(storage_transformers=[item]))
    assert place.startswith("$.storage_transformers[0]")


def test_R123_a_storage_transformer_that_may_be_ignored_is_ignored() -> None:
    document = array_document(storage_transformers=[UNKNOWN])
    node = read(document)
    assert warning_paths(document) == ["$.storage_transformers[0]"]
    assert dumped(node) == document


def test_R122_every_entry_is_checked() -> None:
    document = array_document(storage_transformers=[UNKNOWN, "indexed", 3])
    assert problem_paths(document) == ["$.storage_transformers[1]", "$.storage_transformers[2]"]


def test_a_new_array_cannot_have_an_unknown_codec() -> None:
    for options in ({"compressors": [UNKNOWN]}, {"serializer": sharding(codecs=[LITTLE, UNKNOWN])}):
        with pytest.raises(ValueError, match="unknown") as caught:
            omnizarr.create_array(shape=(4, 3), dtype="int16", chunks=(4, 3), **options)
        assert isinstance(caught.value, omnizarr.OmnizarrError)


def test_R152_unknown_attributes_of_groups_are_kept() -> None:
    assert problem_paths(group_document(attributes={"ome": {"must_understand": True}})) == []
