"""A cancelled token stops reads and writes of every route before the next chunk."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

import omnizarr
from omnizarr.engine import cancel
from omnizarr.engine.cancel import CancelToken, OperationCancelled, current_token
from omnizarr.engine.pool import run
from omnizarr.store import MemoryStore, Store
from omnizarr.testing import RequestStore

T = TypeVar("T")


class CancellingStore(RequestStore, keeps_capabilities=True):
    """Cancels a token at the first request for a chunk after `arm`, and counts these requests."""

    def __init__(self, inner: Store, *, remote: bool = False) -> None:
        super().__init__(inner)
        self.remote = remote
        self.token: CancelToken | None = None
        self.requests = 0

    def arm(self, token: CancelToken) -> None:
        self.token, self.requests = token, 0

    def request(self, method: str, key: str, act: Callable[[], T], *, torn: Callable[[], object] | None = None) -> T:
        if self.token is not None and "c/" in key:
            self.requests += 1
            self.token.cancel()
        return act()


def under(token: CancelToken, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a context with this token."""
    context = copy_context()
    context.run(current_token.set, token)
    return context.run(function, *arguments)


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize("shards", [None, (8, 8)])
@pytest.mark.parametrize("writes", [False, True])
def test_no_further_chunks_after_cancel(remote: bool, shards: tuple[int, int] | None, writes: bool) -> None:
    store = CancellingStore(MemoryStore(), remote=remote)
    z = omnizarr.create_array(store, shape=(800, 8), chunks=(4, 4), shards=shards, dtype="i4")
    z[...] = 1
    count = z.cdata_shape[0] * z.cdata_shape[1] if shards is None else 100
    token = CancelToken()
    store.arm(token)
    with pytest.raises(OperationCancelled):
        under(token, z.__setitem__, ..., np.full(z.shape, 2)) if writes else under(token, z.__getitem__, ...)
    assert 0 < store.requests < count
    store.token = None
    assert set(np.unique(z[...])) <= {1, 2}, "chunks are whole, old or new"


@pytest.mark.parametrize("shards", [None, (40, 40)])
def test_the_kernel_reads_in_batches_under_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: tuple[int, int] | None
) -> None:
    """A call of the kernel cannot be stopped, so that it must be short."""
    monkeypatch.setattr("omnizarr.engine.read.native.reader.KERNEL_BYTES", 1000)
    monkeypatch.setattr("omnizarr.engine.read.native.shards.KERNEL_BYTES", 1000)
    data = np.arange(400 * 400).reshape(400, 400)
    z = omnizarr.create_array(tmp_path, data=data, chunks=(20, 20), shards=shards)
    token = CancelToken()
    assert np.array_equal(under(token, z.__getitem__, ...), data)
    token.cancel()
    with pytest.raises(OperationCancelled):
        under(token, z.__getitem__, ...)
    assert np.array_equal(under(token, z.__getitem__, ...), data), "the token raises once"


def test_other_threads_see_the_token() -> None:
    token = CancelToken()
    items: list[int] = []

    def start() -> Callable[[int], None]:
        def work(item: int) -> None:
            items.append(item)
            if item == 3:
                token.cancel()

        return work

    with pytest.raises(OperationCancelled):
        under(token, run, range(10_000), start, 4)
    assert len(items) < 10_000


def test_a_program_without_a_token_is_not_cancelled() -> None:
    assert current_token.get() is None
    assert issubclass(cancel.OperationCancelled, BaseException)
    assert not issubclass(cancel.OperationCancelled, Exception), "no fallback of a store or codec may handle it"
