"""`zarrs.vlen_v2`: the format of `vlen-utf8` and `vlen-bytes` for both data types, which zarrs also calls
`vlen-array`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from omnizarr.codecs.array_to_bytes.vlen import Vlen

__all__ = ["VlenV2"]


@dataclass(frozen=True, slots=True)
class VlenV2(Vlen):
    """`{"name": "zarrs.vlen_v2"}`, for `string` and `bytes`."""

    name: ClassVar[str] = "zarrs.vlen_v2"
    only_decodes: ClassVar[str | None] = "only zarrs reads it; use `vlen-utf8` or `vlen-bytes`"
