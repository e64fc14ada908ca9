"""`Loader`: batches of samples from arrays, epoch after epoch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from omnizarr.errors import ArgumentError
from omnizarr.loaders.epoch import Epoch, SampleRange
from omnizarr.loaders.epoch_cell import EpochCell
from omnizarr.loaders.map_style import Samples
from omnizarr.loaders.processes import Share, current_worker, resolve_rank
from omnizarr.loaders.sources import SampleSource

__all__ = ["Loader"]

_STATE_VERSION = 1


class Loader:
    """An iterable over batches. Each loop is one epoch, with an order of its own if the loader shuffles.

    It is also an `IterableDataset` of PyTorch: `DataLoader(loader, batch_size=None, num_workers=4)`. `omnizarr.loader`
    makes one, and explains the arguments.
    """

    def __init__(
        self,
        source: SampleSource,
        form: Callable[[list[Any]], Any],
        *,
        batch_size: int | None,
        shuffle: bool,
        seed: int,
        drop_last: bool,
        even: bool,
        rank: tuple[int | None, int | None],
        buffer_bytes: int,
        settings: dict[str, Any],
    ) -> None:
        self._source = source
        self._form = form
        self._batch_size = batch_size
        self._shuffle = shuffle
        self._seed = seed
        self._drop_last = drop_last
        self._even = even
        self._rank = rank
        self._buffer_bytes = buffer_bytes
        self._settings = settings
        """What determines the order of the samples, for states."""
        self._cell = EpochCell()
        self._resumed: dict[str, Any] | None = None
        self._latest: Epoch | None = None
        _ = self.rank  # report errors at once

    @property
    def rank(self) -> Share:
        """The share of this process among those that train together."""
        return resolve_rank(*self._rank)

    @property
    def samples(self) -> Samples:
        """The samples by number: a map-style dataset."""
        return Samples(self._source, self._seed, self._cell, self._form)

    @property
    def _range(self) -> SampleRange:
        """The samples of this rank."""
        rank, total = self.rank, self._source.count
        numbers = rank.of(total - total % rank.total if self._even else total)
        batch = self._batch_size or 1
        length = len(numbers) // batch * batch if self._drop_last else len(numbers)
        return SampleRange(numbers.start, numbers.start + length, batch)

    def __len__(self) -> int:
        """The number of batches of this rank in an epoch, whatever the number of workers."""
        return self._range.batches

    # -- epochs

    @property
    def epoch(self) -> int:
        """The number of the next epoch."""
        return self._cell.next_epoch

    def set_epoch(self, epoch: int) -> None:
        """Choose the next epoch. Without it, each loop is the epoch after that of the last loop in the same process:
        workers that are started anew for each epoch do not know of the last one."""
        self._cell.set(_as_number(epoch, "epoch"))

    def __iter__(self) -> Epoch:
        share, first = current_worker(), 0
        if self._resumed is not None and self._resumed["epoch"] == self.epoch:
            share, first = _resumed_share(self._resumed, share)
        self._resumed = None
        epoch = self._cell.start()
        samples = self._range.part(share)
        form = self._form if self._batch_size is not None else self._single
        self._latest = Epoch(
            self._source,
            (self._seed, epoch),
            samples,
            share,
            first,
            shuffle=self._shuffle,
            buffer_bytes=self._buffer_bytes,
            form=form,
        )
        return self._latest

    def _single(self, arrays: list[Any]) -> Any:
        return self._form([array[0] for array in arrays])

    # -- states

    def state_dict(self, *, batches: int | None = None, workers: int | None = None) -> dict[str, Any]:
        """Where the latest loop is: plain numbers and text, after which `load_state_dict` goes on.

        The workers of a DataLoader loop in processes of their own. Give the number of `batches` that the program has
        received in the epoch, and of `workers` (`num_workers`).
        """
        latest = self._latest
        position: dict[str, Any] = {"epoch": self.epoch, "batches": 0, "worker": None, "workers": 1}
        if batches is not None or workers is not None:
            received = 0 if batches is None else _as_number(batches, "batches")
            position |= {
                "batches": received,
                "workers": max(1, 1 if workers is None else _as_number(workers, "workers")),
            }
            if received >= len(self):
                position |= {"epoch": self.epoch + 1, "batches": 0}
        elif latest is not None and self._resumed is None:
            worker = latest.share.number if latest.share.total > 1 else None
            position |= {"worker": worker, "workers": latest.share.total}
            if latest.ended:
                position |= {"epoch": latest.number + 1}
            else:
                position |= {"epoch": latest.number, "batches": latest.received}
        elif self._resumed is not None:
            position = {name: self._resumed[name] for name in position}
        return {"version": _STATE_VERSION, **position, "settings": self._all_settings()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where `state_dict` was called: the next loop gives exactly the remaining samples of the epoch."""
        _check_state(state, self._all_settings())
        self._resumed = dict(state)
        self._latest = None
        self._cell.set(state["epoch"])

    def _all_settings(self) -> dict[str, Any]:
        rank = self.rank
        return {**self._settings, "rank": rank.number, "world_size": rank.total}

    # -- Python protocols

    def __getstate__(self) -> dict[str, Any]:
        rank = self.rank  # a spawned worker cannot ask `torch.distributed`
        return {**self.__dict__, "_latest": None, "_rank": (rank.number, rank.total)}

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        # Register lazily, when a DataLoader asks: omnizarr does not import torch, and the program may import it later.
        module = sys.modules.get("torch.utils.data")
        base: Any = None if module is None else getattr(module, "IterableDataset", None)
        if base is not None and hasattr(base, "register"):
            base.register(Loader)
        return Loader

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self._settings.items() if name != "shapes")
        return f"<Loader of {len(self)} batches: {settings}>"


