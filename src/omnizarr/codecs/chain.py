"""The codecs of an array, bound together: from a chunk to its stored bytes and back (R78–R80)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from omnizarr._json import Problems
from omnizarr.codecs.contract import (
    ArrayCodec,
    BoundArrayCodec,
    BoundBytesCodec,
    BoundSerializer,
    Buffer,
    BytesCodec,
    ByteSpec,
    ChunkSpec,
    Codec,
    Serializer,
)

__all__ = ["Chain"]

_COPIED = 5000  # bytes in a microsecond


class Chain:
    """Codecs that know what they will meet, in the order in which they encode."""

    __slots__ = ("_bytes", "arrays", "direct", "encoded", "serializer", "spec")

    def __init__(
        self,
        spec: ChunkSpec,
        arrays: Sequence[BoundArrayCodec],
        serializer: BoundSerializer,
        bytes: Sequence[BoundBytesCodec],
    ) -> None:
        self.spec = spec
        self.arrays = tuple(arrays)
        self.serializer = serializer
        self._bytes = tuple(bytes)
        self.encoded: ByteSpec = bytes[-1].encoded if bytes else serializer.encoded
        self.direct = serializer.plain and not arrays
        """Whether a decoded chunk is nothing but the bytes that the last decoding step gives."""

    @property
    def microseconds(self) -> float:
        """How long it takes to decode a chunk, roughly, beside what every chunk costs."""
        size = min(self.spec.nbytes, 2**62)  # a document may state sizes that no float holds
        return size * sum(1 / step.pace for step in self._bytes) + size / _COPIED

    @property
    def compressed(self) -> bool:
        """Whether there is any bytes → bytes codec."""
        return bool(self._bytes)

    @classmethod
    def bind(cls, codecs: Sequence[Codec], spec: ChunkSpec, path: str, problems: Problems) -> Chain | None:
        """Binds codecs to the chunks they will meet; `path` is that of their list. None if there are problems."""
        before = len(problems.found)
        _check_order(codecs, path, problems)
        if len(problems.found) > before:
            return None
        arrays: list[BoundArrayCodec] = []
        serializer: BoundSerializer | None = None
        steps: list[BoundBytesCodec] = []
        now, flow = spec, None
        for index, codec in enumerate(codecs):
            where = f"{path}[{index}]"
            bound: BoundArrayCodec | BoundSerializer | BoundBytesCodec | None
            if isinstance(codec, ArrayCodec):
                bound = codec.bind(now, where, problems)
                if bound is None:
                    return None
                arrays.append(bound)
                now = bound.encoded
            elif isinstance(codec, Serializer):
                serializer = codec.bind(now, where, problems)
                if serializer is None:
                    return None
                flow = serializer.encoded
            elif isinstance(codec, BytesCodec):
                assert flow is not None
                bound = codec.bind(flow, where, problems)
                if bound is None:
                    return None
                steps.append(bound)
                flow = bound.encoded
        assert serializer is not None
        return cls(spec, arrays, serializer, steps)

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        """A chunk as it is stored."""
        for codec in self.arrays:
            array = codec.encode(array)
        data = self.serializer.encode(array)
        for step in self._bytes:
            data = step.encode(data)
        return data

    def decode(self, data: Buffer, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """A stored chunk. It may come back in `out` (contiguous, of the chunk's shape and type), as a view of `data`,
        or as a new array; whoever wants to change it copies it, unless it is `out`."""
        if out is not None and self.direct and self._bytes:
            self.decode_into(data, out, out.reshape(-1).view("u1").data)
            return out
        for step in self._bytes[::-1]:
            data = step.decode(data)
        array = self.serializer.decode(data)
        for codec in self.arrays[::-1]:
            array = codec.decode(array)
        return array

    def decode_into(self, data: Buffer, out: npt.NDArray[Any], memory: memoryview) -> None:
        """The same for a chain that is `direct`: the chunk comes to lie in `out`, whose bytes `memory` are."""
        steps = self._bytes
        for step in steps[:0:-1]:
            data = step.decode(data)
        decoded = steps[0].decode(data, memory) if steps else data
        if decoded is not memory:
            out[...] = self.serializer.decode(decoded)


def _check_order(codecs: Sequence[Codec], path: str, problems: Problems) -> None:
    """array → array codecs first, then exactly one array → bytes codec, then bytes → bytes codecs (R18, R78)."""
    serializers = [index for index, codec in enumerate(codecs) if isinstance(codec, Serializer)]
    if len(serializers) != 1:
        found = ", ".join(f"`{codecs[index].name}`" for index in serializers) or "none"
        problems.add(path, f"expected exactly one array → bytes codec, found {found}")
        return
    for index, codec in enumerate(codecs):
        if isinstance(codec, ArrayCodec) and index > serializers[0]:
            problems.add(
                f"{path}[{index}]", f"`{codec.name}` takes arrays and cannot stand behind an array → bytes codec"
            )
        elif isinstance(codec, BytesCodec) and index < serializers[0]:
            problems.add(
                f"{path}[{index}]", f"`{codec.name}` takes bytes and cannot stand before an array → bytes codec"
            )
