"""VLenBytesCodec, VLenUTF8Codec."""

from __future__ import annotations

from omnizarr.compat.zarr.codecs._classes import VLenBytesCodec, VLenUTF8Codec

__all__ = ["VLenBytesCodec", "VLenUTF8Codec"]
