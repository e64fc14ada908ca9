"""`zarrs.vlen`: configurations, and damaged chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omnizarr._json import Problems
from omnizarr.codecs import Bytes, ChunkSpec, Gzip
from omnizarr.codecs.parsing import parse_codec
from omnizarr.codecs.zarrs_.vlen import BoundOffsetVlen, OffsetVlen
from omnizarr.config import config
from omnizarr.errors import CodecError

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
VALID: dict[str, Any] = {"data_codecs": [{"name": "bytes"}], "index_codecs": [LITTLE], "index_data_type": "uint32"}


def bound(codec: OffsetVlen, dtype: Any = "O", shape: tuple[int, ...] = (3,)) -> BoundOffsetVlen:
    problems = Problems()
    result = codec.bind(ChunkSpec(shape, np.dtype(dtype), np.zeros((), dtype)), "$", problems)
    assert result is not None, problems.found
    return result


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"data_codecs": []}, "data_codecs"),
        ({"index_codecs": None}, "index_codecs"),
        ({"index_data_type": "int32"}, "index_data_type"),
        ({"index_data_type": []}, "index_data_type"),
        ({"index_location": "middle"}, "index_location"),
        ({"other": 1}, "other"),
    ],
)
def test_invalid_configurations(changes: dict[str, Any], place: str) -> None:
    problems = Problems()
    assert parse_codec({"name": "zarrs.vlen", "configuration": VALID | changes}, "$", problems) is None
    assert [problem.path for problem in problems.found] == [f"$.configuration.{place}"]


def test_the_document_is_kept() -> None:
    problems = Problems()
    codec = parse_codec({"name": "zarrs.vlen", "configuration": VALID}, "$", problems)
    assert codec is not None
    assert codec.to_json() == {"name": "zarrs.vlen", "configuration": VALID | {"index_location": "start"}}


def test_other_data_types_are_rejected() -> None:
    codec, problems = OffsetVlen((Bytes(),), (Bytes("little"),), "uint32"), Problems()
    assert codec.bind(ChunkSpec((3,), np.dtype("i4"), np.zeros((), "i4")), "$", problems) is None
    assert "expected data type `string` or `bytes`, found int32" in problems.found[0].message


def chunk(index: list[int], data: bytes) -> bytes:
    offsets = np.array(index, "<u4").tobytes()
    return len(offsets).to_bytes(8, "little") + offsets + data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 7,
        b"\xff" * 8,
        chunk([0, 1, 2, 3], b"abc")[:-1],
        chunk([0, 1, 2, 3], b"abcd"),
        chunk([0, 1, 2], b"ab"),
        chunk([1, 1, 2, 3], b"abc"),
        chunk([0, 2, 1, 3], b"abc"),
        chunk([0, 0, 0, 0], b"a"),
        chunk([0, 1, 2, 2**32 - 1], b"abc"),
    ],
)
def test_damaged_chunks(data: bytes) -> None:
    codec = bound(OffsetVlen((Bytes(),), (Bytes("little"),), "uint32"))
    with pytest.raises(CodecError):
        codec.decode(data)


def test_text_that_is_not_utf8() -> None:
    codec = bound(OffsetVlen((Bytes(),), (Bytes("little"),), "uint32"), np.dtypes.StringDType())
    with pytest.raises(CodecError, match="utf-8"):
        codec.decode(chunk([0, 1, 2, 3], b"a\xff\xff"))


def test_sizes_are_limited() -> None:
    with config(max_chunk_bytes=100):
        codec = bound(OffsetVlen((Bytes(), Gzip()), (Bytes("little"),), "uint32"))
        with pytest.raises(CodecError, match="more than the limit"):
            codec.encode(np.array([b"a" * 200, b"", b""], object))
        with pytest.raises(CodecError, match="more than the limit"):
            codec.decode(chunk([0, 0, 0, 10**9], b""))
    with pytest.raises(CodecError, match="expected elements of type bytes, found int"):
        codec.encode(np.array([1, b"", b""], object))
