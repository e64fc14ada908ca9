"""The documents of an array of N5, for libraries that open it to write the elements."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["write_n5_documents"]


def write_n5_documents(path: Path, array_path: str, document: dict[str, Any]) -> None:
    """Writes the document of the array, and that of the root, which has the version."""
    place = path / array_path
    place.mkdir(parents=True, exist_ok=True)
    root = path / "attributes.json"
    if not root.exists():
        root.write_text('{"n5": "2.0.0"}')
    members = {**json.loads((place / "attributes.json").read_text()), **document} if not array_path else document
    (place / "attributes.json").write_text(json.dumps(members))
