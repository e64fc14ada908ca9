"""Paths of nodes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnizarr.errors import ArgumentError
from omnizarr.model import join_path, normal_path, parent_path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (None, ""),
        ("", ""),
        ("/", ""),
        ("a", "a"),
        ("/a/", "a"),
        ("a//b", "a/b"),
        ("///a///b///", "a/b"),
        ("a b/é", "a b/é"),
    ],
)
def test_R6_one_normal_form(path: str | None, expected: str) -> None:
    assert normal_path(path) == expected


@pytest.mark.parametrize("path", [".", "..", "a/..", "./a", "a\0b", "a/\ud800", 3, b"a", ["a"]])
def test_invalid_paths_are_rejected(path: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        normal_path(path, "name")
    assert caught.value.argument == "name"


def test_joining_and_parents() -> None:
    assert join_path("", "a") == join_path("a", "") == "a"
    assert join_path("a", "b/c") == "a/b/c"
    assert (parent_path("a/b/c"), parent_path("a"), parent_path("")) == ("a/b", "", "")


@given(st.lists(st.text("ab.é", min_size=1).filter(lambda name: name.strip(".")), min_size=1))
def test_a_path_consists_of_its_parent_and_its_name(names: list[str]) -> None:
    path = normal_path("/".join(names))
    assert path == "/".join(names)
    assert join_path(parent_path(path), names[-1]) == path
