"""Small values, such as metadata documents, read by the kernel: many files in one call, without Python in between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from omnizarr.config import config
from omnizarr.native import UNUSUAL, kernel
from omnizarr.store.contract import Buffer, ByteRange, Request
from omnizarr.store.local.paths import NativePaths

__all__ = ["read_small_value", "read_small_values"]

_BATCH = 256  # requests of one call; the kernel keeps at most 64 KiB for each
_PER_THREAD = 32  # requests for which waking a thread of the kernel pays off


def read_small_value(paths: NativePaths, key: str, part: ByteRange | None) -> Buffer | int | None:
    """The answer to one request, as `read_small_values` gives it."""
    module = kernel() if config.current.native and paths.for_kernel else None
    if module is None:
        return UNUSUAL
    value: Buffer | int | None = module.read_value(paths.top, key, part, paths.flags, paths.follow_links)
    return value


def read_small_values(paths: NativePaths, requests: Sequence[Request]) -> Iterable[Buffer | int | None] | None:
    """The answers to the requests, in their order; an integer stands for one that Python has to answer, such as one for
    a long value. None if the kernel cannot read these files, or if a request is not for the beginning of a value."""
    settings = config.current
    module = kernel() if settings.native and paths.for_kernel else None
    if module is None:
        return None
    if len(requests) < 2 * _PER_THREAD:
        values: list[Buffer | int | None] | None
        values = module.read_values(paths.top, tuple(requests), paths.flags, paths.follow_links, 1)
        return values
    last = None
    for key, part in requests:
        # Requests for one key that follow each other are answered from one state of its value.
        if key == last or (part is not None and (part[0] != 0 or (part[1] is not None and part[1] < 0))):
            return None
        last = key
    threads = min(settings.workers, _BATCH // _PER_THREAD)

    def read(start: int) -> list[Buffer | int | None]:
        batch = tuple(requests[start : start + _BATCH])
        values: list[Buffer | int | None] | None
        values = module.read_values(paths.top, batch, paths.flags, paths.follow_links, threads)
        return [UNUSUAL] * len(batch) if values is None else values

    return chain.from_iterable(map(read, range(0, len(requests), _BATCH)))
