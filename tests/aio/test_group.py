"""`AsyncGroup`, and the functions of `omnizarr` as coroutines."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import numpy as np
import pytest

import omnizarr
from omnizarr import aio, api


@pytest.mark.smoke
def test_members(tmp_path: Path) -> None:
    async def main() -> None:
        g = await aio.create_group(tmp_path, attributes={"a": 1})
        z = await g.create_array("x/y", shape=4, dtype="i4")
        await g.create_group("z", attributes={"b": 2})
        assert isinstance(await g.require_array("x/y", shape=4, dtype="i4"), aio.AsyncArray)
        assert isinstance(await g.require_group("x"), aio.AsyncGroup)
        assert [name async for name in g] == list(await g.keys()) == ["x", "z"]
        assert [name async for name, _ in g.members(max_depth=None)] == ["x", "z", "x/y"]
        assert await g.nmembers(max_depth=None) == 3
        assert [name async for name, group in g.groups() if isinstance(group, aio.AsyncGroup)] == ["x", "z"]
        x = await g["x"]
        assert [(name, array.shape) async for name, array in x.arrays()] == [("y", (4,))]
        assert (await g["x/y"]).path == z.path
        assert await g.get("absent") is None
        assert await g.contains("x/y")
        assert not await g.contains("absent")
        await g.move("z", "w")
        assert dict((await g["w"]).attrs) == {"b": 2}
        await g.delete("w")
        assert await g.keys() == ("x",)
        assert str(await g.tree()) == str(g.sync.tree())
        assert dict((await g.refresh()).attrs) == {"a": 1}
        assert repr(g).startswith("<AsyncGroup")
        with pytest.raises(omnizarr.errors.NodeNotFoundError):
            await g["w"]

    asyncio.run(main())


def test_many_members_come_in_batches() -> None:
    group = omnizarr.create_group()
    for number in range(150):
        group.create_group(f"g{number:03}")

    async def main() -> None:
        assert [name async for name, _ in aio.AsyncGroup(group).members()] == [f"g{number:03}" for number in range(150)]

    asyncio.run(main())


def test_a_wrong_depth_is_an_error() -> None:
    async def main() -> None:
        with pytest.raises(omnizarr.errors.ArgumentError, match="max_depth"):
            await anext(aio.AsyncGroup(omnizarr.create_group()).members(max_depth=-1))

    asyncio.run(main())


def test_an_unreadable_member_holds_its_error() -> None:
    store = omnizarr.MemoryStore()
    group = omnizarr.create_group(store)
    group.create_group("a")
    store.set("a/zarr.json", b"{")

    async def main() -> None:
        ((name, node),) = [item async for item in aio.AsyncGroup(group).members()]
        assert (name, type(node)) == ("a", omnizarr.UnreadableNode)

    asyncio.run(main())


# -- functions


def test_every_function_of_the_package_is_a_coroutine() -> None:
    views = {"concat", "stack", "loader"}  # they read nothing, and return objects with synchronous methods
    assert set(api.__all__) - set(aio.__all__) == views
    for name in set(api.__all__) - views:
        function = getattr(aio, name)
        assert inspect.iscoroutinefunction(function)
        assert inspect.signature(function) == inspect.signature(getattr(api, name))
        assert name in (function.__doc__ or "")


def test_functions(tmp_path: Path) -> None:
    async def main() -> None:
        z = await aio.array([3, 4, 5])
        assert [part.tolist() for part in await aio.take([z, z], [2, 0, 2])] == [[5, 3, 5]] * 2
        assert (await aio.take({"z": z}, [1]))["z"].tolist() == [4]
        await aio.save(tmp_path / "saved.zarr", mean=[1.5, 2.5], count=[3, 4])
        assert (await aio.load(tmp_path / "saved.zarr"))["count"].tolist() == [3, 4]
        group = await aio.consolidate_metadata(tmp_path / "saved.zarr")
        assert group.sync.consolidated
        assert isinstance(await aio.open(tmp_path / "saved.zarr", path="mean"), aio.AsyncArray)
        source = await aio.open_array(tmp_path / "saved.zarr", path="mean", mode="r")
        copy = await aio.from_array(tmp_path / "copy.zarr", data=source, compressors=None)
        assert np.array_equal(await copy[...], await source[...])
        assert (await aio.zeros_like(copy)).shape == (2,)
        assert "mean" in str(await aio.tree(group))

    asyncio.run(main())
