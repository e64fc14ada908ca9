"""Documents of groups in v3, consolidated metadata in them, and members that nobody expects."""

from __future__ import annotations

from typing import Any

import pytest
from tests.formats.documents import array_document, dumped, group_document, parsed, places, warned

from omnizarr.model import ArrayModel, GroupModel


def read(document: Any) -> GroupModel:
    node, problems = parsed(document)
    assert isinstance(node, GroupModel), problems.found
    return node


def consolidated(**changes: Any) -> dict[str, Any]:
    return {"kind": "inline", "must_understand": False, "metadata": {}, **changes}


def test_R26_a_group_is_its_version_and_its_type() -> None:
    node = read({"zarr_format": 3, "node_type": "group"})
    assert node == GroupModel()
    assert places({"zarr_format": 3}) == ["$.node_type"]
    assert places({"node_type": "group"}) == ["$.zarr_format"]


def test_R27_attributes_may_be_absent_and_are_written() -> None:
    assert dumped(read(group_document("attributes"))) == group_document(attributes={})
    assert places(group_document(attributes=[])) == ["$.attributes"]


def test_R27_a_group_has_no_members_of_arrays() -> None:
    assert places(group_document(shape=[3])) == ["$.shape"]


def test_R28_consolidated_metadata_is_read_and_written() -> None:
    children = {"a": array_document(), "g": group_document()}
    document = group_document(consolidated_metadata=consolidated(metadata=children))
    node = read(document)
    assert node.consolidated == {f"{name}/zarr.json": child for name, child in children.items()}
    assert warned(document) == []
    assert dumped(node) == document


@pytest.mark.parametrize("value", [[], "inline", 3, True])
def test_R28_consolidated_metadata_is_an_object(value: Any) -> None:
    assert places(group_document(consolidated_metadata=value)) == ["$.consolidated_metadata"]


@pytest.mark.parametrize("value", [None, [], "x"])
def test_R28_its_metadata_are_an_object(value: Any) -> None:
    document = group_document(consolidated_metadata=consolidated(metadata=value))
    assert places(document) == ["$.consolidated_metadata.metadata"]


def test_R28_it_should_say_that_it_need_not_be_understood() -> None:
    document = group_document(consolidated_metadata={"kind": "inline", "metadata": {}})
    assert warned(document) == ["$.consolidated_metadata.must_understand"]
    assert dumped(read(document))["consolidated_metadata"]["must_understand"] is False


def test_R28_null_is_as_good_as_absent() -> None:
    assert read(group_document(consolidated_metadata=None)).consolidated is None


def test_R28_is_not_defined_for_arrays() -> None:
    assert places(array_document(consolidated_metadata={"kind": "inline", "metadata": {}})) == [
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
    assert places(group_document(consolidated_metadata={"kind": "elsewhere"})) == ["$.consolidated_metadata.kind"]


def test_A34_paths_are_written_in_order_by_depth_and_name() -> None:
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
    assert places({**document, "surprise": value}) == ["$.surprise"]


def test_R30_a_misspelt_member_suggests_the_right_one() -> None:
    _, problems = parsed(array_document(dimension_name=["x", "y"]))
    assert problems.found[0].hint == "did you mean `dimension_names`?"


@pytest.mark.parametrize("document", [array_document(), group_document()], ids=["array", "group"])
def test_R30_R32_a_member_that_may_be_ignored_is_kept_as_it_was(document: dict[str, Any]) -> None:
    document = {**document, "surprise": EXTRA}
    node, problems = parsed(document)
    assert isinstance(node, (ArrayModel, GroupModel))
    assert not problems
    assert dumped(node) == document
