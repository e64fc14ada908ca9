"""The number of the next epoch, which forked workers share with the process that sets it."""

from __future__ import annotations

import mmap
import struct
from typing import Any

__all__ = ["EpochCell"]

_FORM = struct.Struct("=qq")  # the epoch that was set, and how often one was set


class EpochCell:
    """Lets workers that a program keeps from epoch to epoch see what the program sets. A spawned worker gets a copy.

    Without a call of `set`, each epoch is the one after the last.
    """

    def __init__(self, epoch: int = 0) -> None:
        self._memory = mmap.mmap(-1, _FORM.size)
        self._next = epoch
        self._seen = 0

    def set(self, epoch: int) -> None:
        """The next epoch, in this process and in those that it forked."""
        self._memory[:] = _FORM.pack(epoch, _FORM.unpack(self._memory[:])[1] + 1)

    @property
    def next_epoch(self) -> int:
        """The epoch that `start` would return."""
        epoch, number = _FORM.unpack(self._memory[:])
        return self._next if number == self._seen else int(epoch)

    def start(self) -> int:
        """Begin an epoch, and return its number."""
        epoch = self.next_epoch
        self._seen = _FORM.unpack(self._memory[:])[1]
        self._next = epoch + 1
        return epoch

    def __reduce__(self) -> tuple[Any, ...]:
        return EpochCell, (self.next_epoch,)
