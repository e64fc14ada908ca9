"""Codecs of numcodecs in v3 documents, under names such as `numcodecs.delta`."""

from __future__ import annotations

from typing import Any, ClassVar

from omnizarr.compat.zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from omnizarr.compat.zarr.codecs._applied import AppliedArrayArray, AppliedArrayBytes, AppliedBytesBytes
from omnizarr.compat.zarr.codecs._classes import CODECS
from omnizarr.compat.zarr.core.common import parse_named_configuration

PREFIX = "numcodecs."


class _NumcodecsCodec:
    """A codec of numcodecs: its name, and its configuration with the member `id`."""

    codec_name: ClassVar[str] = ""

    def __init_subclass__(cls, *, codec_name: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if codec_name is not None:
            cls.codec_name = PREFIX + codec_name
            cls.__doc__ = f"See [numcodecs.{codec_name}.{cls.__name__}][]: its options are keyword arguments."
            CODECS[cls.codec_name] = cls

    def __init__(self, **codec_config: Any) -> None:
        name = self.codec_name.removeprefix(PREFIX)
        if codec_config.get("id", name) != name:
            raise ValueError(f"Codec id does not match {name}. Got: {codec_config['id']}.")
        self.codec_config = {"id": name, **codec_config}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """The codec of a JSON object."""
        _, configuration = parse_named_configuration(data, cls.codec_name, require_configuration=False)
        return cls(**(configuration or {}))

    @property
    def _options(self) -> dict[str, Any]:
        return {name: value for name, value in self.codec_config.items() if name != "id"}

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"name": self.codec_name, "configuration": self._options}

    def evolve_from_array_spec(self, array_spec: Any) -> Any:
        """The codec with the options that depend on the data type."""
        return self

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.codec_config == other.codec_config

    def __hash__(self) -> int:
        return hash((self.codec_name, repr(self.codec_config)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(codec_name={self.codec_name!r}, codec_config={self._options!r})"


class _NumcodecsBytesBytesCodec(_NumcodecsCodec, AppliedBytesBytes, BytesBytesCodec):
    """A codec of numcodecs that encodes bytes to bytes."""


class _NumcodecsArrayArrayCodec(_NumcodecsCodec, AppliedArrayArray, ArrayArrayCodec):
    """A codec of numcodecs that encodes arrays to arrays."""


class _NumcodecsArrayBytesCodec(_NumcodecsCodec, AppliedArrayBytes, ArrayBytesCodec):
    """A codec of numcodecs that encodes arrays to bytes."""


class _NumcodecsChecksumCodec(_NumcodecsBytesBytesCodec):
    """A checksum: four more bytes."""

    is_fixed_size = True

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        return input_byte_length + 4


def _typed(member: str) -> Any:
    """`evolve_from_array_spec` that sets one option to the data type of the array."""

    def evolve(self: Any, array_spec: Any) -> Any:
        if self.codec_config.get(member) is not None:
            return self
        return type(self)(**{**self._options, member: array_spec.dtype.to_native_dtype().str})

    return evolve


class Blosc(_NumcodecsBytesBytesCodec, codec_name="blosc"): ...


class LZ4(_NumcodecsBytesBytesCodec, codec_name="lz4"): ...


class Zstd(_NumcodecsBytesBytesCodec, codec_name="zstd"): ...


class Zlib(_NumcodecsBytesBytesCodec, codec_name="zlib"): ...


class GZip(_NumcodecsBytesBytesCodec, codec_name="gzip"): ...


class BZ2(_NumcodecsBytesBytesCodec, codec_name="bz2"): ...


class LZMA(_NumcodecsBytesBytesCodec, codec_name="lzma"): ...


class Shuffle(_NumcodecsBytesBytesCodec, codec_name="shuffle"):
    def evolve_from_array_spec(self, array_spec: Any) -> Any:
        if self.codec_config.get("elementsize"):
            return self
        return Shuffle(**{**self._options, "elementsize": array_spec.dtype.to_native_dtype().itemsize})


class Delta(_NumcodecsArrayArrayCodec, codec_name="delta"):
    evolve_from_array_spec = _typed("dtype")


class BitRound(_NumcodecsArrayArrayCodec, codec_name="bitround"): ...


class FixedScaleOffset(_NumcodecsArrayArrayCodec, codec_name="fixedscaleoffset"):
    evolve_from_array_spec = _typed("dtype")


class Quantize(_NumcodecsArrayArrayCodec, codec_name="quantize"):
    evolve_from_array_spec = _typed("dtype")


class PackBits(_NumcodecsArrayArrayCodec, codec_name="packbits"): ...


class AsType(_NumcodecsArrayArrayCodec, codec_name="astype"):
    evolve_from_array_spec = _typed("decode_dtype")


class CRC32(_NumcodecsChecksumCodec, codec_name="crc32"): ...


class CRC32C(_NumcodecsChecksumCodec, codec_name="crc32c"): ...


class Adler32(_NumcodecsChecksumCodec, codec_name="adler32"): ...


class Fletcher32(_NumcodecsChecksumCodec, codec_name="fletcher32"): ...


class JenkinsLookup3(_NumcodecsChecksumCodec, codec_name="jenkins_lookup3"): ...


class PCodec(_NumcodecsArrayBytesCodec, codec_name="pcodec"): ...


class ZFPY(_NumcodecsArrayBytesCodec, codec_name="zfpy"): ...


__all__ = [
    "BZ2",
    "CRC32",
    "CRC32C",
    "LZ4",
    "LZMA",
    "ZFPY",
    "Adler32",
    "AsType",
    "BitRound",
    "Blosc",
    "Delta",
    "FixedScaleOffset",
    "Fletcher32",
    "GZip",
    "JenkinsLookup3",
    "PCodec",
    "PackBits",
    "Quantize",
    "Shuffle",
    "Zlib",
    "Zstd",
]
