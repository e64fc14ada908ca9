"""Group documents of v3, consolidated metadata, and unknown members."""

from __future__ import annotations

from typing import Any

import pytest
from tests.formats.documents import array_document, dumped, group_document, parsed, problem_paths, warning_paths

from omnizarr.model import ArrayModel, GroupModel


def read(document: Any) -> GroupModel:
    node, problems = parsed(document)
    assert isinstance(node, GroupModel), problems.found
    return node


def consolidated(**changes: Any) -> dict[str, Any]:
    return {"kind": "inline", "must_understand": False, "metadata": {}, **changes}


def test_R26_a_group_has_its_version_and_its_type() -> None:
    node = read({"zarr_format": 3, "node_type": "group"})
    assert node == GroupModel()
    assert problem_paths({"zarr_format": 3}) == ["$.node_type"]
    assert problem_paths({"node_type": "group"}) == ["$.zarr_format"]


def test_R27_attributes_may_be_absent_and_are_written() -> None:
    assert dumped(read(group_document("attributes"))) == group_document(attributes={})
    assert problem_paths(group_document(attributes=[])) == ["$.attributes"]


def test_R27_a_group_has_no_members_of_arrays() -> None:
    assert problem_paths(group_document(shape=[3])) == ["$.shape"]


def test_R28_consolidated_metadata_is_read_and_written() -> None:
    children = {"a": array_document(), "g": group_document()}
    document = group_document(consolidated_metadata=consolidated(metadata=children))
    node = read(document)
    assert node.consolidated == {f"{name}/zarr.json": child for name, child in children.items()}
    assert warning_paths(document) == []
    assert dumped(node) == document


@pytest.mark.parametrize("value", [[], "inline", 3, True])
def test_R28_consolidated_metadata_is_an_object(value: Any) -> None:
    assert problem_paths(group_document(consolidated_metadata=value)) == ["$.consolidated_metadata"]


@pytest.mark.parametrize("value", [None, [], "x"])
def test_R28_its_metadata_is_an_object(value: Any) -> None:
    document = group_document(consolidated_metadata=consolidated(metadata=value))
    assert problem_paths(document) == ["$.consolidated_metadata.metadata"]


def test_R28_must_understand_should_be_false() -> None:
    document = group_document(consolidated_metadata={"kind": "inline", "metadata": {}})
    assert warning_paths(document) == ["$.consolidated_metadata.must_understand"]
    assert dumped(read(document))["consolidated_metadata"]["must_understand"] is False


def test_R28_null_means_absent() -> None:
    assert read(group_document(consolidated_metadata=None)).consolidated is None


def test_R28_arrays_have_no_consolidated_metadata() -> None:
    assert problem_paths(array_document(consolidated_metadata={"kind": "inline", "metadata": {}})) == [
        "$.consolidated_metadata"
    ]


def test_R29_paths_are_relative() -> None:
    document = group_document(consolidated_metadata=consolidated(metadata={"/a/b/": group_document()}))
    assert read(document).consolidated == {"a/b/zarr.json": group_document()}


def test_A34_an_unknown_kind_is_ignored_and_kept() -> None:
    other = {"kind": "elsewhere", "must_understand": False, "url": "x"}
    document = group_document(consolidated_metadata=other)
    node = read(document)
    assert node.consolidated is None
    assert dumped(node) == document


def test_A34_an_unknown_kind_that_must_be_understood_is_an_error() -> None:
    assert problem_paths(group_document(consolidated_metadata={"kind": "elsewhere"})) == [
        "$.consolidated_metadata.kind"
    ]


def test_A34_paths_are_sorted_by_depth_and_name() -> None:
    paths = ["b", "a/c", "C", "a", "a/B", "a/B/x"]
    node = GroupModel(consolidated={f"{path}/zarr.json": group_document() for path in paths})
    written = dumped(node)["consolidated_metadata"]["metadata"]
    assert list(written) == ["a", "b", "C", "a/B", "a/c", "a/B/x"]


EXTRA = {"must_understand": False, "deep": [1, {"x": None}]}


@pytest.mark.parametrize("document", [array_document(), group_document()], ids=["array", "group"])
@pytest.mark.parametrize(
    "value", [1, "x", None, [], {}, {"must_understand": True}, {"must_understand": 0}, {"name": "x"}]
)
def test_R30_an_unknown_member_is_an_error(document: dict[str, Any], value: Any) -> None:
    assert problem_paths({**document, "surprise": value}) == ["$.surprise"]


def test_R30_a_misspelt_member_has_a_hint() -> None:
    _, problems = parsed(array_document(dimension_name=["x", "y"]))
    assert problems.found[0].hint == "did you mean `dimension_names`?"


@pytest.mark.parametrize("document", [array_document(), group_document()], ids=["array", "group"])
def test_R30_R32_a_member_that_may_be_ignored_is_kept_as_it_was(document: dict[str, Any]) -> None:
    document = {**document, "surprise": EXTRA}
    node, problems = parsed(document)
    assert isinstance(node, (ArrayModel, GroupModel))
    assert not problems
    assert dumped(node) == document
