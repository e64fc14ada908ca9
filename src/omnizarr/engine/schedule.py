"""Decoding a row of chunks: in one go, or, by a thread that works alone, shared out if it takes long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from omnizarr.codecs import Chain
from omnizarr.config import config
from omnizarr.engine.pool import aside
from omnizarr.store import Buffer

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["decode_row"]

_WORTH = 250  # microseconds of decoding: to hand less to another thread, and to meet again, takes as long


def decode_row(
    chain: Chain,
    values: Sequence[Buffer | None],
    chunks: Sequence[npt.NDArray[Any]],
    memories: Sequence[memoryview],
    room: memoryview | None,
) -> None:
    """`chain.decode_many`. Threads that read rows side by side have their hands full; but a small read is done by one,
    who gives others a share where each is decoded by a single call, in which Python is not needed."""
    count = len(values)
    shares = 1
    if chain.batches and room is not None and count > 1:
        shares = min(count, config.workers, int(count * chain.microseconds / _WORTH))
    if shares < 2:
        chain.decode_many(values, chunks, memories, room)
        return
    size = chain.spec.nbytes
    edges = [count * share // shares for share in range(shares + 1)]

    def decode(share: int) -> None:
        start, stop = edges[share], edges[share + 1]
        assert room is not None
        chain.decode_many(
            values[start:stop], chunks[start:stop], memories[start:stop], room[size * start : size * stop]
        )

    others: list[Future[object]] = []
    alone = [0]
    for share in range(1, shares):
        done = aside(lambda share=share: decode(share))  # type: ignore[misc]
        if done is None:
            alone.append(share)
        else:
            others.append(done)
    try:
        for share in alone:
            decode(share)
    finally:
        for done in others:  # whatever happens, nobody writes to this memory after
            done.exception()
    for done in others:
        done.result()