def _resumed_share(state: dict[str, Any], worker: Share) -> tuple[Share, int]:
    """The share that a worker continues, and how many of its batches were given before."""
    if state["workers"] != worker.total or state["worker"] not in (None, worker.number):
        was = (
            f"{state['workers']} workers"
            if state["worker"] is None
            else f"worker {state['worker']} of {state['workers']}"
        )
        raise ArgumentError(
            f"`state`: it is of a loop in {was}, and cannot continue in worker {worker.number} of {worker.total}",
            argument="state",
            hint="use the same `num_workers`; for a DataLoader of PyTorch, "
            "`state_dict(batches=…, workers=…)` in the program that receives the batches",
        )
    if state["worker"] is not None:
        return worker, state["batches"]
    # The DataLoader took one batch of each worker in turn. Its worker 0 goes on where it stopped.
    number = (worker.number + state["batches"]) % worker.total
    return Share(number, worker.total), max(0, -(-(state["batches"] - number) // worker.total))


def _check_state(state: Any, settings: dict[str, Any]) -> None:
    if not isinstance(state, dict) or state.get("version") != _STATE_VERSION:
        raise ArgumentError("`state`: expected what `state_dict` returned", argument="state")
    for name, least in (("epoch", 0), ("batches", 0), ("workers", 1)):
        value = state.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ArgumentError(
                f"`state`: `{name}`: expected an integer of at least {least}, found {value!r}", argument="state"
            )
    stored = state.get("settings")
    stored = stored if isinstance(stored, dict) else {}
    for name, value in settings.items():
        if stored.get(name) != value:
            raise ArgumentError(
                f"`state`: it is of a loader with {name}={stored.get(name)!r}, but this one has {name}={value!r}",
                argument="state",
                hint="the order of the samples depends on it; start the epoch anew with `set_epoch`",
            )


def _as_number(value: Any, argument: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ArgumentError(f"`{argument}`: expected an integer of at least 0, found {value!r}", argument=argument)
    return value
