"""`msgpack2` and its predecessor `msgpack`: objects as MessagePack."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._fork import import_library
from omnizarr._json import Json, Problems
from omnizarr.codecs.config_members import boolean, check, or_null, rule
from omnizarr.codecs.contract import BoundSerializer, Buffer, ChunkSpec, Serializer, codec_library
from omnizarr.codecs.numcodecs_.base import Numcodec
from omnizarr.codecs.numcodecs_.objects.items import (
    build_array,
    check_kind,
    nested_items,
    object_byte_spec,
    plain_value,
    type_name,
)
from omnizarr.errors import CodecError

__all__ = ["BoundMsgpack", "LegacyMsgpack", "Msgpack2"]

_ARRAY16, _ARRAY32 = 0xDC, 0xDD
_HARMLESS = 2**20
"""How many more items than bytes the list headers may declare."""


@cache
def _library() -> Any:
    return codec_library(Msgpack2)


_FLAG = boolean(optional=True)


@dataclass(frozen=True, slots=True)
class Msgpack2(Numcodec, Serializer):
    """`{"id": "msgpack2", "raw": false, "use_single_float": false, "use_bin_type": true}`: a list of the items in
    nested lists, then their type, then the shape."""

    name: ClassVar[str] = "numcodecs.msgpack2"
    id: ClassVar[str] = "msgpack2"
    needs: ClassVar[str | None] = "msgpack"
    private: ClassVar[bool] = True
    raw: bool = field(default=False, metadata=_FLAG)
    use_single_float: bool = field(default=False, metadata=_FLAG)
    use_bin_type: bool = field(default=True, metadata=_FLAG)

    def __post_init__(self) -> None:
        check(self)

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundMsgpack | None:
        return BoundMsgpack(spec, self) if check_kind(self.name, spec, path, problems, "OTbiufU") else None


def _is_utf8(value: Json) -> bool:
    return isinstance(value, str) and value.lower().replace("_", "-") in ("utf-8", "utf8")


@dataclass(frozen=True, slots=True)
class LegacyMsgpack(Numcodec, Serializer):
    """`{"id": "msgpack", "encoding": "utf-8"}`: like `Msgpack2`, but without the shape, as written by numcodecs before
    0.6. MessagePack did not distinguish text and bytes then; with an encoding of None, everything is bytes."""

    name: ClassVar[str] = "numcodecs.msgpack"
    id: ClassVar[str] = "msgpack"
    needs: ClassVar[str | None] = "msgpack"
    private: ClassVar[bool] = True
    encoding: str | None = field(default="utf-8", metadata=or_null(rule("`utf-8`", _is_utf8, optional=True)))

    def __post_init__(self) -> None:
        check(self)

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundMsgpack | None:
        return BoundMsgpack(spec, self) if check_kind(self.name, spec, path, problems, "OTbiufU") else None


class BoundMsgpack(BoundSerializer):
    """A bound `Msgpack2` or `LegacyMsgpack`, which stores a chunk as one MessagePack value."""

    __slots__ = ("_bin", "_id", "_legacy", "_raw", "_single", "_spec", "encoded")

    def __init__(self, spec: ChunkSpec, codec: Msgpack2 | LegacyMsgpack) -> None:
        self._spec = spec
        self._id = codec.id
        self._legacy = isinstance(codec, LegacyMsgpack)
        if isinstance(codec, LegacyMsgpack):
            self._raw, self._single, self._bin = codec.encoding is None, False, False
        else:
            self._raw, self._single, self._bin = codec.raw, codec.use_single_float, codec.use_bin_type
        self.encoded = object_byte_spec()

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        library = _library()
        items = nested_items(array)
        items.append(type_name(array.dtype))
        if not self._legacy:
            items.append(list(array.shape or (1,)))  # numcodecs cannot read a shape without dimensions
        try:
            encoded: bytes = library.packb(
                items, use_bin_type=self._bin, use_single_float=self._single, default=plain_value
            )
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise CodecError(self._id, f"an object cannot be written as MessagePack: {error}") from None
        return encoded

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        library = _library()
        try:
            items = library.unpackb(data, raw=self._raw) if _has_plausible_lists(data) else self._decode_slowly(data)
        except (TypeError, ValueError, OverflowError, RecursionError, library.UnpackException) as error:
            raise CodecError(self._id, f"not valid MessagePack: {type(error).__name__} {error}") from None
        return build_array(self._id, items, self._spec, shape_follows=not self._legacy)

    def _decode_slowly(self, data: Buffer) -> Any:
        """Decode with the Python code of the library, whose lists grow with the data, not by their declared length."""
        unpacker = import_library("msgpack.fallback").Unpacker(raw=self._raw, max_buffer_size=max(1, len(data)))
        unpacker.feed(data)
        items = unpacker.unpack()
        if unpacker.tell() != len(data):
            raise ValueError("expected no data after the list")
        return items


def _has_plausible_lists(data: Buffer) -> bool:
    """Whether the list headers declare about as many items as the data can contain.

    The compiled library allocates the declared length of each list, up to the length of the data, in up to a thousand
    nested lists. Bytes that only look like a list header count too, which at worst selects the slower decoder.
    """
    array = np.frombuffer(data, np.uint8)
    declared = 0
    for mark, width in ((_ARRAY16, 2), (_ARRAY32, 4)):
        starts = np.flatnonzero(array[: max(0, array.size - width)] == mark)
        sizes = np.zeros(starts.size, np.int64)
        for byte in range(1, width + 1):
            sizes = sizes << 8 | array[starts + byte]
        declared += int(sizes[sizes <= array.size].sum())  # the library rejects longer lists
    return declared <= array.size + _HARMLESS
