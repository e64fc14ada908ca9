"""What compresses chunks of a new array, if the user does not say."""

from __future__ import annotations

from omnizarr.codecs import Blosc, BytesCodec, Zstd
from omnizarr.dtypes import DataType

__all__ = ["usual_compressors"]


def usual_compressors(data_type: DataType) -> tuple[BytesCodec, ...]:
    """What compresses well and fast on most data, and is read by everybody: measured, see docs/defaults.md."""
    itemsize = data_type.dtype.itemsize
    if data_type.fixed_size and 2 <= itemsize <= 255:
        return (Blosc("zstd", 1, "shuffle", itemsize, min(2**17 * itemsize, 2**20)),)
    return (Zstd(level=1),)
