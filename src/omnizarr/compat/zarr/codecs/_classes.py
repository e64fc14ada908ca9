"""The codecs: their names and configurations. omnizarr encodes and decodes."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from omnizarr.compat.zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from omnizarr.compat.zarr.codecs._applied import AppliedArrayArray, AppliedArrayBytes, AppliedBytesBytes
from omnizarr.compat.zarr.codecs._deprecated_enum import DeprecatedEnum, without_enum
from omnizarr.compat.zarr.core.common import parse_chunk_shape, parse_named_configuration, parse_shapelike
from omnizarr.compat.zarr.core.dtype import Struct
from omnizarr.compat.zarr.core.dtype.common import HasEndianness, HasItemSize

__all__ = ["codec_from_json"]


ENDIAN = ("little", "big")
BLOSC_SHUFFLE = ("noshuffle", "shuffle", "bitshuffle")
BLOSC_CNAME = ("lz4", "lz4hc", "blosclz", "snappy", "zlib", "zstd")
INDEX_LOCATION = ("start", "end")
SUBCHUNK_WRITE_ORDER = ("morton", "unordered", "lexicographic", "colexicographic")


class Endian(metaclass=DeprecatedEnum):
    """Deprecated: the strings "little" and "big"."""

    _members: ClassVar[tuple[str, ...]] = ENDIAN


class BloscShuffle(metaclass=DeprecatedEnum):
    """Deprecated: the strings "noshuffle", "shuffle" and "bitshuffle"."""

    _members: ClassVar[tuple[str, ...]] = BLOSC_SHUFFLE

    @staticmethod
    def from_int(num: int) -> str:
        """The shuffle with the number that numcodecs gives it."""
        if num not in (0, 1, 2):
            raise ValueError(f"Value must be between 0 and 2. Got {num}.")
        return BLOSC_SHUFFLE[num]


class BloscCname(metaclass=DeprecatedEnum):
    """Deprecated: the names of blosc's compressors as strings."""

    _members: ClassVar[tuple[str, ...]] = BLOSC_CNAME


class ShardingCodecIndexLocation(metaclass=DeprecatedEnum):
    """Deprecated: the strings "start" and "end"."""

    _members: ClassVar[tuple[str, ...]] = INDEX_LOCATION


