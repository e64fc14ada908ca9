"""`pcodec`: the standalone format of pco."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from omnizarr._fork import import_library
from omnizarr._json import Problems
from omnizarr.codecs.config_members import check, choice, integer, or_null, rule
from omnizarr.codecs.contract import BoundSerializer, Buffer, ByteSpec, ChunkSpec, Serializer, codec_library, compressed
from omnizarr.codecs.number_types import components
from omnizarr.codecs.numcodecs_.base import Numcodec
from omnizarr.errors import ArgumentError, CodecError

__all__ = ["BoundPcodec", "Pcodec"]

_TYPES = frozenset(["u2", "u4", "u8", "i2", "i4", "i8", "f2", "f4", "f8"])


@cache
def _library() -> Any:
    return codec_library(Pcodec, "pcodec.standalone")


@dataclass(frozen=True, slots=True)
class Pcodec(Numcodec, Serializer):
    """`{"id": "pcodec", "level": 8, "mode_spec": "auto", "delta_spec": "auto", "paging_spec": "equal_pages_up_to",
    "delta_encoding_order": null, "equal_pages_up_to": 262144}`"""

    name: ClassVar[str] = "numcodecs.pcodec"
    id: ClassVar[str] = "pcodec"
    needs: ClassVar[str | None] = "pcodec"
    level: int = field(default=8, metadata=integer(0, 12, optional=True))
    mode_spec: Literal["auto", "classic"] = field(default="auto", metadata=choice("auto", "classic", optional=True))
    delta_spec: Literal["auto", "none", "try_consecutive", "try_lookback"] = field(
        default="auto", metadata=choice("auto", "none", "try_consecutive", "try_lookback", optional=True)
    )
    paging_spec: Literal["equal_pages_up_to"] = field(
        default="equal_pages_up_to",
        metadata=rule("`equal_pages_up_to`", lambda value: value == "equal_pages_up_to", optional=True),
    )
    delta_encoding_order: int | None = field(default=None, metadata=or_null(integer(0, 7, optional=True)))
    equal_pages_up_to: int = field(default=262144, metadata=integer(1, 2**24, optional=True))

    def __post_init__(self) -> None:
        check(self)
        if self.delta_encoding_order is not None and self.delta_spec not in ("auto", "try_consecutive"):
            raise ArgumentError(
                f"codec `{self.name}`: `delta_encoding_order` requires `delta_spec` `try_consecutive` or `auto`, "
                f"found `{self.delta_spec}`",
                argument="delta_encoding_order",
            )

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundPcodec | None:
        parts = components(spec.dtype)
        if parts is None or parts[0].str[1:] not in _TYPES:
            problems.add(path, f"codec `{self.name}`: expected numbers of 16 to 64 bits, found {spec.dtype}")
            return None
        return BoundPcodec(spec, self, *parts)


class BoundPcodec(BoundSerializer):
    """A bound `Pcodec`. `decode` depends only on the data, not on the configuration, and never writes more than a
    chunk. Times are encoded as integers, complex numbers as pairs of floats, as in zarrs."""

    __slots__ = ("_codec", "_count", "_part", "_spec", "encoded")

    def __init__(self, spec: ChunkSpec, codec: Pcodec, part: np.dtype[Any], parts: int) -> None:
        self._spec = spec
        self._codec = codec
        self._part = part
        self._count = parts * math.prod(spec.shape)
        self.encoded = compressed(ByteSpec(None, spec.nbytes))

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        _library()  # raises MissingDependencyError, which numcodecs does not
        codec = import_library("numcodecs.pcodec").PCodec(**self._codec.configuration())
        return bytes(_call(codec.encode, np.ascontiguousarray(array).reshape(-1).view(self._part)))

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        array = _call(np.empty, self._count, self._part)
        progress = _call(_library().simple_decompress_into, bytes(data), array)
        if progress.n_processed != self._count or not progress.finished:
            decoded_count = progress.n_processed if progress.finished else f"more than {self._count}"
            raise CodecError("pcodec", f"expected {self._count} numbers, found {decoded_count}")
        decoded: npt.NDArray[Any] = array.view(self._spec.dtype).reshape(self._spec.shape)
        return decoded


def _call(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except (TypeError, ValueError, RuntimeError, OverflowError, MemoryError) as error:
        raise CodecError("pcodec", str(error) or "not enough memory") from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # raised when the Rust code panics
            raise
        raise CodecError("pcodec", "the data are damaged") from None
