"""ZIP archives of the module `zipfile`, and programs in other processes, for the tests of ZipStore."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def entry_names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return sorted(archive.namelist())


def write_archive(path: Path, values: Mapping[str, bytes], **options: Any) -> Path:
    with zipfile.ZipFile(path, "w", **options) as archive:
        for key, value in values.items():
            archive.writestr(key, value)
    return path


VALUES = {"zarr.json": b"{}", "c/0": bytes(1000), "c/1": os.urandom(100_000), "ä/日本": b"x", "empty": b""}


def run_python(code: str, *arguments: object, expect: int = 0) -> str:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == expect, result.stderr
    return result.stdout
