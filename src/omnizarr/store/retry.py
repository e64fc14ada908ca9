"""How to try to change what others change, too."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from omnizarr.errors import StoreError
from omnizarr.store.contract import Store

__all__ = ["again", "attempts"]

_LOCKED = 100  # attempts under a lock; the first one succeeds unless somebody does not respect it
_WAITED = 60  # attempts after a pause: together nearly a minute
_FIRST, _LONGEST = 0.004, 2.0  # seconds


def attempts(store: Store, keys: Sequence[str]) -> Iterator[AbstractContextManager[None]]:
    """Blocks in which to read `keys`, and to set them if they are still as they were read; until that goes well. The
    first attempt takes nobody's time but one's own."""
    yield nullcontext()
    yield from again(store, keys)


def again(store: Store, keys: Sequence[str]) -> Iterator[AbstractContextManager[None]]:
    """Blocks for further attempts. Others are kept out, if the store can do that; if not, each is made after a pause of
    some random length, which grows."""
    if store.locking and store.conditional:
        for _ in range(_LOCKED):
            yield store.lock(keys)
    else:
        import random  # seldom needed

        longest = _FIRST
        for _ in range(_WAITED):
            time.sleep(random.uniform(0, longest))
            longest = min(_LONGEST, 2 * longest)
            yield nullcontext()
    raise StoreError(f"`{keys[0]}` in {store!r} is changed by others all the time", store=repr(store), key=keys[0])
