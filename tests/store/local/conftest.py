"""The fixture `store`, a LocalStore in a temporary directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnizarr.store import LocalStore


@pytest.fixture
def store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "root")
