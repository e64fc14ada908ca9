"""A reference document in a folder, and the bytes of the file that it refers to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from omnizarr.store import ReferenceStore

DATA = bytes(range(256)) * 4


def reference_store(folder: Path, document: Any, **options: Any) -> ReferenceStore:
    (folder / "refs.json").write_text(json.dumps(document))
    return ReferenceStore(folder / "refs.json", **options)
