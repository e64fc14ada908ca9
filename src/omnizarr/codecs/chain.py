"""The codecs of an array, bound together: from a chunk to its stored bytes and back (R78–R80)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._extension import call_extension
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
    check_size,
)
from omnizarr.codecs.third_party import guarded

__all__ = ["Chain"]

_COPIED = 5000  # bytes in a microsecond


class Chain:
    """Codecs that know what they will meet, in the order in which they encode."""

    __slots__ = (
        "_bytes",
        "arrays",
        "batches",
        "compressed",
        "direct",
        "encoded",
        "from_start",
        "native",
        "native_options",
        "parts",
        "serializer",
        "spec",
        "strides",
    )

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
        self.compressed = bool(bytes)
        """Whether there is any bytes → bytes codec."""
        self.batches = self.direct and self.compressed and bytes[0].batches
        """Whether `decode_many` decodes many chunks in one call of a library."""
        self.parts = self.direct and len(bytes) < 2 and all(step.parts for step in bytes)
        """Whether there is `decode_part`: for chunks that are stored as they lie in memory, or in blocks."""
        self.from_start = any(step.from_start for step in bytes)
        """Whether that decodes all that comes before, too."""
        strides = [spec.dtype.itemsize]
        for length in reversed(spec.shape[1:]):
            strides.append(strides[-1] * length)
        self.strides = tuple(reversed(strides)) if spec.shape else ()
        """How far apart neighbours are along each dimension of a decoded chunk in C order, in bytes."""
        self.native: str | None = None
        """What the compiled loop over chunks calls such a chain, if it knows it."""
        if self.direct and len(bytes) < 2 and spec.nbytes > 0:
            # As the class itself says: one that is derived from it may decode in another way.
            self.native = vars(type(bytes[0])).get("native") if bytes else "raw"
        self.native_options = bytes[0].native_options if bytes else ()

    @property
    def microseconds(self) -> float:
        """How long it takes to decode a chunk, roughly, beside what every chunk costs."""
        size = min(self.spec.nbytes, 2**62)  # a document may state sizes that no float holds
        return size * sum(1 / step.pace for step in self._bytes) + size / _COPIED

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
                bound = call_extension("codec", codec.name, where, problems, codec.bind, now)
                if bound is None:
                    return None
                arrays.append(guarded(codec.name, bound, now))
                now = bound.encoded
            elif isinstance(codec, Serializer):
                serializer = call_extension("codec", codec.name, where, problems, codec.bind, now)
                if serializer is None:
                    return None
                serializer = guarded(codec.name, serializer, now)
                flow = serializer.encoded
            elif isinstance(codec, BytesCodec):
                assert flow is not None
                bound = call_extension("codec", codec.name, where, problems, codec.bind, flow)
                if bound is None:
                    return None
                steps.append(guarded(codec.name, bound, flow))
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

    def encode_memory(self, memory: Buffer) -> Buffer:
        """The same for a chain that is `direct`: the bytes of a chunk as it is stored, which may be `memory` itself."""
        for step in self._bytes:
            memory = step.encode(memory)
        return memory

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

    def decode_or_fill(self, data: Buffer | None) -> npt.NDArray[Any]:
        """The same, or, of a chunk that is not stored, a read-only view of nothing but the fill value."""
        return np.broadcast_to(self.spec.fill, self.spec.shape) if data is None else self.decode(data)

    def decode_into(self, data: Buffer, out: npt.NDArray[Any], memory: memoryview) -> None:
        """The same for a chain that is `direct`: the chunk comes to lie in `out`, whose bytes `memory` are."""
        steps = self._bytes
        for step in steps[:0:-1]:
            data = step.decode(data)
        decoded = steps[0].decode(data, memory) if steps else data
        if decoded is not memory:
            out[...] = self.serializer.decode(decoded)

    def decode_part(self, read: Callable[[int, int], Buffer], encoded: int, start: int, length: int) -> Buffer:
        """The bytes from `start` on, so many, of a chunk whose stored form has `encoded` bytes; `read` gives some of
        those, from a position on, so many."""
        for step in self._bytes:
            return step.decode_part(read, encoded, start, length)
        check_size("bytes", self.encoded, encoded)
        return read(start, length)

    def decode_many(
        self,
        values: Sequence[Buffer | None],
        outs: Sequence[npt.NDArray[Any]],
        memories: Sequence[memoryview],
        room: memoryview | None = None,
    ) -> None:
        """The same for many chunks; None is one that holds nothing but the fill value. There may be more `outs`.
        `room` is the memory of all of them, if they lie one after the other without gaps."""
        found: Sequence[Buffer | None] = values
        *outer, inmost = self._bytes[::-1] or (None,)
        for step in outer:
            found = step.decode_many(found, [None] * len(values))
        if inmost is not None:
            found = inmost.decode_many(found, memories, room)
            if found is memories:
                return
        for decoded, out, memory in zip(found, outs, memories, strict=False):
            if decoded is None:
                out[...] = self.spec.fill
            elif decoded is not memory:
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
