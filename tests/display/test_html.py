"""The HTML of nodes: complete, escaped, balanced, and made without requests."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.testing import RecordingStore

VOID = {"line", "polygon", "br", "hr"}


class Balance(HTMLParser):
    """Checks that every element ends, and collects the texts and the elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.elements: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        assert self.opened == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append(tag)
        if tag not in VOID:
            self.opened.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.elements.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.opened and self.opened[-1] != "style":
            self.texts.append(data)


OPTIONS: dict[str, dict[str, Any]] = {
    "scalar": {"shape": ()},
    "empty": {"shape": (0, 3)},
    "line": {"shape": 100, "chunks": 7},
    "plane": {"shape": (100, 1), "chunks": (7, 1)},
    "box": {"shape": (4, 5, 6), "chunks": (2, 5, 3), "dimension_names": ["t", None, "x"]},
    "five": {"shape": (2, 3, 4, 5, 6), "chunks": (1, 1, 1, 1, 6)},
    "shards": {"shape": (40, 40), "chunks": (5, 5), "shards": (20, 10)},
    "tiny": {"shape": (10**6, 10**6), "chunks": (1, 1), "shards": (1000, 1000)},
    "rectilinear": {"shape": (10, 6), "chunks": ((1, 2, 7), (6,))},
    "huge": {"shape": (2**60, 2), "chunks": (1, 1)},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_array(name: str) -> None:
    z = omnizarr.create_array({}, dtype="f4", attributes={"units": "K"}, **OPTIONS[name])
    page = Balance(z._repr_html_())
    assert ("svg" in page.elements) == (name not in ("scalar", "empty"))
    assert len(page.elements) < 400
    assert {"float32", "units", "K"} <= set(page.texts)


def test_the_lines_of_a_drawing_are_the_boundaries_of_chunks() -> None:
    z = omnizarr.create_array({}, shape=(4, 6), chunks=(1, 2), dtype="f4")
    assert Balance(z._repr_html_()).elements.count("line") == 3 + 2
    z = omnizarr.create_array({}, shape=(40, 40), chunks=(5, 10), shards=(20, 20), dtype="f4")
    assert Balance(z._repr_html_()).elements.count("line") == 1 + 1 + 4 + 2  # the inner chunks of the first shard


@pytest.mark.parametrize("zarr_format", [1, 2, "3-draft-2020", "3-draft-2022", 3, "n5"])
def test_all_generations(zarr_format: Any) -> None:
    z = omnizarr.create_array({}, shape=(4, 6), chunks=(1, 2), dtype="f4", zarr_format=zarr_format)
    assert "svg" in Balance(z._repr_html_()).elements


def test_the_fill_value_of_text_is_quoted() -> None:
    html = omnizarr.create_array({}, data=np.array(["a", "bc"]))._repr_html_()
    assert "&#x27;&#x27;" in html
    assert "np." not in html


def test_texts_of_a_file_are_escaped() -> None:
    hostile = "<script>alert(1)</script>&\ud800"
    group = omnizarr.create_group({}, attributes={"<b>": hostile.replace("\ud800", ""), "list": ["<i>"]})
    group.create_array("<u>", shape=2, dtype="u1", attributes={"<b>": "<i>"}, dimension_names=["<s>"])
    for shown in (group, group["<u>"], group.tree()):
        page = shown._repr_html_()
        assert not {"script", "b><", "i", "u", "s"} & set(Balance(page).elements)
        assert "<script" not in page
        page.encode()


HOSTILE = "\x1b[31m<b>\ud800"


def hostile_group() -> omnizarr.Group:
    """A group whose names hold control characters, lone surrogates, or very many characters."""
    attributes = json.dumps({HOSTILE: HOSTILE})
    array = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4, 6],
        "data_type": "uint8",
        "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
        "codecs": [{"name": "bytes"}],
        "chunk_key_encoding": {"name": "default"},
        "dimension_names": [HOSTILE, "y" * 100_000],
    }
    store = omnizarr.MemoryStore()
    for name in ("", "\x1b[31m<b>/"):
        document = f'{{"zarr_format": 3, "node_type": "group", "attributes": {attributes}}}'
        store.set(f"{name}zarr.json", document.encode())
    store.set("array/zarr.json", json.dumps(array).encode())
    store.set("bad/zarr.json", json.dumps(array | {"data_type": HOSTILE}).encode())
    return omnizarr.open_group(store)


def test_html_of_hostile_names_can_be_encoded_and_is_short() -> None:
    group = hostile_group()
    for shown in (group, group["array"], group.tree()):
        page = shown._repr_html_()
        page.encode()
        assert Balance(page).elements.count("b") == 1  # that of the heading
        assert len(page) < 10_000


def test_texts_of_hostile_names_have_no_control_characters() -> None:
    group = hostile_group()
    nodes = [node for _, node in group.members()]
    assert len(nodes) == 3
    for text in (str(group.tree()), str(group.info), *map(repr, nodes), str(group["array"].info)):
        text.encode()
        assert "\x1b" not in text
    assert "\\x1b[31m<b>\n" in f"{group.tree()}\n"


def test_a_group_shows_only_what_is_known() -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    group = omnizarr.create_group(store)
    group.create_array("a/b", shape=3, dtype="u1")
    group.create_array("c", shape=4, dtype="u1")
    omnizarr.consolidate_metadata(store)
    plain = omnizarr.open_group(store, use_consolidated=False)
    consolidated = omnizarr.open_group(store, mode="r", use_consolidated=True)
    array = consolidated["c"]
    store.calls.clear()
    assert "group.tree()" in Balance(plain._repr_html_()).texts
    assert {"a", "b", "c", "(3,) uint8"} <= set(Balance(consolidated._repr_html_()).texts)
    assert plain.__rich__() is not None
    assert consolidated.__rich__() is not None
    assert str(plain.info)
    assert array._repr_html_()
    assert array.__rich__() is not None
    assert not store.calls


def test_a_tree_nests_and_is_cut_off() -> None:
    group = omnizarr.create_group({})
    group.create_array("a/b/c", shape=3, dtype="u1")
    group.create_group("d")
    group.create_array("e", shape=3, dtype="u1")
    page = Balance(group.tree()._repr_html_())
    assert page.elements.count("details") == 3
    for number in range(300):
        group.create_group(f"g{number}")
    page = Balance(group.tree()._repr_html_())
    assert page.texts[-1] == "… and 105 more"


def test_an_unreadable_member() -> None:
    store = omnizarr.MemoryStore()
    group = omnizarr.create_group(store)
    store.set("a/zarr.json", b'{"zarr_format": 3, "node_type": "array"}')
    assert any("missing" in text for text in Balance(group.tree()._repr_html_()).texts)
