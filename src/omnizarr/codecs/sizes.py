"""How long bytes may be: the check of a decoded length, and the bound of what a compressor may have made of them."""

from __future__ import annotations

from omnizarr.codecs.contract import ByteSpec
from omnizarr.errors import CodecError

__all__ = ["check_size", "compressed"]


def check_size(codec: str, spec: ByteSpec, found: int) -> None:
    """Raises unless a decoded length of `found` is what `spec` says."""
    if spec.size is not None:
        if found != spec.size:
            raise CodecError(codec, f"expected {spec.size} bytes, found {found}", expected=spec.size, found=found)
    elif found > spec.limit:
        raise CodecError(codec, f"expected at most {spec.limit} bytes, found {found}", expected=spec.limit, found=found)


def compressed(spec: ByteSpec) -> ByteSpec:
    """What a compressor turns `spec` into. Compression may lengthen, by headers and by blocks that did not shrink; no
    real writer doubles the length, so a longer input of the next codec is refused as hostile."""
    return ByteSpec(size=None, limit=2 * spec.limit + 4096)
