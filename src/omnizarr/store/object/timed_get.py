"""GET requests of obstore with a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from omnizarr.store.deadline import Deadline

__all__ = ["get_before"]


class _Received(NamedTuple):
    """The parts of obstore's `GetResult` that `ObjectReader` uses."""

    meta: Any
    range: tuple[int, int]
    attributes: Any
    data: Any

    def buffer(self) -> Any:
        return self.data


def get_before(deadline: Deadline, client: Any, path: str, options: Mapping[str, Any]) -> Any:
    """`client.get(path)`, which ends at the deadline. Only obstore's coroutines can be broken off: its functions would
    go on in the background."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        if hasattr(client, "get_async"):
            try:
                return asyncio.run(_get(client, path, options, deadline.remaining()))
            except TimeoutError:
                deadline.check()
                raise
    deadline.check()
    return client.get(path, options=options)  # of a thread with an event loop, or of a client without coroutines


async def _get(client: Any, path: str, options: Mapping[str, Any], seconds: float) -> _Received:
    async with asyncio.timeout(seconds):
        answer = await client.get_async(path, options=options)
        data = await answer.bytes_async()
    return _Received(answer.meta, answer.range, answer.attributes, data)