def _set(codec: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(codec, name, value)


class _Named:
    codec_name: ClassVar[str]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        _, configuration = parse_named_configuration(data, cls.codec_name, require_configuration=False)
        return cls(**(configuration or {}))


def _member(value: Any, kind: type, name: str) -> Any:
    """`value`, if it is of this type."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"Failed to parse input for {name!r}: expected {kind.__name__}, got {value!r}.")
    return value


def _choice(value: Any, choices: tuple[str, ...], name: str, codec: str) -> str:
    """`value`, if it is one of these strings."""
    value = without_enum(value, name, codec)
    if isinstance(value, str) and value in choices:
        return value
    raise ValueError(f"{name} must be one of {list(choices)!r}. Got {value!r}.")


@dataclass(frozen=True)
class BytesCodec(_Named, AppliedArrayBytes, ArrayBytesCodec):
    codec_name: ClassVar[str] = "bytes"
    is_fixed_size = True
    endian: str | None

    def __init__(self, *, endian: Any = sys.byteorder) -> None:
        _set(self, endian=None if endian is None else _choice(endian, ENDIAN, "endian", "BytesCodec"))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        _, configuration = parse_named_configuration(data, "bytes", require_configuration=False)
        return cls(**{"endian": None, **(configuration or {})})

    def to_dict(self) -> dict[str, Any]:
        if self.endian is None:
            return {"name": "bytes"}
        return {"name": "bytes", "configuration": {"endian": self.endian}}

    def evolve_from_array_spec(self, array_spec: Any) -> Self:
        if isinstance(array_spec.dtype, Struct) and array_spec.dtype.has_multi_byte_fields():
            if self.endian is not None:
                return self
            warnings.warn(
                "Missing 'endian' for structured dtype with multi-byte fields. "
                "Assuming little-endian for legacy compatibility.",
                UserWarning,
                stacklevel=2,
            )
            return replace(self, endian="little")
        if not isinstance(array_spec.dtype, HasEndianness):
            return self if self.endian is None else replace(self, endian=None)
        if self.endian is None:
            raise ValueError("The `endian` configuration needs to be specified for multi-byte data types.")
        return self

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        return input_byte_length


@dataclass(frozen=True)
class BloscCodec(_Named, AppliedBytesBytes, BytesBytesCodec):
    codec_name: ClassVar[str] = "blosc"
    _tunable_attrs: set[str] = field(init=False, compare=False, repr=False)
    typesize: int
    cname: str
    clevel: int
    shuffle: str
    blocksize: int

    def __init__(
        self,
        *,
        typesize: int | None = None,
        cname: Any = "zstd",
        clevel: int = 5,
        shuffle: Any = None,
        blocksize: int = 0,
    ) -> None:
        tunable = {name for name, value in (("typesize", typesize), ("shuffle", shuffle)) if value is None}
        if typesize is not None and _member(typesize, int, "typesize") < 1:
            raise ValueError(f"Value must be greater than 0. Got {typesize}, which is less or equal to 0.")
        _set(
            self,
            _tunable_attrs=tunable,
            typesize=typesize or 1,
            cname=_choice(cname, BLOSC_CNAME, "cname", "BloscCodec"),
            clevel=_member(clevel, int, "clevel"),
            shuffle=_choice("bitshuffle" if shuffle is None else shuffle, BLOSC_SHUFFLE, "shuffle", "BloscCodec"),
            blocksize=_member(blocksize, int, "blocksize"),
        )

    def to_dict(self) -> dict[str, Any]:
        configuration = {
            "typesize": self.typesize,
            "cname": self.cname,
            "clevel": self.clevel,
            "shuffle": self.shuffle,
            "blocksize": self.blocksize,
        }
        return {"name": "blosc", "configuration": configuration}

    def evolve_from_array_spec(self, array_spec: Any) -> Self:
        size = array_spec.dtype.item_size if isinstance(array_spec.dtype, HasItemSize) else 1
        codec = self
        if "typesize" in self._tunable_attrs:
            codec = replace(codec, typesize=size)
        if "shuffle" in self._tunable_attrs:
            codec = replace(codec, shuffle="bitshuffle" if size == 1 else "shuffle")
        return codec


@dataclass(frozen=True)
class ZstdCodec(_Named, AppliedBytesBytes, BytesBytesCodec):
    codec_name: ClassVar[str] = "zstd"
    level: int = 0
    checksum: bool = False

    def __init__(self, *, level: int = 0, checksum: bool = False) -> None:
        if _member(level, int, "level") >= 23:
            raise ValueError(f"Value must be less than or equal to 22. Got {level} instead.")
        _set(self, level=level, checksum=_member(checksum, bool, "checksum"))

    def to_dict(self) -> dict[str, Any]:
        return {"name": "zstd", "configuration": {"level": self.level, "checksum": self.checksum}}


@dataclass(frozen=True)
class GzipCodec(_Named, AppliedBytesBytes, BytesBytesCodec):
    codec_name: ClassVar[str] = "gzip"
    level: int = 5

    def __init__(self, *, level: int = 5) -> None:
        if not 0 <= _member(level, int, "level") <= 9:
            raise ValueError(f"Expected an integer from the inclusive range (0, 9). Got {level} instead.")
        _set(self, level=level)

    def to_dict(self) -> dict[str, Any]:
        return {"name": "gzip", "configuration": {"level": self.level}}


@dataclass(frozen=True)
class Crc32cCodec(_Named, AppliedBytesBytes, BytesBytesCodec):
    codec_name: ClassVar[str] = "crc32c"
    is_fixed_size = True

    def to_dict(self) -> dict[str, Any]:
        return {"name": "crc32c"}

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        return input_byte_length + 4


@dataclass(frozen=True)
class TransposeCodec(_Named, AppliedArrayArray, ArrayArrayCodec):
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

    def validate(self, *, shape: Any, dtype: Any, chunk_grid: Any) -> None:
        self._check(len(shape))

    def _check(self, ndim: int) -> None:
        if len(self.order) != ndim:
            raise ValueError(
                f"The `order` tuple must have as many entries as there are dimensions in the array. Got {self.order}."
            )
        if len(self.order) != len(set(self.order)):
            raise ValueError(f"There must not be duplicates in the `order` tuple. Got {self.order}.")
        if not all(0 <= axis < ndim for axis in self.order):
            raise ValueError(
                "All entries in the `order` tuple must be between 0 and the number of dimensions in the array. "
                f"Got {self.order}."
            )

    def evolve_from_array_spec(self, array_spec: Any) -> Self:
        self._check(array_spec.ndim)
        return self

    def resolve_metadata(self, chunk_spec: Any) -> Any:
        return replace(chunk_spec, shape=tuple(chunk_spec.shape[axis] for axis in self.order))

    def _encode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return chunk_data.transpose(self.order)

    def _decode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return chunk_data.transpose(tuple(int(axis) for axis in np.argsort(self.order)))

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        return input_byte_length


@dataclass(frozen=True)
class VLenUTF8Codec(_Named, AppliedArrayBytes, ArrayBytesCodec):
    codec_name: ClassVar[str] = "vlen-utf8"

    def to_dict(self) -> dict[str, Any]:
        return {"name": "vlen-utf8", "configuration": {}}


@dataclass(frozen=True)
class VLenBytesCodec(_Named, AppliedArrayBytes, ArrayBytesCodec):
    codec_name: ClassVar[str] = "vlen-bytes"

    def to_dict(self) -> dict[str, Any]:
        return {"name": "vlen-bytes", "configuration": {}}


@dataclass(frozen=True)
class ShardingCodec(_Named, AppliedArrayBytes, ArrayBytesCodec):
    codec_name: ClassVar[str] = "sharding_indexed"
    chunk_shape: tuple[int, ...]
    codecs: tuple[Any, ...]
    index_codecs: tuple[Any, ...]
    index_location: str = "end"
    subchunk_write_order: str = "morton"

    def __init__(
        self,
        *,
        chunk_shape: Any,
        codecs: Any = (BytesCodec(endian="little"),),
        index_codecs: Any = (BytesCodec(endian="little"), Crc32cCodec()),
        index_location: Any = "end",
        subchunk_write_order: str = "morton",
    ) -> None:
        index = parse_codecs(index_codecs)
        variable = [codec for codec in index if not codec.is_fixed_size]
        if variable:
            raise ValueError(
                "Sharding `index_codecs` must produce a fixed-size encoding, but these codecs "
                f"do not: {variable}. Compression codecs cannot be used for the shard index."
            )
        if subchunk_write_order not in SUBCHUNK_WRITE_ORDER:
            raise ValueError(
                f"Unrecognized subchunk write order: {subchunk_write_order}. Only {SUBCHUNK_WRITE_ORDER} are allowed."
            )
        _set(
            self,
            chunk_shape=parse_chunk_shape(parse_shapelike(chunk_shape)),
            codecs=parse_codecs(codecs),
            index_codecs=index,
            index_location=_choice(index_location, INDEX_LOCATION, "index_location", "ShardingCodec"),
            subchunk_write_order=subchunk_write_order,
        )

    def evolve_from_array_spec(self, array_spec: Any) -> Self:
        spec = replace(array_spec, shape=self.chunk_shape)
        evolved = []
        for codec in self.codecs:
            evolved.append(codec.evolve_from_array_spec(spec))
            spec = evolved[-1].resolve_metadata(spec)
        return self if tuple(evolved) == self.codecs else replace(self, codecs=tuple(evolved))

    def validate(self, *, shape: Any, dtype: Any, chunk_grid: Any) -> None:
        if len(self.chunk_shape) != len(shape):
            raise ValueError(
                "The shard's `chunk_shape` and array's `shape` need to have the same number of dimensions."
            )
        edges = getattr(chunk_grid, "chunk_shapes", None) or chunk_grid.chunk_shape
        for axis, (sizes, inner) in enumerate(zip(edges, self.chunk_shape, strict=True)):
            for size in (sizes,) if isinstance(sizes, int) else dict.fromkeys(sizes):
                if size % inner:
                    raise ValueError(
                        f"Chunk edge length {size} in dimension {axis} is not divisible by the shard's inner "
                        f"chunk size {inner}."
                    )

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": self.chunk_shape,
                "codecs": tuple(codec.to_dict() for codec in self.codecs),
                "index_codecs": tuple(codec.to_dict() for codec in self.index_codecs),
                "index_location": self.index_location,
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


class OtherArrayArrayCodec(_Other, AppliedArrayArray, ArrayArrayCodec):
    """An array → array codec that this module has no class for."""


class OtherArrayBytesCodec(_Other, AppliedArrayBytes, ArrayBytesCodec):
    """An array → bytes codec that this module has no class for."""


class OtherBytesBytesCodec(_Other, AppliedBytesBytes, BytesBytesCodec):
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
