"""omnizarr for programs with an event loop: the functions of `omnizarr` as coroutines, and handles with coroutines.

    from omnizarr import aio
    z = await aio.open_array("data.zarr")
    part = await z[:100]
    await z.write(np.s_[:100], part + 1)

Everything runs in threads of this module, by the code of the synchronous interface.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, ParamSpec, TypeVar, overload

from omnizarr import api
from omnizarr.aio.array import AsyncArray, AsyncIndexer
from omnizarr.aio.dispatch import run_sync
from omnizarr.aio.group import AsyncGroup, as_async, as_sync
from omnizarr.aio.node import AsyncAttributes
from omnizarr.nodes import Array, Group

__all__ = [
    "AsyncArray",
    "AsyncAttributes",
    "AsyncGroup",
    "AsyncIndexer",
    "array",
    "as_async",
    "collect_garbage",
    "consolidate_metadata",
    "create",
    "create_array",
    "create_group",
    "empty",
    "empty_like",
    "from_array",
    "from_dask",
    "full",
    "full_like",
    "group",
    "load",
    "ones",
    "ones_like",
    "open",
    "open_array",
    "open_group",
    "run_sync",
    "save",
    "save_array",
    "save_group",
    "take",
    "tree",
    "write_chunk_manifest",
    "zeros",
    "zeros_like",
]

P = ParamSpec("P")
R = TypeVar("R")


def _plain(value: Any) -> Any:
    """The argument with synchronous handles, also in a list or dict of them."""
    if type(value) in (list, tuple):
        return type(value)(map(as_sync, value))
    return {name: as_sync(item) for name, item in value.items()} if type(value) is dict else as_sync(value)


@overload
def _coroutine(function: Callable[P, Array]) -> Callable[P, Coroutine[Any, Any, AsyncArray]]: ...
@overload
def _coroutine(function: Callable[P, Group]) -> Callable[P, Coroutine[Any, Any, AsyncGroup]]: ...
@overload
def _coroutine(function: Callable[P, Array | Group]) -> Callable[P, Coroutine[Any, Any, AsyncArray | AsyncGroup]]: ...
@overload
def _coroutine(function: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]: ...
def _coroutine(function: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A coroutine that calls `function` in a thread, and takes and returns asynchronous handles."""
    name = function.__name__

    async def call(*arguments: Any, **options: Any) -> Any:
        options = {option: _plain(value) for option, value in options.items()}
        return as_async(await run_sync(partial(function, *map(_plain, arguments), **options)))

    call.__name__ = call.__qualname__ = name
    call.__wrapped__ = function  # type: ignore[attr-defined]  # for the signature
    call.__doc__ = f"`omnizarr.{name}` as a coroutine. An array or group in the result has coroutines, too."
    return call


array = _coroutine(api.array)
collect_garbage = _coroutine(api.collect_garbage)
consolidate_metadata = _coroutine(api.consolidate_metadata)
create = _coroutine(api.create)
create_array = _coroutine(api.create_array)
create_group = _coroutine(api.create_group)
empty = _coroutine(api.empty)
empty_like = _coroutine(api.empty_like)
from_array = _coroutine(api.from_array)
from_dask = _coroutine(api.from_dask)
full = _coroutine(api.full)
full_like = _coroutine(api.full_like)
group = _coroutine(api.group)
load = _coroutine(api.load)
ones = _coroutine(api.ones)
ones_like = _coroutine(api.ones_like)
open = _coroutine(api.open)
open_array = _coroutine(api.open_array)
open_group = _coroutine(api.open_group)
save = _coroutine(api.save)
save_array = _coroutine(api.save_array)
save_group = _coroutine(api.save_group)
take = _coroutine(api.take)
tree = _coroutine(api.tree)
write_chunk_manifest = _coroutine(api.write_chunk_manifest)
zeros = _coroutine(api.zeros)
zeros_like = _coroutine(api.zeros_like)
