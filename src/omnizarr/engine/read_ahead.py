"""Reading in order: parts of an array are read in other threads while the caller works on the parts before them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextvars import copy_context
from typing import Any, NamedTuple, TypeVar

from omnizarr.engine.cancel import CancelToken, current_token
from omnizarr.store.requests.threads import run_in_thread

__all__ = ["read_in_order"]

T = TypeVar("T")

_MOST_BYTES = 2**26  # that are read ahead
_MOST_PARTS = 8


class _Part(NamedTuple):
    """A part that is being read, or has been."""

    future: Future[Any]
    token: CancelToken
    nbytes: int

    def cancel(self) -> None:
        self.token.cancel()


def _start(read: Callable[[Any], T], key: Any, nbytes: int, previous: _Part | None) -> _Part:
    """Call `read(key)` in another thread, after `previous` has been read."""
    part = _Part(Future(), CancelToken(), nbytes)
    context = copy_context()
    context.run(current_token.set, part.token)
    awaited = None if previous is None else previous.future

    def work() -> None:
        nonlocal awaited
        try:
            if awaited is not None:
                wait([awaited])
                awaited = None  # release its result
                part.token.check()
            part.future.set_result(context.run(read, key))
        except BaseException as error:
            part.future.set_exception(error)

    run_in_thread(work)
    return part


def read_in_order(
    read: Callable[[Any], T],
    keys: Iterable[tuple[Any, int]],
    *,
    ahead: bool,
    most_bytes: int | None = None,
    at_once: int = _MOST_PARTS,
) -> Iterator[T]:
    """`read(key)` for each pair of a key and the size of its result in bytes.

    With `ahead`, other threads read the next parts, `at_once` parts at a time, up to `most_bytes` (64 MiB) together
    with the part that the caller works on. A loop over local files needs no `ahead`: a read of them uses all cores.
    """
    if not ahead:
        for key, _ in keys:
            yield read(key)
        return
    most_bytes = _MOST_BYTES if most_bytes is None else most_bytes
    parts: deque[_Part] = deque()
    latest: deque[_Part] = deque(maxlen=at_once)
    pending = iter(keys)
    following = next(pending, None)
    total_bytes = 0  # bytes of the part that the caller works on, and of those ahead
    try:
        while parts or following is not None:
            while following is not None and len(parts) <= _MOST_PARTS:
                key, nbytes = following
                if total_bytes and total_bytes + nbytes > most_bytes:
                    break
                part = _start(read, key, nbytes, latest[0] if len(latest) == at_once else None)
                parts.append(part)
                latest.append(part)
                total_bytes += nbytes
                following = next(pending, None)
            part = parts.popleft()
            nbytes = part.nbytes
            result = part.future.result()
            if part in latest:
                latest.remove(part)
            del part
            yield result
            del result
            total_bytes -= nbytes
    finally:
        for part in parts:
            part.cancel()
