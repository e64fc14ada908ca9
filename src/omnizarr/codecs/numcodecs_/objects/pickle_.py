"""`pickle`: objects as Python pickles, which can execute arbitrary code when they are read (A61)."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from omnizarr._json import Problems
from omnizarr.codecs.config_members import check, integer
from omnizarr.codecs.contract import BoundSerializer, Buffer, ChunkSpec, Serializer
from omnizarr.codecs.numcodecs_.base import Numcodec
from omnizarr.codecs.numcodecs_.objects.items import check_kind, object_byte_spec
from omnizarr.errors import CodecError

__all__ = ["BoundPickle", "Pickle"]


@dataclass(frozen=True, slots=True)
class Pickle(Numcodec, Serializer):
    """`{"id": "pickle", "protocol": 5}`. `allowed` is not part of documents; only the caller can set it."""

    name: ClassVar[str] = "numcodecs.pickle"
    id: ClassVar[str] = "pickle"
    private: ClassVar[bool] = True
    protocol: int = field(default=5, metadata=integer(0, 255, optional=True))
    allowed: bool = False
    record: np.dtype[Any] | None = None
    """The type of the pickled elements, if they are records with objects, which are tuples in memory. It comes from the
    array's type, not from the configuration."""

    def __post_init__(self) -> None:
        check(self)

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundPickle | None:
        if self.allowed is not True:
            problems.add(
                path,
                "codec `pickle` can execute arbitrary code; open with allow_pickle=True if you trust the source",
                rule="A61",
            )
            return None
        return BoundPickle(spec, self.protocol, self.record) if check_kind(self.name, spec, path, problems) else None


class BoundPickle(BoundSerializer):
    """A bound `Pickle`, which stores a chunk as the pickle of a NumPy array."""

    __slots__ = ("_protocol", "_record", "_spec", "encoded")

    def __init__(self, spec: ChunkSpec, protocol: int, record: np.dtype[Any] | None = None) -> None:
        self._spec = spec
        self._record = record
        self._protocol = min(protocol, pickle.HIGHEST_PROTOCOL)
        self.encoded = object_byte_spec()

    def encode(self, array: npt.NDArray[Any]) -> Buffer:
        try:
            objects = np.ascontiguousarray(array, object).reshape(array.shape)
            return pickle.dumps(objects if self._record is None else _records(objects, self._record), self._protocol)
        except Exception as error:  # objects may raise anything
            raise CodecError("pickle", f"{type(error).__name__}: {error}") from None

    def decode(self, data: Buffer) -> npt.NDArray[Any]:
        try:
            array = pickle.loads(data)
        except Exception as error:  # pickles may raise anything
            raise CodecError("pickle", f"{type(error).__name__}: {error}") from None
        if not isinstance(array, np.ndarray) or array.size != _count(self._spec):
            raise CodecError("pickle", f"expected an array of {_count(self._spec)} elements")
        try:
            return array.astype(self._spec.dtype, copy=False).reshape(self._spec.shape)
        except (TypeError, ValueError, OverflowError) as error:
            raise CodecError("pickle", str(error)) from None


def _records(elements: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Tuples as records; None becomes zeros."""
    records = np.zeros(elements.shape, dtype)
    for index, element in np.ndenumerate(elements):
        if element is not None:
            records[index] = element
    return records


def _count(spec: ChunkSpec) -> int:
    return spec.nbytes // spec.dtype.itemsize
