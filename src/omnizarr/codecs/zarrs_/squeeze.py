"""`zarrs.squeeze`: removes the dimensions in which chunks have length 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from omnizarr._json import Json, Problems
from omnizarr.codecs.array_to_array.reshape import BoundReshape
from omnizarr.codecs.config_members import read
from omnizarr.codecs.contract import ArrayCodec, ChunkSpec

__all__ = ["Squeeze"]


@dataclass(frozen=True, slots=True)
class Squeeze(ArrayCodec):
    """`{"name": "zarrs.squeeze"}`. At least one dimension remains."""

    name: ClassVar[str] = "zarrs.squeeze"
    only_decodes: ClassVar[str | None] = "only zarrs reads it; use `reshape`"

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Squeeze | None:
        return None if read(cls, configuration, path, problems) is None else cls()

    def configuration(self) -> dict[str, Json]:
        return {}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundReshape:
        return BoundReshape(spec, tuple(length for length in spec.shape if length != 1) or (1,))
