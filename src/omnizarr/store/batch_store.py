"""A base class for stores whose native operations are batches: one value is a batch of one (S61, S77)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from omnizarr.store.contract import Buffer, ByteRange, Request, Store

__all__ = ["StoreWithPartialAccess"]


class StoreWithPartialAccess(Store):
    """A store that is complete with `location`, `get_partial_values`, `set_each`, `erase_values` and `list_prefix`.

    `set_partial_values` can take the place of `set_each`; a value that gets shorter is then erased before it is set.
    """

    @abstractmethod
    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]: ...

    @abstractmethod
    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None: ...

    @abstractmethod
    def erase_values(self, keys: Iterable[str]) -> None: ...

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        return self.get_partial_values([(key, range)])[0]

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        yield from enumerate(self.get_partial_values(requests))

    def set(self, key: str, value: Buffer) -> None:
        # Not `set_partial_values`, which would leave the end of a longer old value.
        self.set_each([(key, value)])

    def erase(self, key: str) -> None:
        self.erase_values([key])
