"""The kernel writes files: whole chunks, which it also encodes, and values that Python has encoded."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from omnizarr.codecs import Chain
from omnizarr.native import kernel
from omnizarr.store import Buffer, LocalFiles, Store

__all__ = ["write_row", "write_values"]


def write_row(
    files: LocalFiles, chain: Chain, codec: int, keys: list[str], row: npt.NDArray[Any], keep_empty: bool
) -> bytes | None:
    """Encode and store whole chunks that are side by side in `row`, and return the status of each: DONE, ABSENT if it
    holds nothing but the fill value and was not stored, or UNUSUAL. None if the store does not take these files."""
    shape, strides = chain.spec.shape, row.strides
    distance = shape[-1] * strides[-1] if shape else 0
    offsets = [number * distance for number in range(len(keys))]
    address = row.__array_interface__["data"][0]
    fill = None if keep_empty else chain.spec.fill.tobytes()

    def write(target: tuple[object, ...], temporaries: list[str], names: list[str]) -> bytes:
        statuses: bytes = kernel().write(
            target,
            temporaries,
            names,
            address,
            offsets,
            shape,
            strides,
            row.itemsize,
            fill,
            codec,
            chain.native_options,
        )
        return statuses

    return files.publish(keys, write)


def write_values(store: Store, files: LocalFiles, keys: list[str], values: list[Buffer]) -> bool:
    """Store encoded values; False if the store does not take these files."""
    statuses = files.publish(keys, lambda *files: kernel().write_files(*files, values))
    if statuses is None:
        return False
    for key, value, status in zip(keys, values, statuses, strict=True):
        if status:
            store.set(key, value)  # raises if it cannot be stored
    return True
