"""What type checkers see of the public interface. mypy checks this file (`make check`), and pytest runs it.

An `ignore` comment states that the line is an error; mypy reports one that is not needed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import pytest

import omnizarr
from omnizarr.errors import NodeNotFoundError, NodeTypeError


@pytest.fixture
def group(tmp_path: Path) -> omnizarr.Group:
    group = omnizarr.create_group(tmp_path / "g")
    group.create_array("a", data=np.arange(6).reshape(2, 3))
    group.create_group("b").create_array("c", data=[1.5])
    return group


def test_opening(group: omnizarr.Group) -> None:
    assert_type(omnizarr.open_group(group.store), omnizarr.Group)
    assert_type(omnizarr.open_array(group.store, path="a"), omnizarr.Array)
    assert_type(omnizarr.open(group.store), omnizarr.Array | omnizarr.Group)
    assert_type(omnizarr.create_array(shape=3, dtype="i4"), omnizarr.Array)
    assert_type(omnizarr.create_group(), omnizarr.Group)


def test_members(group: omnizarr.Group) -> None:
    assert_type(group["a"], omnizarr.Array | omnizarr.Group)
    assert_type(group.get_array("a"), omnizarr.Array)
    assert_type(group.get_group("b"), omnizarr.Group)
    assert_type(group.get_group("b").get_array("c"), omnizarr.Array)
    assert_type(group.require_group("b"), omnizarr.Group)
    assert_type(group.require_array("a"), omnizarr.Array)
    assert_type(dict(group.arrays()), dict[str, omnizarr.Array])
    assert_type(group.keys(), tuple[str, ...])
    assert_type(list(group), list[str])
    for name, member in group.items():
        assert_type(name, str)
        assert_type(member, omnizarr.Array | omnizarr.Group | omnizarr.UnreadableNode)
    node = group["b"]
    if isinstance(node, omnizarr.Group):
        assert_type(node, omnizarr.Group)
    with pytest.raises(NodeTypeError, match="`b` in .* is a group, not an array"):
        group.get_array("b")
    with pytest.raises(NodeTypeError, match="`a` in .* is an array, not a group"):
        group.get_group("a")
    with pytest.raises(NodeNotFoundError):
        group.get_array("nothing")


def test_arrays(group: omnizarr.Group) -> None:
    z = group.get_array("a")
    assert_type(z.shape, tuple[int, ...])
    assert_type(z.dtype, np.dtype[Any])
    assert_type(z.read(), npt.NDArray[Any])
    assert_type(np.asarray(z), npt.NDArray[Any])
    assert_type(z.T, npt.NDArray[Any])
    assert_type(float(z[0, 0]), float)
    assert_type(z.lazy, omnizarr.LazyView)
    assert_type(z.lazy[0].read(), npt.NDArray[Any])
    assert_type(omnizarr.concat([z, z]), omnizarr.LazyView)
    assert_type(z.append([[1, 2, 3]]), tuple[int, ...])
    assert_type(omnizarr.config.threads, int)


def test_mistakes_are_errors_for_type_checkers(group: omnizarr.Group) -> None:
    z = group.get_array("a")
    mistakes: tuple[Callable[[], object], ...] = (
        lambda: z.meen,  # type: ignore[attr-defined]
        lambda: omnizarr.opne,  # type: ignore[attr-defined]
        lambda: omnizarr.create_array(shape=3, chuks=2),  # type: ignore[call-arg]
        lambda: omnizarr.open_array(group.store, mode="x"),  # type: ignore[arg-type]
        lambda: group["b"][:3],  # type: ignore[index]
    )
    for mistake in mistakes:
        with pytest.raises((AttributeError, ValueError)):
            mistake()
