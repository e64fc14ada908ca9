"""`group`, `create_group` and `tree`."""

from __future__ import annotations

from pathlib import Path

import pytest

import omnizarr
from omnizarr.errors import NodeExistsError


def test_group_opens_or_creates() -> None:
    store = omnizarr.MemoryStore()
    omnizarr.group(store, attributes={"a": 1})
    assert omnizarr.group(store).attrs == {"a": 1}
    assert omnizarr.group(store, overwrite=True).attrs == {}
    assert omnizarr.group(store, path="x/y").path == "x/y"
    assert omnizarr.group().path == ""


def test_create_group() -> None:
    store = omnizarr.MemoryStore()
    assert omnizarr.create_group(store, path="a/b", attributes={"x": 1}).attrs == {"x": 1}
    with pytest.raises(NodeExistsError):
        omnizarr.create_group(store)
    assert omnizarr.create_group(store, overwrite=True).nmembers() == 0


def test_tree_of_a_location(tmp_path: Path) -> None:
    omnizarr.save(tmp_path, a=[1], b=[[2.5]])
    assert str(omnizarr.tree(tmp_path)) == "/\n├── a (1,) int64\n└── b (1, 1) float64"
    assert str(omnizarr.tree(tmp_path, path="a")) == "a (1,) int64"
    assert str(omnizarr.tree(tmp_path, level=0)) == "/"
