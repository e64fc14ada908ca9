"""Codecs with everything spelled out that their own generation leaves to readers, such as the element size of blosc."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnizarr.codecs import ArrayCodec, BytesCodec, Codec, Sharding
from omnizarr.model import ArrayModel

__all__ = ["spelled_codecs"]


def spelled_codecs(codecs: Sequence[Codec], model: ArrayModel) -> tuple[Codec, ...]:
    """The codecs as v3 writes them, for an array of that shape and type."""
    spelled: list[Codec] = []
    dtype = model.dtype
    for codec in codecs:
        if isinstance(codec, ArrayCodec):
            codec = codec.resolved(len(model.shape))
            dtype = getattr(codec, "encoded_dtype", None) or dtype
        elif isinstance(codec, BytesCodec):
            codec = codec.resolved(dtype.itemsize)
        elif isinstance(codec, Sharding):
            codec = replace(codec, codecs=spelled_codecs(codec.codecs, model))
        spelled.append(codec)
    return tuple(spelled)
