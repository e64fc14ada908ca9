"""Chunk keys of both drafts, as users give them (S22, T10)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.formats.draft.documents import both, keys

import omnizarr
from omnizarr.errors import ArgumentError


@both
@pytest.mark.parametrize(
    "encoding",
    [
        {"name": "v2", "configuration": {"separator": "/"}},
        {"name": "default", "configuration": {"separator": "/"}},
        {"name": "suffix", "separator": "."},
        {"separator": "-"},
        {"configuration": 1},
        "v2",
        5,
    ],
)
def test_S22_other_chunk_key_encodings_are_rejected(draft: Any, encoding: Any) -> None:
    """The name of an encoding was ignored, so that chunks lay under other keys than the user asked for."""
    with pytest.raises(ArgumentError, match="chunk_key_encoding"):
        omnizarr.create_array(shape=3, dtype="i4", zarr_format=draft, chunk_key_encoding=encoding)


@both
@pytest.mark.parametrize("encoding", [".", {"separator": "."}, {"name": "draft", "configuration": {"separator": "."}}])
def test_S22_chunk_key_encodings_of_the_drafts(draft: Any, encoding: Any) -> None:
    z = omnizarr.create_array(
        shape=(3, 3), chunks=2, dtype="i4", fill_value=1, zarr_format=draft, chunk_key_encoding=encoding
    )
    z[...] = 2
    assert [key for key in keys(z.store) if key.endswith("c1.0")] != []  # type: ignore[arg-type]
