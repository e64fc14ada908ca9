"""`zarrs.vlen`: elements of variable length as one sequence of bytes and an index of offsets, each with codecs of its
own.

A chunk consists of the encoded bytes of all elements, the encoded index and the length of the latter in 8 bytes,
little-endian; with `index_location` `start`, of length, index and bytes. The index has one offset more than there are
elements. Without any bytes, no codec encodes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems
from omnizarr.codecs.chain import Chain
from omnizarr.codecs.contract import (
    BoundSerializer,
    Buffer,
    ByteSpec,
    ChunkSpec,
    Codec,
    Serializer,
    check_size,
    with_slack,
)
from omnizarr.codecs.parsing import parse_codecs
from omnizarr.config import config
from omnizarr.errors import CodecError

__all__ = ["BoundOffsetVlen", "OffsetVlen"]

_LENGTH_SIZE = 8  # bytes
_TYPES: dict[str, np.dtype[Any]] = {"uint32": np.dtype("u4"), "uint64": np.dtype("u8")}
_MEMBERS = ("data_codecs", "index_codecs", "index_data_type", "index_location")


@dataclass(frozen=True, slots=True)
class OffsetVlen(Serializer):
    """`{"name": "zarrs.vlen", "configuration": {"data_codecs": […], "index_codecs": […], "index_data_type": "uint32",
    "index_location": "start"}}`, for `string` and `bytes`."""

    name: ClassVar[str] = "zarrs.vlen"
    only_decodes: ClassVar[str | None] = "only zarrs reads it; use `vlen-utf8` or `vlen-bytes`"
    data_codecs: tuple[Codec, ...]
    index_codecs: tuple[Codec, ...]
    index_data_type: Literal["uint32", "uint64"]
    index_location: Literal["start", "end"] = "start"

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> OffsetVlen | None:
        before = len(problems.found)
        where = f"{path}.configuration"
        check_members(configuration, _MEMBERS, where, problems)
        data = parse_codecs(configuration.get("data_codecs"), f"{where}.data_codecs", problems)
        index = parse_codecs(configuration.get("index_codecs"), f"{where}.index_codecs", problems)
        kind: Any = configuration.get("index_data_type")
        if not isinstance(kind, str) or kind not in _TYPES:
            problems.expected(f"{where}.index_data_type", "`uint32` or `uint64`", kind)
        location = configuration.get("index_location", "start")
        if location not in ("start", "end"):
            problems.expected(f"{where}.index_location", "`start` or `end`", location)
        return cls(data, index, kind, location) if len(problems.found) == before else None

    def configuration(self) -> dict[str, Json]:
        return {
            "data_codecs": [codec.to_json() for codec in self.data_codecs],
            "index_codecs": [codec.to_json() for codec in self.index_codecs],
            "index_data_type": self.index_data_type,
            "index_location": self.index_location,
        }

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundOffsetVlen | None:
        if spec.dtype.kind not in "TO":
            problems.add(path, f"codec `{self.name}`: expected data type `string` or `bytes`, found {spec.dtype}")
            return None
        where = f"{path}.configuration"
        dtype = _TYPES[self.index_data_type]
        offsets = ChunkSpec((prod(spec.shape) + 1,), dtype, np.zeros((), dtype))
        index = Chain.bind(self.index_codecs, offsets, f"{where}.index_codecs", problems)
        data = _bind_data(self.data_codecs, 1, f"{where}.data_codecs", problems)
        return None if index is None or data is None else BoundOffsetVlen(spec, self, index)


def _bind_data(codecs: tuple[Codec, ...], size: int, path: str, problems: Problems) -> Chain | None:
    return Chain.bind(codecs, ChunkSpec((size,), np.dtype(np.uint8), np.zeros((), np.uint8)), path, problems)


class BoundOffsetVlen(BoundSerializer):
    """A bound `OffsetVlen`."""

    __slots__ = ("_codec", "_index", "_spec", "encoded", "peak")

    def __init__(self, spec: ChunkSpec, codec: OffsetVlen, index: Chain) -> None:
        self._spec = spec
        self._codec = codec
        self._index = index
        self.peak = index.peak
        # The metadata does not limit the length of elements, so only the general limit for chunks applies.
        self.encoded = ByteSpec(size=None, limit=config.current.max_chunk_bytes)

    def _data_chain(self, size: int) -> Chain:
        problems = Problems()
        chain = _bind_data(self._codec.data_codecs, size, "$", problems)
        if chain is None:
            raise CodecError(self._codec.name, f"{size} bytes: {problems.found[0].message}")
        if chain.peak > with_slack(self.encoded.limit):
            raise CodecError(
                self._codec.name, f"the elements have {chain.peak} bytes between codecs, more than the limit of a chunk"
            )
        return chain

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        text = self._spec.dtype.kind == "T"
        items = [item.encode() if text else item for item in np.asarray(array, order="C").reshape(-1).tolist()]
        for item in items:
            if type(item) is not bytes:
                raise CodecError(self._codec.name, f"expected elements of type bytes, found {type(item).__name__}")
        joined = b"".join(items)
        dtype = self._index.spec.dtype
        if len(joined) > min(self.encoded.limit, int(np.iinfo(dtype).max)):
            raise CodecError(self._codec.name, f"the elements of a chunk have {len(joined)} bytes, more than the limit")
        offsets = np.zeros(len(items) + 1, dtype)
        np.cumsum([len(item) for item in items], out=offsets[1:])
        index = bytes(self._index.encode(offsets))
        data = bytes(self._data_chain(len(joined)).encode(np.frombuffer(joined, np.uint8))) if joined else b""
        size = len(index).to_bytes(_LENGTH_SIZE, "little")
        return size + index + data if self._codec.index_location == "start" else data + index + size

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        name = self._codec.name
        check_size(name, self.encoded, len(data))
        view = memoryview(data)
        at_start = self._codec.index_location == "start"
        size = int.from_bytes(view[:_LENGTH_SIZE] if at_start else view[-_LENGTH_SIZE:], "little")
        if len(view) < _LENGTH_SIZE or size > len(view) - _LENGTH_SIZE:
            raise CodecError(name, f"the index has {size} bytes, more than the chunk, which has {len(view)}")
        body = view[_LENGTH_SIZE:] if at_start else view[:-_LENGTH_SIZE]
        split = size if at_start else len(body) - size
        first, second = body[:split], body[split:]
        index, encoded = (first, second) if at_start else (second, first)
        offsets = self._index.decode(index).tolist()
        if offsets[0] != 0 or any(end < start for start, end in pairwise(offsets)):
            raise CodecError(name, "expected offsets that begin with 0 and never fall")
        joined = self._decode_data(encoded, offsets[-1])
        return self._split(joined, offsets)

    def _decode_data(self, encoded: Buffer, size: int) -> bytes:
        if size > self.encoded.limit:
            raise CodecError(self._codec.name, f"the elements have {size} bytes, more than the limit of a chunk")
        if size:
            return self._data_chain(size).decode(encoded).tobytes()
        if len(encoded):
            raise CodecError(self._codec.name, f"expected no bytes of elements, found {len(encoded)}")
        return b""

    def _split(self, joined: bytes, offsets: list[int]) -> npt.NDArray[Any]:
        items: list[Any] = [joined[start:end] for start, end in pairwise(offsets)]
        if self._spec.dtype.kind == "T":
            try:
                items = [item.decode() for item in items]
            except UnicodeDecodeError as error:
                raise CodecError(self._codec.name, str(error)) from None
        array = np.empty(len(items), self._spec.dtype)
        array[:] = items
        return array.reshape(self._spec.shape)
