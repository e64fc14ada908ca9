"""`Chain`: the bound codecs of an array, which turn a chunk into its stored bytes and back (R78–R80)."""

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
    check_codec_count,
    check_size,
    intermediate_limit,
    limited,
)
from omnizarr.codecs.third_party import wrap_third_party
from omnizarr.errors import CodecError

__all__ = ["Chain"]

_COPY_PACE = 5000  # bytes per microsecond


class Chain:
    """The codecs of an array, bound to one chunk shape, in encoding order."""

    __slots__ = (
        "_bytes_codecs",
        "_limits",
        "arrays",
        "batches",
        "compressed",
        "direct",
        "encoded",
        "from_start",
        "native",
        "native_options",
        "parts",
        "peak",
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
        specs: Sequence[ByteSpec],
    ) -> None:
        """`specs` are the outputs of the bytes → bytes codecs, with limits for the chain as a whole."""
        self.spec = spec
        self.arrays = tuple(arrays)
        self.serializer = serializer
        self._bytes_codecs = tuple(bytes)
        self.encoded: ByteSpec = specs[-1] if specs else serializer.encoded
        self._limits = tuple(spec.limit for spec in specs)
        self.peak = max(
            spec.nbytes,
            serializer.peak,
            *(codec.encoded.nbytes for codec in arrays),
            *(step.size or 0 for step in (serializer.encoded, *specs)),
        )
        """The largest size of a chunk before, between and after its codecs, of those that the metadata give exactly. It
        includes the sizes between codecs inside a serializer."""
        self.direct = serializer.plain and not arrays
        """Whether the input of the bytes → bytes codecs is the memory of the chunk in C order: no array → array codec,
        and a serializer that changes nothing. Such a chunk can be decompressed straight into the result."""
        self.compressed = bool(bytes)
        """Whether there is any bytes → bytes codec."""
        self.batches = self.direct and self.compressed and bytes[0].batches
        """Whether `decode_many` decodes many chunks in one library call."""
        self.parts = self.direct and len(bytes) < 2 and all(step.parts for step in bytes)
        """Whether `decode_part` works: the chain is `direct`, and its only bytes → bytes codec, if any, has `parts`."""
        self.from_start = any(step.from_start for step in bytes)
        """Whether `decode_part` must decode everything before the requested part as well."""
        strides = [spec.dtype.itemsize]
        for length in reversed(spec.shape[1:]):
            strides.append(strides[-1] * length)
        self.strides = tuple(reversed(strides)) if spec.shape else ()
        """Strides of a decoded chunk in C order, in bytes."""
        self.native: str | None = None
        """Name of this chain in the kernel, or None if the kernel cannot decode it."""
        if self.direct and len(bytes) < 2 and spec.nbytes > 0:
            # Look only at the class itself: a subclass may decode differently than the kernel does.
            self.native = vars(type(bytes[0])).get("native") if bytes else "raw"
        self.native_options = bytes[0].native_options if bytes else ()

    @property
    def microseconds(self) -> float:
        """Estimated time to decode one chunk, in microseconds, without the fixed overhead per chunk."""
        size = min(self.spec.nbytes, 2**62)  # a document may declare sizes that overflow a float
        return size * sum(1 / step.pace for step in self._bytes_codecs) + size / _COPY_PACE

    @classmethod
    def bind(cls, codecs: Sequence[Codec], spec: ChunkSpec, path: str, problems: Problems) -> Chain | None:
        """Bind codecs to chunks of `spec`; `path` is the JSON path of the codec list. None if there are problems."""
        before = len(problems.found)
        if check_codec_count(len(codecs), path, problems):
            _check_order(codecs, path, problems)
        if len(problems.found) > before:
            return None
        arrays: list[BoundArrayCodec] = []
        serializer: BoundSerializer | None = None
        steps: list[BoundBytesCodec] = []
        specs: list[ByteSpec] = []
        array_spec, byte_spec = spec, None
        limit = 0
        for index, codec in enumerate(codecs):
            where = f"{path}[{index}]"
            bound: BoundArrayCodec | BoundSerializer | BoundBytesCodec | None
            if isinstance(codec, ArrayCodec):
                bound = call_extension("codec", codec.name, where, problems, codec.bind, array_spec)
                if bound is None:
                    return None
                arrays.append(wrap_third_party(codec.name, bound, array_spec))
                array_spec = bound.encoded
            elif isinstance(codec, Serializer):
                serializer = call_extension("codec", codec.name, where, problems, codec.bind, array_spec)
                if serializer is None:
                    return None
                serializer = wrap_third_party(codec.name, serializer, array_spec)
                peak = max(spec.nbytes, array_spec.nbytes)
                limit = intermediate_limit(serializer.encoded, peak)
                byte_spec = limited(serializer.encoded, limit)
            elif isinstance(codec, BytesCodec):
                assert byte_spec is not None
                bound = call_extension("codec", codec.name, where, problems, codec.bind, byte_spec)
                if bound is None:
                    return None
                steps.append(wrap_third_party(codec.name, bound, byte_spec))
                byte_spec = limited(bound.encoded, limit)
                specs.append(byte_spec)
        assert serializer is not None
        return cls(spec, arrays, serializer, steps, specs)

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        """The stored bytes of a chunk."""
        for codec in self.arrays:
            array = codec.encode(array)
        return self.encode_memory(self.serializer.encode(array))

    def encode_memory(self, memory: Buffer) -> Buffer:
        """`encode` for a `direct` chain and the memory of a chunk. The result may be `memory` itself."""
        for step, limit in zip(self._bytes_codecs, self._limits, strict=True):
            memory = step.encode(memory)
            if len(memory) > limit:  # it could not be decoded again
                raise CodecError(
                    "chunk",
                    f"the encoded chunk has {len(memory)} bytes, more than the limit of {limit} for these codecs",
                    hint="use fewer codecs that lengthen the data",
                )
        return memory

    def decode(self, data: Buffer, out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """The chunk whose stored bytes are `data`: `out` itself (contiguous, with the chunk's shape and type), a view
        of `data`, or a new array. Treat it as read-only unless it is `out`."""
        if out is not None and self.direct and self._bytes_codecs:
            self.decode_into(data, out, out.reshape(-1).view("u1").data)
            return out
        for step in self._bytes_codecs[::-1]:
            data = step.decode(data)
        array = self.serializer.decode(data)
        for codec in self.arrays[::-1]:
            array = codec.decode(array)
        return array

    def decode_or_fill(self, data: Buffer | None) -> npt.NDArray[Any]:
        """`decode`, or a read-only array of the fill value if `data` is None."""
        return np.broadcast_to(self.spec.fill, self.spec.shape) if data is None else self.decode(data)

    def decode_into(self, data: Buffer, out: npt.NDArray[Any], memory: memoryview) -> None:
        """Decode into `out` with a `direct` chain; `memory` is the memory of `out`."""
        steps = self._bytes_codecs
        for step in steps[:0:-1]:
            data = step.decode(data)
        decoded = steps[0].decode(data, memory) if steps else data
        if decoded is not memory:
            out[...] = self.serializer.decode(decoded)

    def decode_part(self, read: Callable[[int, int], Buffer], encoded: int, start: int, length: int) -> Buffer:
        """The bytes from `start` to `start + length` of a decoded chunk. `encoded` is the length of the stored value,
        and `read(position, count)` returns `count` bytes of it."""
        for step in self._bytes_codecs:
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
        """`decode_into` for many chunks; a value of None fills `out` with the fill value. `outs` may be longer than
        `values`. `room` is the memory of all `outs`, if they follow each other without gaps."""
        chunks: Sequence[Buffer | None] = values
        *outer, innermost = self._bytes_codecs[::-1] or (None,)
        for step in outer:
            chunks = step.decode_many(chunks, [None] * len(values))
        if innermost is not None:
            chunks = innermost.decode_many(chunks, memories, room)
            if chunks is memories:
                return
        for decoded, out, memory in zip(chunks, outs, memories, strict=False):
            if decoded is None:
                out[...] = self.spec.fill
            elif decoded is not memory:
                out[...] = self.serializer.decode(decoded)


def _check_order(codecs: Sequence[Codec], path: str, problems: Problems) -> None:
    """Require array → array codecs first, then exactly one array → bytes codec, then bytes → bytes (R18, R78)."""
    serializers = [index for index, codec in enumerate(codecs) if isinstance(codec, Serializer)]
    if len(serializers) != 1:
        names = ", ".join(f"`{codecs[index].name}`" for index in serializers) or "none"
        problems.add(path, f"expected exactly one array → bytes codec, found {names}", rule="R18")
        return
    for index, codec in enumerate(codecs):
        if isinstance(codec, ArrayCodec) and index > serializers[0]:
            problems.add(
                f"{path}[{index}]",
                f"`{codec.name}` encodes arrays and cannot follow an array → bytes codec",
                rule="R78",
            )
        elif isinstance(codec, BytesCodec) and index < serializers[0]:
            problems.add(
                f"{path}[{index}]",
                f"`{codec.name}` encodes bytes and cannot precede the array → bytes codec",
                rule="R78",
            )
