"""`bitround`: floats with only the first bits of their mantissas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from omnizarr._json import Json, Problems
from omnizarr.codecs.config_fields import check, integer
from omnizarr.codecs.contract import BoundArrayCodec, ChunkSpec
from omnizarr.codecs.numcodecs_.filters.base import BoundFilter, Elements, Filter

__all__ = ["BitRound"]

_MANTISSAS = {"float16": 10, "float32": 23, "float64": 52}


@dataclass(frozen=True, slots=True)
class BitRound(Filter):
    """`{"id": "bitround", "keepbits": 7}`: rounded to nearest, ties to even. Nothing is undone in decoding.

    As in numcodecs but for one thing: there the rounding may carry a NaN of many set bits over into a number.
    """

    name: ClassVar[str] = "numcodecs.bitround"
    id: ClassVar[str] = "bitround"
    keepbits: int = field(metadata=integer(0, 52))
    alias: bool = field(default=False, compare=False, repr=False)
    """Whether a document of version 3 names it. There it is another name of the registered codec, which takes more
    types, and zarrs wrote it for all of them (R127)."""

    def __post_init__(self) -> None:
        check(self)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> BitRound | None:
        found = super(BitRound, cls).parse(configuration, path, problems)
        return None if found is None else cls(found.keepbits, alias=True)

    @property
    def decoded_dtype(self) -> None:
        return None

    @property
    def encoded_dtype(self) -> None:
        return None

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundArrayCodec | None:
        bits = _MANTISSAS.get(spec.dtype.name)
        if bits is None and self.alias:
            from omnizarr.codecs.array_to_array.bit_round import BitRound as Registered  # hardly ever needed

            return Registered(max(1, self.keepbits)).bind(spec, path, problems)
        if bits is None:
            problems.add(path, f"`{self.name}` takes floats of 16 to 64 bits, and these are of type {spec.dtype}")
        elif self.keepbits > bits:
            problems.add(
                f"{path}.configuration.keepbits", f"{spec.dtype} has {bits} bits to keep, found {self.keepbits}"
            )
        else:
            return BoundFilter(self, spec, spec.dtype)
        return None

    def encode_flat(self, array: Elements) -> Elements:
        drop = _MANTISSAS[array.dtype.name] - self.keepbits
        if drop <= 0:
            return array
        bits = array.view(f"i{array.dtype.itemsize}")
        # half of the last kept bit, less one unless that bit is set: exact halves go to the even neighbour
        rounded = bits + ((bits >> drop & 1) + ((1 << (drop - 1)) - 1))
        rounded &= -1 << drop
        encoded = rounded.view(array.dtype)
        lost = np.isnan(array) & ~np.isnan(encoded)
        return np.where(lost, array, encoded) if lost.any() else encoded

    def decode_flat(self, array: Elements) -> Elements:
        return array
