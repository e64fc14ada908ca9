"""Error messages about invalid documents."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.formats.documents import LITTLE, array_document

import omnizarr
from omnizarr.errors import MetadataError, NodeNotFoundError


def put(folder: Path, path: str, document: Any) -> None:
    (folder / path).mkdir(parents=True)
    (folder / path / "zarr.json").write_text(json.dumps(document))


def test_a_message_has_the_location_every_problem_and_a_hint(tmp_path: Path) -> None:
    document = array_document(
        codecs=[LITTLE, {"name": "gzip", "configuration": {"level": 12}}],
        chunk_grid={"name": "reguler", "configuration": {"chunk_shape": [4, 3]}},
    )
    put(tmp_path / "data.zarr", "temps/daily", document)
    with pytest.raises(MetadataError) as caught:
        omnizarr.open(tmp_path / "data.zarr", path="temps/daily", mode="r")
    text = str(caught.value).replace(f"{tmp_path}{os.sep}", "")
    assert text == (
        "cannot open array `temps/daily` in LocalStore(data.zarr): 2 problems in `zarr.json`\n"
        "  $.chunk_grid.name: unknown chunk grid `reguler`\n"
        "  $.codecs[1].configuration.level: expected an integer from 0 to 9, found 12\n"
        "\n"
        "hint: did you mean `regular`?"
    )
    assert caught.value.path == "temps/daily"  # type: ignore[attr-defined]
    assert len(caught.value.problems) == 2


def test_a_message_with_one_problem(tmp_path: Path) -> None:
    put(tmp_path, "a", array_document("shape"))
    with pytest.raises(
        MetadataError, match=r"cannot open array `a` in .*: 1 problem in `zarr.json`\n  \$.shape: is missing"
    ):
        omnizarr.open(tmp_path, path="a")


def test_a_document_that_is_not_json_is_named() -> None:
    store = omnizarr.MemoryStore()
    store.set("a/zarr.json", b"{")
    with pytest.raises(MetadataError, match="the document `a/zarr.json` in MemoryStore.* is not valid JSON"):
        omnizarr.open(store, path="a")


def test_a_hierarchy_of_a_draft_below_the_root_has_a_hint() -> None:
    store = omnizarr.MemoryStore()
    store.set("a/zarr.json", b'{"zarr_format": "https://purl.org/zarr/spec/protocol/core/3.0"}')
    with pytest.raises(MetadataError, match="draft") as caught:
        omnizarr.open(store, path="a")
    assert "store of its own" in (caught.value.hint or "")


def test_a_missing_node_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NodeNotFoundError, match="there is no Zarr array or group at `a/b` in LocalStore") as caught:
        omnizarr.open(tmp_path, path="a/b", mode="r")
    assert caught.value.path == "a/b"
    assert caught.value.hint is None
