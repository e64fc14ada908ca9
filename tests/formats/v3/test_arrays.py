"""Array documents of v3."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.formats.documents import LITTLE, array_document, dumped, parsed, problem_paths, sharding, warning_paths

import omnizarr
from omnizarr.model import MOST_DIMENSIONS, ArrayModel


def read(document: Any) -> ArrayModel:
    node, problems = parsed(document)
    assert isinstance(node, ArrayModel), problems.found
    return node


def test_a_canonical_document_is_read_without_warnings_and_written_back() -> None:
    document = array_document(dimension_names=["y", None])
    node, problems = parsed(document)
    assert isinstance(node, ArrayModel)
    assert not problems.warnings
    assert dumped(node) == document


@pytest.mark.parametrize("value", [None, 3, "text", [], [array_document()]])
def test_R8_a_document_is_an_object(value: Any) -> None:
    assert problem_paths(value) == ["$"]


@pytest.mark.parametrize("value", [2, 3.0, "3", None, True, "https://purl.org/zarr/spec/v3#array"])
def test_R9_zarr_format_is_the_integer_3(value: Any) -> None:
    assert problem_paths(array_document(zarr_format=value)) == ["$.zarr_format"]


def test_R9_zarr_format_is_mandatory() -> None:
    assert problem_paths(array_document("zarr_format")) == ["$.zarr_format"]


@pytest.mark.parametrize("value", ["arry", "Array", None, 1, ["array"], {}])
def test_R10_node_type_is_array_or_group(value: Any) -> None:
    assert problem_paths(array_document(node_type=value)) == ["$.node_type"]


def test_R10_a_misspelt_node_type_has_a_hint() -> None:
    _, problems = parsed(array_document(node_type="arry"))
    assert problems.found[0].hint == "did you mean `array`?"


@pytest.mark.parametrize("shape", [None, 10, "10", [-1, 6], [1.0, 6], [True, 6], [None, 6], ["1", 6], {}])
def test_R11_shape_is_a_list_of_integers_of_at_least_0(shape: Any) -> None:
    assert problem_paths(array_document(shape=shape)) == ["$.shape"]


def test_R11_an_empty_shape_is_a_scalar() -> None:
    grid = {"name": "regular", "configuration": {"chunk_shape": []}}
    node = read(array_document(shape=[], chunk_grid=grid))
    assert node.shape == ()
    assert node.size == 1


def test_R11_a_length_of_0_is_valid() -> None:
    assert read(array_document(shape=[0, 6])).size == 0


def test_R11_lengths_of_64_bits_and_more_are_rejected() -> None:
    assert read(array_document(shape=[2**63 - 1, 6])).shape == (2**63 - 1, 6)
    assert problem_paths(array_document(shape=[2**63, 6])) == ["$.shape"]
    assert problem_paths(array_document(shape=[10**4000, 6])) == ["$.shape"]


def test_more_dimensions_than_numpy_can_hold_are_rejected() -> None:
    count = MOST_DIMENSIONS + 1
    grid = {"name": "regular", "configuration": {"chunk_shape": [1] * count}}
    assert "$.shape" in problem_paths(array_document(shape=[1] * count, chunk_grid=grid))


@pytest.mark.parametrize("value", [None, 3, [], ["int16"], True])
def test_R12_A30_a_data_type_is_a_string_or_an_object(value: Any) -> None:
    assert problem_paths(array_document(data_type=value)) == ["$.data_type"]


def test_R12_the_object_form_of_core_types_causes_a_warning() -> None:
    assert dumped(read(array_document(data_type={"name": "int16"})))["data_type"] == "int16"
    assert warning_paths(array_document(data_type={"name": "int16"})) == ["$.data_type"]


def test_R12_an_unknown_data_type_suggests_the_nearest() -> None:
    _, problems = parsed(array_document(data_type="in16"))
    assert problems.found[0].path == "$.data_type"
    assert "int16" in (problems.found[0].hint or "")


@pytest.mark.parametrize(
    ("grid", "place"),
    [
        (None, "$.chunk_grid"),
        ([4, 3], "$.chunk_grid"),
        ("regular", "$.chunk_grid.configuration.chunk_shape"),
        ({"name": "regular"}, "$.chunk_grid.configuration.chunk_shape"),
        ({"name": "regular", "configuration": {}}, "$.chunk_grid.configuration.chunk_shape"),
        ({"name": "regular", "configuration": {"chunk_shape": 4}}, "$.chunk_grid.configuration.chunk_shape"),
        ({"name": "regular", "configuration": {"chunk_shape": [4, 0]}}, "$.chunk_grid.configuration.chunk_shape[1]"),
        (
            {"name": "regular", "configuration": {"chunk_shape": [4, 2**63]}},
            "$.chunk_grid.configuration.chunk_shape[1]",
        ),
        ({"name": "regular", "configuration": {"chunk_shape": [4, 3], "x": 1}}, "$.chunk_grid.configuration.x"),
        ({"name": "reguler", "configuration": {"chunk_shape": [4, 3]}}, "$.chunk_grid.name"),
    ],
)
def test_R13_chunk_grid_is_an_extension_with_its_configuration(grid: Any, place: str) -> None:
    assert problem_paths(array_document(chunk_grid=grid)) == [place]


def test_A35_a_chunk_length_of_0_is_read_as_1_where_the_dimension_is_empty() -> None:
    grid = {"name": "regular", "configuration": {"chunk_shape": [0, 3]}}
    document = array_document(shape=[0, 6], chunk_grid=grid)
    assert read(document).grid.chunks == (1, 3)
    assert warning_paths(document) == ["$.chunk_grid.configuration.chunk_shape[0]"]
    assert problem_paths(array_document(chunk_grid=grid)) == ["$.chunk_grid.configuration.chunk_shape[0]"]


@pytest.mark.parametrize("value", [None, [], "defalt", {"name": "default", "configuration": {"separator": ":"}}])
def test_R14_chunk_key_encoding_is_an_extension(value: Any) -> None:
    (place,) = problem_paths(array_document(chunk_key_encoding=value))
    assert place.startswith("$.chunk_key_encoding")


@pytest.mark.parametrize("value", ["7", 1.5, 40000, [7], {}])
def test_R15_the_fill_value_fits_the_data_type(value: Any) -> None:
    assert problem_paths(array_document(fill_value=value)) == ["$.fill_value"]


def test_R15_R25_the_fill_value_is_mandatory() -> None:
    assert problem_paths(array_document("fill_value")) == ["$.fill_value"]


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [("bool", 1, True), ("bool", 0, False), ("int16", 1.0, 1), ("int16", -3e2, -300)],
)
def test_A40_lenient_forms_are_accepted_with_a_warning(data_type: str, value: Any, expected: Any) -> None:
    document = array_document(data_type=data_type, fill_value=value)
    node = read(document)
    assert node.fill is not None
    assert node.fill[()] == expected
    assert warning_paths(document) == ["$.fill_value"]
    assert dumped(node)["fill_value"] is expected or dumped(node)["fill_value"] == expected
    assert type(dumped(node)["fill_value"]) is type(expected)


def test_A40_a_float_without_a_fraction_is_valid() -> None:
    document = array_document(data_type="float32", fill_value=0)
    assert warning_paths(document) == []
    assert read(document).fill == np.float32(0)


@pytest.mark.parametrize(
    ("data_type", "expected"),
    [
        ("int16", 0),
        ("float32", 0.0),
        ("bool", False),
        ("complex64", [0.0, 0.0]),
        ("r16", [0, 0]),
        ({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}, "NaT"),
        ({"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "int16"}]}}, {"a": 0}),
    ],
)
def test_A6_null_is_the_default_with_a_warning_and_never_written(data_type: Any, expected: Any) -> None:
    document = array_document(data_type=data_type, fill_value=None)
    assert warning_paths(document) == ["$.fill_value"]
    assert dumped(read(document))["fill_value"] == expected


def test_A60_a_bare_nan_is_a_fill_value_and_written_as_text() -> None:
    document = array_document(data_type="float32", fill_value=float("nan"))
    assert dumped(read(document))["fill_value"] == "NaN"


def test_R17_an_extension_type_defines_its_fill_values() -> None:
    fields = [{"name": "a", "data_type": "int16"}, {"name": "b", "data_type": "float32"}]
    struct = {"name": "struct", "configuration": {"fields": fields}}
    document = array_document(data_type=struct, fill_value={"a": 3, "b": "NaN"})
    assert dumped(read(document)) == document
    assert problem_paths(array_document(data_type=struct, fill_value={"a": 1.5, "b": "x"})) == [
        "$.fill_value.a",
        "$.fill_value.b",
    ]


@pytest.mark.parametrize("value", [{}, "bytes", 3, 0, "", False])
def test_R18_codecs_is_a_list(value: Any) -> None:
    assert problem_paths(array_document(codecs=value)) == ["$.codecs"]


@pytest.mark.parametrize("item", [None, 3, [], {}, {"name": 1}])
def test_R18_every_codec_is_an_extension(item: Any) -> None:
    (place,) = problem_paths(array_document(codecs=[LITTLE, item]))
    assert place.startswith("$.codecs[1]")


def test_R18_there_is_exactly_one_array_to_bytes_codec() -> None:
    assert problem_paths(array_document(codecs=[LITTLE, LITTLE])) == ["$.codecs"]
    assert problem_paths(array_document(codecs=[LITTLE, sharding()])) == ["$.codecs"]


def test_R19_A32_codecs_grid_and_keys_are_written_as_objects() -> None:
    document = array_document(
        chunk_key_encoding="default",
        codecs=[{"name": "bytes", "configuration": {"endian": "little"}, "must_understand": True}, "crc32c"],
    )
    written = dumped(read(document))
    assert written["codecs"] == [LITTLE, {"name": "crc32c"}]
    assert written["chunk_key_encoding"] == {"name": "default", "configuration": {"separator": "/"}}
    assert written["chunk_grid"] == document["chunk_grid"]
    assert written["data_type"] == "int16"


@pytest.mark.parametrize("value", [[], "a", 3, True])
def test_R20_attributes_are_an_object(value: Any) -> None:
    assert problem_paths(array_document(attributes=value)) == ["$.attributes"]


def test_R20_R152_any_attribute_is_valid() -> None:
    attributes = {"": None, "a b": [1, {"x": [True]}], "must_understand": True, "ome": {"version": "0.5"}}
    assert read(array_document(attributes=attributes)).attributes == attributes
    assert read(array_document("attributes")).attributes == {}


@pytest.mark.parametrize("value", [{}, "a", 3])
def test_R21_storage_transformers_are_a_list(value: Any) -> None:
    assert problem_paths(array_document(storage_transformers=value)) == ["$.storage_transformers"]


def test_R21_absent_storage_transformers_mean_none() -> None:
    node = read(array_document("storage_transformers"))
    assert node.storage_transformers == node.ignored_transformers == ()
    assert dumped(node)["storage_transformers"] == []


@pytest.mark.parametrize("value", ["xy", {}, 3, ["x"], ["x", "y", "z"], ["x", 1], [["x"], "y"]])
def test_R22_dimension_names_are_strings_or_null_one_per_dimension(value: Any) -> None:
    assert problem_paths(array_document(dimension_names=value)) == ["$.dimension_names"]


@pytest.mark.parametrize("value", [["x", None], [None, None], ["x", "x"], ["", None], ["ü", "a b"]])
def test_R22_R23_names_may_be_null_empty_or_equal(value: Any) -> None:
    node = read(array_document(dimension_names=value))
    assert node.dimension_names == tuple(value)
    assert dumped(node)["dimension_names"] == value


def test_R24_arrays_may_use_one_name_for_different_lengths() -> None:
    group = omnizarr.create_group(None)
    for length in (3, 5):
        group.create_array(f"a{length}", shape=length, dtype="int8", dimension_names=["x"])
    assert [array.dimension_names for array in group.array_values()] == [("x",), ("x",)]


def test_R31_R41_new_documents_have_only_specified_members_and_the_major_version() -> None:
    z = omnizarr.create_array(None, shape=3, dtype="int8", dimension_names=["x"])
    assert set(dumped(z.metadata)) == {*array_document(), "dimension_names"}
    assert dumped(z.metadata)["zarr_format"] == 3
    assert set(dumped(omnizarr.create_group(None).metadata)) == {"zarr_format", "node_type", "attributes"}


def test_R22_absent_dimension_names_stay_absent() -> None:
    assert "dimension_names" not in dumped(read(array_document()))


@pytest.mark.parametrize("name", ["shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value"])
def test_R25_a_missing_member_is_an_error(name: str) -> None:
    _, problems = parsed(array_document(name))
    assert [(problem.path, problem.message) for problem in problems.found] == [(f"$.{name}", "is missing")]


def test_R25_rank_mismatch_of_the_chunk_shape() -> None:
    grid = {"name": "regular", "configuration": {"chunk_shape": [4]}}
    assert problem_paths(array_document(chunk_grid=grid)) == ["$.chunk_grid.configuration.chunk_shape"]


def test_R25_rank_mismatch_of_a_transpose() -> None:
    transpose = {"name": "transpose", "configuration": {"order": [0]}}
    assert problem_paths(array_document(codecs=[transpose, LITTLE])) == ["$.codecs[0].configuration.order"]


def test_R25_rank_mismatch_of_inner_chunks() -> None:
    assert problem_paths(array_document(codecs=[sharding(chunk_shape=[2])])) == [
        "$.codecs[0].configuration.chunk_shape"
    ]


def test_all_problems_are_reported_at_once() -> None:
    document = array_document(
        "fill_value",
        zarr_format=2,
        shape=[-1, 6],
        data_type="int61",
        chunk_grid={"name": "regular", "configuration": {"chunk_shape": [4, -3]}},
        chunk_key_encoding="defalt",
        codecs=[LITTLE, {"name": "gzip", "configuration": {"level": 12}}, "gzap"],
        attributes=[],
        dimension_names="xy",
        storage_transformers=["x"],
        surprise=1,
    )
    assert sorted(problem_paths(document)) == [
        "$.attributes",
        "$.chunk_grid.configuration.chunk_shape[1]",
        "$.chunk_key_encoding",
        "$.codecs[1].configuration.level",
        "$.codecs[2]",
        "$.data_type",
        "$.dimension_names",
        "$.fill_value",
        "$.shape",
        "$.storage_transformers[0]",
        "$.surprise",
        "$.zarr_format",
    ]


def test_codecs_are_checked_despite_other_problems() -> None:
    document = array_document(
        fill_value="x", dimension_names=["x"], codecs=[sharding(chunk_shape=[3, 2], codecs=[{"name": "bytes"}])]
    )
    assert sorted(problem_paths(document)) == [
        "$.codecs[0].configuration.chunk_shape[0]",
        "$.codecs[0].configuration.chunk_shape[1]",
        "$.codecs[0].configuration.codecs[0].configuration",
        "$.dimension_names",
        "$.fill_value",
    ]
