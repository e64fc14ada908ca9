"""The fixture `folder`, with a file that references point to."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.store.references.reference_files import DATA


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "x.bin").write_bytes(DATA)
    return tmp_path
