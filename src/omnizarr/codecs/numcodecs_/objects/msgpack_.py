"""`msgpack2` and its forerunner `msgpack`: objects as MessagePack."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._fork import import_library
from omnizarr._json import Json, Problems
from omnizarr.codecs.config_fields import boolean, check, or_null, rule
from omnizarr.codecs.contract import BoundSerializer, Buffer, ChunkSpec, Serializer, codec_library
from omnizarr.codecs.numcodecs_.base import Numcodec
from omnizarr.codecs.numcodecs_.objects.items import build_array, check_kind, nested_items, object_byte_spec, type_name
from omnizarr.errors import CodecError

__all__ = ["BoundMsgpack", "LegacyMsgpack", "Msgpack2"]

_ARRAY16, _ARRAY32 = 0xDC, 0xDD
_HARMLESS = 2**20
"""How many items lists may promise beyond what there are bytes."""


@cache
def _library() -> Any:
    return codec_library(Msgpack2)


_FLAG = boolean(optional=True)


@dataclass(frozen=True, slots=True)
class Msgpack2(Numcodec, Serializer):
    """`{"id": "msgpack2", "raw": false, "use_single_float": false, "use_bin_type": true}`: a list of the items, in
    lists as deep as there are dimensions, then their type, then the shape."""

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
    """`{"id": "msgpack", "encoding": "utf-8"}`: the same without the shape, as numcodecs wrote it before 0.6, when
    MessagePack did not tell text from bytes. Without an encoding everything is bytes."""

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
    """MessagePack of the chunk as a whole."""

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
            items.append(list(array.shape or (1,)))  # numcodecs cannot read an array without dimensions
        try:
            encoded: bytes = library.packb(items, use_bin_type=self._bin, use_single_float=self._single, default=_plain)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise CodecError(self._id, f"an object cannot be written as MessagePack: {error}") from None
        return encoded

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        library = _library()
        try:
            items = library.unpackb(data, raw=self._raw) if _is_sound(data) else self._decode_slowly(data)
        except (TypeError, ValueError, OverflowError, RecursionError, library.UnpackException) as error:
            raise CodecError(self._id, f"not valid MessagePack: {type(error).__name__} {error}") from None
        return build_array(self._id, items, self._spec, shape_follows=not self._legacy)

    def _decode_slowly(self, data: Buffer) -> Any:
        """The same by the library's own Python code, where lists grow by what is there and not by what is promised."""
        unpacker = import_library("msgpack.fallback").Unpacker(raw=self._raw, max_buffer_size=max(1, len(data)))
        unpacker.feed(data)
        items = unpacker.unpack()
        if unpacker.tell() != len(data):
            raise ValueError("there are more data behind the list")
        return items


def _is_sound(data: Buffer) -> bool:
    """Whether lists promise about as many items as there can be. The library takes memory for all that a list promises,
    up to the length of the data, for a thousand lists within each other. Bytes that only look like the start of a list
    count too, which does no harm but for the time."""
    array = np.frombuffer(data, np.uint8)
    promised = 0
    for mark, width in ((_ARRAY16, 2), (_ARRAY32, 4)):
        starts = np.flatnonzero(array[: max(0, array.size - width)] == mark)
        sizes = np.zeros(starts.size, np.int64)
        for byte in range(1, width + 1):
            sizes = sizes << 8 | array[starts + byte]
        promised += int(sizes[sizes <= array.size].sum())  # the library itself refuses longer ones
    return promised <= array.size + _HARMLESS


def _plain(value: object) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a value of type {type(value).__name__}")
