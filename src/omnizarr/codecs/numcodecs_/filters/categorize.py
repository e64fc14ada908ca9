"""`categorize`: stores strings as the numbers of known labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs.config_members import check, rule
from omnizarr.codecs.contract import BoundArrayCodec, ChunkSpec
from omnizarr.codecs.numcodecs_.base import dtype_name, to_typestr
from omnizarr.codecs.numcodecs_.filters.base import BoundFilter, Elements, Filter, native
from omnizarr.errors import ArgumentError

__all__ = ["Categorize"]


def _are_labels(value: Json) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(label, str) for label in value)


@dataclass(frozen=True, slots=True)
class Categorize(Filter):
    """`{"id": "categorize", "labels": ["male", "female"], "dtype": "|O", "astype": "|u1"}`: the first label is 1.
    Strings that are no label are stored as 0, and read as the empty string.

    With the `dtype` `|O` it supports every type of strings in memory.
    """

    name: ClassVar[str] = "numcodecs.categorize"
    id: ClassVar[str] = "categorize"
    private: ClassVar[bool] = True
    labels: Sequence[str] = field(metadata=rule("a list of strings", _are_labels))
    dtype: str = field(metadata=dtype_name("UO", "`|O`, or a type such as `<U4`"))
    astype: str = field(default="|u1", metadata=dtype_name("iu", "a type of integers such as `|u1`", optional=True))

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", to_typestr(self.dtype))
        object.__setattr__(self, "astype", to_typestr(self.astype))
        check(self)
        object.__setattr__(self, "labels", tuple(self.labels))

    def configuration(self) -> dict[str, Json]:
        return {"labels": list(self.labels), "dtype": self.dtype, "astype": self.astype}

    @property
    def decoded_dtype(self) -> np.dtype[Any] | None:
        return None if self.dtype == "|O" else np.dtype(self.dtype)

    @property
    def encoded_dtype(self) -> np.dtype[Any]:
        return np.dtype(self.astype)

    def completed(self, dtype: np.dtype[Any]) -> Categorize:
        if len(self.labels) > np.iinfo(self.encoded_dtype).max:
            raise ArgumentError(
                f"codec `{self.name}`: {len(self.labels)} labels are too many for type {self.astype}",
                argument="filters",
            )
        return self

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundArrayCodec | None:
        fits = spec.dtype.kind in "OTU" if self.decoded_dtype is None else spec.dtype == native(self.dtype)
        if not fits:
            problems.add(path, f"codec `{self.name}`: expected elements of type {self.dtype}, found {spec.dtype}")
            return None
        return BoundCategorize(self, spec)

    def encode_flat(self, array: Elements) -> Elements:
        if len(self.labels) > np.iinfo(self.encoded_dtype).max:
            raise ValueError(f"{len(self.labels)} labels are too many for type {self.astype}")
        numbers = {label: number for number, label in enumerate(self.labels, start=1)}
        encoded = [numbers.get(item, 0) if isinstance(item, str) else 0 for item in array.tolist()]
        return np.array(encoded, native(self.astype))

    def decode_flat(self, array: Elements) -> Elements:
        return self.decode_as(array, native(self.dtype))

    def decode_as(self, array: Elements, dtype: np.dtype[Any]) -> Elements:
        """The labels for an array of numbers, as an array of `dtype`."""
        labels = np.array(["", *self.labels], dtype)
        has_label = (array > 0) & (array <= len(self.labels))
        decoded: Elements = labels[np.where(has_label, array, 0).astype(np.intp)]
        return decoded


class BoundCategorize(BoundFilter):
    """A bound `Categorize`, for any type of strings in memory."""

    __slots__ = ()

    def __init__(self, codec: Categorize, spec: ChunkSpec) -> None:
        super().__init__(codec, spec, spec.dtype)

    def decode(self, array: Elements) -> Elements:
        codec, dtype = self._codec, self._spec.dtype
        assert isinstance(codec, Categorize)
        return self._apply(
            lambda flat: codec.decode_as(flat, dtype), np.ascontiguousarray(array).reshape(-1), self._spec
        )
