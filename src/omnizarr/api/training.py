"""`loader`: batches of samples from arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from omnizarr.api.several_arrays import as_arrays
from omnizarr.engine.chunk_cache import as_byte_count
from omnizarr.errors import ArgumentError
from omnizarr.loaders import Loader, Rows, SampleSource, Windows, as_form, check_arrays, window_axes
from omnizarr.loaders.epoch import group_bytes
from omnizarr.nodes import Array
from omnizarr.nodes.views import LazyView
from omnizarr.store import Store

__all__ = ["loader"]

_WHOLE = 8  # an array of up to an eighth of a group is read once for each epoch, if its chunks are longer than a block


def loader(
    arrays: Any,
    batch_size: int | None = None,
    *,
    shuffle: bool = False,
    seed: int = 0,
    window: Any = None,
    overlap: Any = 0,
    crops: int | None = None,
    drop_last: bool = False,
    even: bool = False,
    rank: int | None = None,
    world_size: int | None = None,
    block_bytes: int | str = "2 MiB",
    buffer_bytes: int | str = "256 MiB",
) -> Loader:
    """Batches of samples from arrays, read ahead: an iterable, and an `IterableDataset` of PyTorch.

    A sample is a row, `array[i]`, of each array, or a window. The same seed and epoch give the same order. Ranks and
    workers of a DataLoader get shares without common samples, which together are all samples.

    Args:
        arrays: an array, a lazy view or a location; or a list or dictionary of them. Batches have the same form.
        batch_size: the number of samples of a batch, which get a new first axis. None gives single samples.
        shuffle: mix the samples: blocks of chunks are read in random order, and their samples are mixed within the
            buffer, so that each chunk is read once.
        seed: with the epoch (`Loader.set_epoch`) it determines the order, and the places of crops.
        window: makes windows of the arrays the samples: a size for each of the first axes (None for a whole axis), or a
            mapping of axes or names of dimensions to sizes. The arrays have equal lengths on these axes.
        overlap: how many elements windows share with the next one: a number, or one for each axis, as in `window`.
        crops: take so many windows at random places in each epoch instead of all in a regular order.
        drop_last: leave out a last batch with fewer samples.
        even: leave out up to `world_size - 1` samples, so that all ranks have equally many.
        rank, world_size: the number of this process, and of all that train together. Default: those of
            `torch.distributed` or of torchrun.
        block_bytes: about how many bytes stay together in a shuffled epoch; at least one chunk. 1 mixes single rows.
        buffer_bytes: the most memory for samples in each process: in use, and read ahead. A fifth of it is mixed.

    Example:
        >>> loader = omnizarr.loader({"image": images, "label": labels}, 64, shuffle=True, seed=1)
        >>> for batch in loader:
        ...     step(batch["image"], batch["label"])
    """
    names, handles, labels = _opened(arrays)
    check_arrays(handles, labels)
    _check_integer(batch_size, "batch_size", 1, optional=True)
    _check_integer(seed, "seed", 0)
    _check_integer(crops, "crops", 1, optional=True)
    block = max(1, as_byte_count(block_bytes, "block_bytes"))
    buffer = as_byte_count(buffer_bytes, "buffer_bytes")
    group = group_bytes(buffer)
    source: SampleSource
    if window is None:
        for argument, value in (("overlap", overlap), ("crops", crops)):
            if value:
                raise ArgumentError(f"`{argument}`: needs the size of a `window`", argument=argument)
        source = Rows(handles, labels, min(block, max(1, group // 2)), group // _WHOLE)
    else:
        if crops is not None and overlap:
            raise ArgumentError("`overlap`: random crops have none", argument="overlap")
        axes = window_axes(handles, labels, window, overlap, every=crops is not None)
        source = Windows(handles, axes, crops, block)
    batch_bytes = source.sample_bytes * (batch_size or 1)
    if batch_bytes > group:
        raise ArgumentError(
            f"`buffer_bytes`: a batch has {batch_bytes} bytes, more than a fifth of the buffer of {buffer} bytes",
            argument="buffer_bytes",
            hint=f"raise it to at least {5 * batch_bytes}, or choose a smaller `batch_size`",
        )
    return Loader(
        source,
        as_form(names, single=len(handles) == 1 and names is None and not isinstance(arrays, (list, tuple))),
        batch_size=None if batch_size is None else int(batch_size),
        shuffle=bool(shuffle),
        seed=int(seed),
        drop_last=bool(drop_last),
        even=bool(even),
        rank=(rank, world_size),
        buffer_bytes=buffer,
        settings={
            "samples": source.count,
            "batch_size": batch_size,
            "shuffle": bool(shuffle),
            "seed": int(seed),
            "shapes": [list(shape) for shape in source.shapes],
            "overlap": repr(overlap),
            "drop_last": bool(drop_last),
            "even": bool(even),
            "block_bytes": block,
            "buffer_bytes": buffer,
        },
    )


def _opened(arrays: Any) -> tuple[list[Any] | None, list[Any], list[str]]:
    """The names of the arrays, if they have some; the arrays; and what errors call them."""
    if isinstance(arrays, Mapping):
        return list(arrays), list(as_arrays(arrays).values()), [f"`{name}`" for name in arrays]
    if isinstance(arrays, (str, os.PathLike, Store, Array, LazyView)):
        return None, as_arrays([arrays]), ["the array"]
    handles = as_arrays(arrays)
    return None, handles, [f"array {number}" for number in range(len(handles))]


def _check_integer(value: Any, argument: str, least: int, *, optional: bool = False) -> None:
    if value is None and optional:
        return
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
        raise ArgumentError(
            f"`{argument}`: expected an integer of at least {least}, found {value!r}", argument=argument
        )
