"""The codecs: their names and configurations. omnizarr encodes and decodes."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, ClassVar, Self

from omnizarr.compat.zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from omnizarr.compat.zarr.core.common import parse_enum, parse_named_configuration, parse_shapelike
from omnizarr.compat.zarr.core.dtype.common import HasEndianness, HasItemSize

__all__ = ["codec_from_json"]


class Endian(Enum):
    big = "big"
    little = "little"


class BloscShuffle(Enum):
    noshuffle = "noshuffle"
    shuffle = "shuffle"
    bitshuffle = "bitshuffle"

    @classmethod
    def from_int(cls, num: int) -> BloscShuffle:
        """The member with the number that numcodecs gives it."""
        if num not in (0, 1, 2):
            raise ValueError(f"Value must be between 0 and 2. Got {num}.")
        return list(cls)[num]


class BloscCname(Enum):
    lz4 = "lz4"
    lz4hc = "lz4hc"
    blosclz = "blosclz"
    zstd = "zstd"
    snappy = "snappy"
    zlib = "zlib"


class ShardingCodecIndexLocation(Enum):
    start = "start"
    end = "end"


def _set(codec: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(codec, name, value)


class _Named:
    codec_name: ClassVar[str]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        _, configuration = parse_named_configuration(data, cls.codec_name, require_configuration=False)
        return cls(**(configuration or {}))


def _integer(value: Any, low: int, high: int) -> int:
    if not isinstance(value, int):
        raise TypeError(f"Expected an integer. Got {type(value)} instead.")
    if not low <= value <= high:
        raise ValueError(f"Expected a value from {low} to {high}. Got {value} instead.")
    return value


@dataclass(frozen=True)
class BytesCodec(_Named, ArrayBytesCodec):
    codec_name: ClassVar[str] = "bytes"
    is_fixed_size = True
    endian: Endian | None

    def __init__(self, *, endian: Endian | str | None = Endian(sys.byteorder)) -> None:  # noqa: B008
        _set(self, endian=None if endian is None else parse_enum(endian, Endian))

    def to_dict(self) -> dict[str, Any]:
        if self.endian is None:
            return {"name": "bytes"}
        return {"name": "bytes", "configuration": {"endian": self.endian.value}}

    def evolve_from_array_spec(self, array_spec: Any) -> Self:
        if not isinstance(array_spec.dtype, HasEndianness):
            return replace(self, endian=None)
        if self.endian is None:
            raise ValueError("The `endian` configuration needs to be specified for multi-byte data types.")
        return self

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        return input_byte_length


@dataclass(frozen=True)
class BloscCodec(_Named, BytesBytesCodec):
    codec_name: ClassVar[str] = "blosc"
    _tunable_attrs: set[str] = field(init=False, compare=False, repr=False)
    typesize: int
    cname: BloscCname
    clevel: int
    shuffle: BloscShuffle
    blocksize: int

    def __init__(
        self,
        *,
        typesize: int | None = None,
        cname: Any = BloscCname.zstd,
        clevel: int = 5,
        shuffle: Any = None,
        blocksize: int = 0,
    ) -> None:
        tunable = {name for name, value in (("typesize", typesize), ("shuffle", shuffle)) if value is None}
        if typesize is not None and not isinstance(typesize, int):
            raise TypeError(f"Value must be an int. Got {type(typesize)} instead.")
        if typesize is not None and typesize < 1:
            raise ValueError(f"Value must be greater than 0. Got {typesize}, which is less or equal to 0.")
        _set(
            self,
            _tunable_attrs=tunable,
            typesize=typesize or 1,
            cname=parse_enum(cname, BloscCname),
            clevel=_integer(clevel, 0, 9),
            shuffle=parse_enum(BloscShuffle.bitshuffle if shuffle is None else shuffle, BloscShuffle),
            blocksize=_integer(blocksize, 0, 2**31),
        )

    def to_dict(self) -> dict[str, Any]:
        configuration = {
            "typesize": self.typesize,
            "cname": self.cname.value,
            "clevel": self.clevel,
            "shuffle": self.shuffle.value,
            "blocksize": self.blocksize,
        }
        return {"name": "blosc", "configuration": configuration}

    def evolve_from_array_spec(self, array_spec: Any) -> Self:
        size = array_spec.dtype.item_size if isinstance(array_spec.dtype, HasItemSize) else 1
        codec = self
        if "typesize" in self._tunable_attrs:
            codec = replace(codec, typesize=size)
        if "shuffle" in self._tunable_attrs:
            codec = replace(codec, shuffle=BloscShuffle.bitshuffle if size == 1 else BloscShuffle.shuffle)
        return codec


@dataclass(frozen=True)
class ZstdCodec(_Named, BytesBytesCodec):
    codec_name: ClassVar[str] = "zstd"
    level: int = 0
    checksum: bool = False

    def __init__(self, *, level: int = 0, checksum: bool = False) -> None:
        if not isinstance(level, int):
            raise TypeError(f"Got value with type {type(level)}, but expected an int.")
        if level >= 23:
            raise ValueError(f"Value must be less than or equal to 22. Got {level} instead.")
        if not isinstance(checksum, bool):
            raise TypeError(f"Expected bool. Got {type(checksum)}.")
        _set(self, level=level, checksum=checksum)

    def to_dict(self) -> dict[str, Any]:
        return {"name": "zstd", "configuration": {"level": self.level, "checksum": self.checksum}}


@dataclass(frozen=True)
class GzipCodec(_Named, BytesBytesCodec):
    codec_name: ClassVar[str] = "gzip"
    level: int = 5

    def __init__(self, *, level: int = 5) -> None:
        _set(self, level=_integer(level, 0, 9))

    def to_dict(self) -> dict[str, Any]:
        return {"name": "gzip", "configuration": {"level": self.level}}


@dataclass(frozen=True)
class Crc32cCodec(_Named, BytesBytesCodec):
    codec_name: ClassVar[str] = "crc32c"
    is_fixed_size = True

    def to_dict(self) -> dict[str, Any]:
        return {"name": "crc32c"}

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        return input_byte_length + 4


@dataclass(frozen=True)
class TransposeCodec(_Named, ArrayArrayCodec):
    codec_name: ClassVar[str] = "transpose"
    is_fixed_size = True
    order: tuple[int, ...]

    def __init__(self, *, order: Any) -> None:
        if not isinstance(order, (tuple, list)) and not hasattr(order, "__iter__"):
            raise TypeError(f"Expected an iterable. Got {order} instead.")
        if isinstance(order, str) or not all(isinstance(axis, int) for axis in order):
            raise TypeError(f"Expected an iterable of integers. Got {order} instead.")
        _set(self, order=tuple(order))

    def to_dict(self) -> dict[str, Any]:
        return {"name": "transpose", "configuration": {"order": tuple(self.order)}}

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        return input_byte_length


@dataclass(frozen=True)
class VLenUTF8Codec(_Named, ArrayBytesCodec):
    codec_name: ClassVar[str] = "vlen-utf8"

    def to_dict(self) -> dict[str, Any]:
        return {"name": "vlen-utf8", "configuration": {}}


@dataclass(frozen=True)
class VLenBytesCodec(_Named, ArrayBytesCodec):
    codec_name: ClassVar[str] = "vlen-bytes"

    def to_dict(self) -> dict[str, Any]:
        return {"name": "vlen-bytes", "configuration": {}}


@dataclass(frozen=True)
class ShardingCodec(_Named, ArrayBytesCodec):
    codec_name: ClassVar[str] = "sharding_indexed"
    chunk_shape: tuple[int, ...]
    codecs: tuple[Any, ...]
    index_codecs: tuple[Any, ...]
    index_location: ShardingCodecIndexLocation = ShardingCodecIndexLocation.end

    def __init__(
        self, *, chunk_shape: Any, codecs: Any = None, index_codecs: Any = None, index_location: Any = "end"
    ) -> None:
        _set(
            self,
            chunk_shape=parse_shapelike(chunk_shape),
            codecs=parse_codecs((BytesCodec(),) if codecs is None else codecs),
            index_codecs=parse_codecs((BytesCodec(), Crc32cCodec()) if index_codecs is None else index_codecs),
            index_location=parse_enum(index_location, ShardingCodecIndexLocation),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": self.chunk_shape,
                "codecs": tuple(codec.to_dict() for codec in self.codecs),
                "index_codecs": tuple(codec.to_dict() for codec in self.index_codecs),
                "index_location": self.index_location.value,
            },
        }


@dataclass(frozen=True)
class _Other:
    """A codec of omnizarr that zarr-python has no class for."""

    codec_name: str
    codec_config: Any

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.codec_name, "configuration": self.codec_config}

    def evolve_from_array_spec(self, array_spec: Any) -> Any:
        return self


class OtherArrayArrayCodec(_Other, ArrayArrayCodec):
    """An array → array codec that this module has no class for."""


class OtherArrayBytesCodec(_Other, ArrayBytesCodec):
    """An array → bytes codec that this module has no class for."""


class OtherBytesBytesCodec(_Other, BytesBytesCodec):
    """A bytes → bytes codec that this module has no class for."""


CODECS: dict[str, Any] = {
    cls.codec_name: cls
    for cls in (
        BloscCodec,
        BytesCodec,
        Crc32cCodec,
        GzipCodec,
        ShardingCodec,
        TransposeCodec,
        VLenBytesCodec,
        VLenUTF8Codec,
        ZstdCodec,
    )
} | {"endian": BytesCodec}
"""The classes of codecs by name; `zarr.registry.register_codec` adds more."""


def codec_from_json(data: Any) -> Any:
    """The codec of a JSON object or name; a codec itself."""
    if hasattr(data, "to_dict"):
        return data
    if isinstance(data, str):
        data = {"name": data}
    cls = CODECS.get(data["name"])
    if cls is not None:
        return cls.from_dict({**data, "name": "bytes"} if data["name"] == "endian" else data)
    from omnizarr.codecs import ArrayCodec, Serializer, codec_of

    kind = codec_of(data, "codecs")
    other = (
        OtherArrayArrayCodec
        if isinstance(kind, ArrayCodec)
        else OtherArrayBytesCodec
        if isinstance(kind, Serializer)
        else OtherBytesBytesCodec
    )
    return other(data["name"], data.get("configuration", {}))


def parse_codecs(data: Any) -> tuple[Any, ...]:
    """The codecs of a list of JSON objects and codecs."""
    if not hasattr(data, "__iter__") or isinstance(data, (str, dict)):
        raise TypeError(f"Expected iterable, got {type(data)}")
    return tuple(codec_from_json(item) for item in data)
