"""Clean-up when objects are deleted."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from omnizarr.store.finalizers import close_on_deletion, closing


class Owner:
    pass


@pytest.fixture
def ignored(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The errors that Python prints and ignores."""
    errors: list[Any] = []
    add: Callable[[Any], None] = errors.append
    monkeypatch.setattr(sys, "unraisablehook", add)
    return errors


def test_files_are_closed_when_their_owner_is_deleted(tmp_path: Path, ignored: list[Any]) -> None:
    descriptors: list[int] = []
    owner = Owner()
    close_on_deletion(owner, closing(descriptors))
    descriptors += [os.open(tmp_path, os.O_RDONLY) for _ in range(3)]
    opened = descriptors.copy()
    del owner
    for file in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(file)
    assert ignored == []


def test_a_file_that_cannot_be_closed_does_not_skip_the_other_steps(tmp_path: Path, ignored: list[Any]) -> None:
    file, other = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    os.close(file)
    done: list[str] = []
    owner = Owner()
    close_on_deletion(owner, closing([file, other]), (done.append, ("next step",)))
    del owner
    assert (done, ignored) == (["next step"], [])
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(other)
