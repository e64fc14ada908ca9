"""Loads the corpus `tests/corpora/draft-2022` without any reader of the format.

`valid_names` names the hierarchies, `load` returns the keys and values of one, and `expected` its content.
`cases("invalid")` are hierarchies that must be rejected, and `cases("open")` those that the specification leaves open.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PLACE = Path(__file__).resolve().parents[1] / "corpora" / "draft-2022"


@dataclass(frozen=True)
class Case:
    """A tiny hierarchy, and the expected outcome."""

    name: str
    section: str  # the title in the specification
    what: str  # what is wrong, or undecided
    path: str | None  # the array that shows it; None if opening the hierarchy and all nodes is enough
    stage: str  # "open": the documents already show it; "read": only the chunks do
    outcome: str  # "fail" or "read"; for open cases the choice of the oracle
    store: dict[str, bytes]
    elements: np.ndarray[Any, Any] | None  # the expected elements, if any


def valid_names() -> list[str]:
    return sorted(entry.stem for entry in (PLACE / "valid").iterdir())


def load(name: str) -> dict[str, bytes]:
    """The keys and values of a hierarchy, which is stored as a folder or as one file."""
    folder = PLACE / "valid" / name
    if folder.is_dir():
        files = (file for file in sorted(folder.rglob("*")) if file.is_file())
        return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}
    return unpack(json.loads((PLACE / "valid" / f"{name}.json").read_text("utf-8")))


def expected(name: str) -> dict[str, dict[str, Any]]:
    """The nodes of a hierarchy by path. The `dtype`, `fill_element` and `elements` of arrays are converted to NumPy.

    `elements` is None if the array is too large for a quick test.
    """
    nodes: dict[str, dict[str, Any]] = json.loads((PLACE / "expected" / f"{name}.json").read_text("utf-8"))
    for node in nodes.values():
        if node["kind"] == "array":
            node["elements"] = elements(node)
            node["dtype"] = numpy_type(node["dtype"])
            node["fill_element"] = np.frombuffer(base64.b64decode(node["fill_element"]), node["dtype"]).reshape(())
    return nodes


def cases(name: str) -> list[Case]:
    """The cases of `invalid` or `open`."""
    found = json.loads((PLACE / f"{name}.json").read_text("utf-8"))
    return [
        Case(
            name=case["name"],
            section=case["section"],
            what=case["what"],
            path=case["path"],
            stage=case["stage"],
            outcome=case["outcome"],
            store=unpack(case["store"]),
            elements=elements(case["result"]) if "result" in case else None,
        )
        for case in found
    ]


def unpack(stored: dict[str, Any]) -> dict[str, bytes]:
    """A store in one JSON value: documents as they are, texts that are not JSON as texts, chunks in base64."""
    store = {key: json.dumps(document).encode() for key, document in stored.get("documents", {}).items()}
    store |= {key: text.encode() for key, text in stored.get("texts", {}).items()}
    store |= {key: base64.b64decode(data) for key, data in stored.get("base64", {}).items()}
    return store


def elements(node: dict[str, Any]) -> np.ndarray[Any, Any] | None:
    if node["elements"] is None:
        return None
    data = base64.b64decode(node["elements"])
    return np.frombuffer(data, dtype=numpy_type(node["dtype"])).reshape(node["shape"])


def numpy_type(text: Any) -> np.dtype[Any]:
    return np.dtype(text if isinstance(text, str) else [tuple(field) for field in text])
