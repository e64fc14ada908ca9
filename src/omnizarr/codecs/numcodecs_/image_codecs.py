"""The codecs of the package imagecodecs in v3 documents, under the names that its module `imagecodecs.zarr` writes.

The package imagecodecs-zarr registers the same names with zarr-python. Codecs of images and of elements encode arrays;
the others compress bytes. omnizarr calls them by their numcodecs interface, which older versions of imagecodecs have,
too. Codecs whose stored bytes were not compared with that module, and unsafe ones, are not here.
"""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass
from typing import Any, ClassVar

from omnizarr._extension import Extension
from omnizarr._fork import import_library
from omnizarr._json import Json, Problems
from omnizarr.codecs.contract import (
    BoundBytesCodec,
    BoundSerializer,
    BytesCodec,
    ByteSpec,
    ChunkSpec,
    Codec,
    Serializer,
)
from omnizarr.codecs.numcodecs_.foreign import Foreign, ForeignArray, is_in_numcodecs

__all__ = ["ImageCompressor", "ImageSerializer", "parse_image_codec"]

_PREFIX = "imagecodecs_"

_SERIALIZERS = frozenset(
    (
        *("apng", "avif", "bfloat16", "bmp", "byteshuffle", "float24", "floatpred", "gif", "heif", "jpeg", "jpeg2k"),
        *("jpegxl", "jpegxr", "jpegxs", "lerc", "meshopt", "png", "qoi", "rcomp", "spng", "tiff", "webp", "zfp"),
    )
)
_UNSAFE = frozenset(("aec", "htj2k", "jpegls", "ljpeg", "pcodec", "sz3"))
"""Codecs that crash the process on damaged data or with wrong options, or do not return (imagecodecs 2026.3.6, 300
damaged chunks each)."""
_COMPRESSORS = frozenset(
    (
        *("blosc", "blosc2", "brotli", "bz2", "deflate", "lz4", "lz4f", "lz4h5", "lzf", "lzfse", "lzham"),
        *("lzma", "lzw", "packbits", "pglz", "snappy", "szip", "zlib", "zlibng", "zopfli", "zstd"),
    )
)


class _ImageCodec(Codec):
    """Base of both kinds: a name, and options that only imagecodecs interprets."""

    document_name: str
    options: dict[str, Json]

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.document_name

    @property
    def id(self) -> str:
        """The name of the codec in numcodecs. Programs that register a wrapper of it with zarr-python prefix it."""
        return self.document_name.removeprefix("numcodecs.")

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Codec | None:
        raise AssertionError("`parse_image_codec` reads such a codec, because its name is variable")

    def configuration(self) -> dict[str, Json]:
        return dict(self.options)

    def __hash__(self) -> int:
        return hash((self.document_name, json.dumps(self.options, sort_keys=True)))


@dataclass(frozen=True, slots=True)
class ImageCompressor(_ImageCodec, BytesCodec):
    """A bytes → bytes codec of imagecodecs."""

    private: ClassVar[bool] = False
    document_name: str
    options: dict[str, Json]

    __hash__ = _ImageCodec.__hash__

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundBytesCodec | None:
        return Foreign({"id": self.id, **self.options}).bind(spec, path, problems)


@dataclass(frozen=True, slots=True)
class ImageSerializer(_ImageCodec, Serializer):
    """An array → bytes codec of imagecodecs. It receives little-endian elements."""

    private: ClassVar[bool] = False
    document_name: str
    options: dict[str, Json]

    __hash__ = _ImageCodec.__hash__

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundSerializer | None:
        if spec.dtype.kind not in "biufc":
            problems.add(path, f"codec `{self.name}` is for numbers, but the elements have the type {spec.dtype}")
            return None
        stored = spec.dtype.newbyteorder("<")
        config: dict[str, Any] = {"id": self.id, **self.options}
        for name, value in (("shape", list(spec.shape)), ("dtype", stored.str)):
            if name in _parameters(self.id):
                config[name] = value  # v3 documents omit it, because chunks have it
        return ForeignArray(config, stored).bind(spec, path, problems)


def _parameters(id: str) -> frozenset[str]:
    """The names of the options of a codec in numcodecs."""
    registry = import_library("numcodecs.registry").codec_registry
    return frozenset(inspect.signature(registry[id].__init__).parameters) if id in registry else frozenset()


def parse_image_codec(extension: Extension, path: str, problems: Problems) -> Codec | None:
    """The codec that a document names; adds to `problems` and returns None if there is none."""
    name = extension.name
    kind = name.removeprefix("numcodecs.").removeprefix(_PREFIX)
    if kind not in _SERIALIZERS | _COMPRESSORS:
        known = [_PREFIX + item for item in _SERIALIZERS | _COMPRESSORS]
        hint = "damaged data or wrong options would crash the process, or hang it" if kind in _UNSAFE else None
        problems.unknown(extension.name_path, "codec", name, known, hint=hint)
        return None
    if not is_in_numcodecs(_PREFIX + kind):
        problems.add(
            extension.name_path,
            f"codec `{name}` needs the package imagecodecs",
            hint="install it with `pip install 'omnizarr[imagecodecs]'`",
        )
        return None
    options = {option: value for option, value in extension.configuration.items() if option != "id"}
    for option in options.keys() - _parameters(_PREFIX + kind) | options.keys() & {"shape", "dtype", "squeeze"}:
        problems.add(f"{path}.configuration.{option}", "unknown member")
        return None
    return (ImageSerializer if kind in _SERIALIZERS else ImageCompressor)(name, options)
