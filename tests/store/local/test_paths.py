"""Which keys the kernel may open without a check in Python: those that lead downwards and that no rule reserves."""

from __future__ import annotations

import os

import pytest

from omnizarr.store.local.paths import is_usual


@pytest.mark.skipif(os.name == "nt", reason="on Windows every key is checked")
def test_usual_keys() -> None:
    usual = ("array/c/0", "a", "c/0/0", "0.0", "a b/c/0", "a/b.c/0", "x~/c.d.")
    assert [key for key in usual if not is_usual(key)] == []
    odd = (
        "",
        ".a",
        "a/.b",
        "/a",
        "a//b",
        "a/",
        "ä/c",
        "a\0b",
        "a\n",
        ".",
        "..",
        "a/..",
        "a/../b",
        "../a",
        "a/.",
        "\x7f",
    )
    assert [key for key in odd if is_usual(key)] == []
