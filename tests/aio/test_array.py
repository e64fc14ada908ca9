"""`AsyncArray` does what the synchronous handle does."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr import aio
from omnizarr.nodes.array_properties import ArrayProperties


@pytest.mark.smoke
def test_reads_and_writes(tmp_path: Path) -> None:
    async def main() -> None:
        z = await aio.create_array(tmp_path, shape=(20, 30), chunks=(7, 8), dtype="f4")
        data = np.random.default_rng(0).random((20, 30), dtype="f4")
        await z.write(..., data)
        await z.write(np.s_[3, 4:9], 1.5)
        data[3, 4:9] = 1.5
        assert np.array_equal(await z[...], data)
        assert np.array_equal(await z[2:9, ::-3], data[2:9, ::-3])
        assert await z[3, 4] == 1.5
        assert np.array_equal(await z.oindex[[1, 5], 2:4], data[[1, 5], 2:4])
        assert np.array_equal(await z.vindex[[1, 5], [2, 4]], data[[1, 5], [2, 4]])
        await z.oindex.write(([0, 19], slice(0, 2)), 7)
        await z.vindex.write(([4, 6], [1, 2]), 8)
        data[[0, 19], :2], data[4, 1], data[6, 2] = 7, 8, 8
        out = np.empty((20, 30), "f4")
        assert await z.read(out=out) is out
        assert np.array_equal(out, data)
        assert np.array_equal(z.sync[...], data)

    asyncio.run(main())


def test_shape_and_attributes(tmp_path: Path) -> None:
    async def main() -> None:
        z = await aio.create_array(tmp_path, data=np.arange(12).reshape(4, 3), chunks=(2, 3))
        other = await aio.open_array(tmp_path)
        assert await z.append([[1, 2, 3]]) == (5, 3)
        assert other.shape == (4, 3)
        assert (await other.refresh()).shape == (5, 3)
        await z.resize(2, 3)
        assert (z.shape, len(z)) == ((2, 3), 2)
        await z.attrs.set("unit", "K")
        await z.attrs.update({"a": 1}, b=[2])
        await z.attrs.delete("a")
        assert dict(z.attrs) == z.attrs.asdict() == {"unit": "K", "b": [2]}
        assert repr(z.attrs) == repr(z.sync.attrs)
        assert (await z.update_attributes({"c": 1})) is z
        await z.attrs.put({"d": 1})
        assert len(z.attrs) == 1
        assert dict((await other.refresh()).attrs) == {"d": 1}
        assert await z.nchunks_initialized() == 1
        assert await z.nbytes_stored() == z.sync.nbytes_stored()

    asyncio.run(main())


def test_properties_equal_those_of_the_synchronous_handle() -> None:
    z = omnizarr.create_array(shape=(4, 6), chunks=(2, 3), shards=(4, 6), dtype="i2", dimension_names=["y", "x"])
    handle = aio.as_async(z)
    assert handle.sync is z
    properties = [name for name, value in vars(aio.AsyncArray).items() if isinstance(value, property)]
    same = sorted(set(properties) - {"oindex", "vindex"})
    assert len(same) > 10
    assert [getattr(handle, name) for name in same] == [getattr(z, name) for name in same]
    assert set(same) <= set(dir(ArrayProperties)) | {"shape"}
    assert repr(handle) == "<Async" + repr(z)[1:]
    assert handle._repr_html_() == z._repr_html_()


def test_find() -> None:
    z = omnizarr.create_array(data=np.arange(12).reshape(3, 4), chunks=2)
    rows, columns = asyncio.run(aio.as_async(z).find(5, 6))
    assert (rows.tolist(), columns.tolist()) == ([1, 1], [1, 2])


def test_take() -> None:
    first, second = (omnizarr.create_array(data=np.arange(start, start + 10), chunks=3) for start in (0, 100))

    async def main() -> None:
        z = aio.AsyncArray(first)
        assert (await z.take([7, 1])).tolist() == [7, 1]
        out = np.empty(2, int)
        assert await z.take([2, 3], out=out) is out
        assert out.tolist() == [2, 3]
        both = await aio.take({"a": z, "b": aio.AsyncArray(second)}, [4, 5])
        assert both["b"].tolist() == [104, 105]
        assert (await aio.take([z], [4]))[0].tolist() == [4]

    asyncio.run(main())


def test_what_cannot_be_awaited_is_an_error() -> None:
    z = aio.AsyncArray(omnizarr.create_array(shape=4, dtype="i4"))
    with pytest.raises(TypeError, match=r"await z.write\(key, value\)"):
        z[0] = 1
    with pytest.raises(TypeError, match="truth"):
        bool(z)


# -- blocks


@pytest.mark.parametrize("max_bytes", [0, 400, 10_000, "1 MiB"])
@pytest.mark.parametrize(
    "options",
    [
        {"shape": (50, 40), "chunks": (7, 9)},
        {"shape": (50, 40), "chunks": (5, 4), "shards": (10, 20)},
        {"shape": (50, 40), "chunks": ([10, 30, 10], 40)},
        {"shape": (), "chunks": ()},
        {"shape": (0, 3), "chunks": (2, 2)},
        {"shape": (3, 4, 5), "chunks": (1, 2, 5)},
    ],
)
def test_blocks_cover_the_array_once(options: dict[str, Any], max_bytes: int | str) -> None:
    data = np.arange(np.prod(options["shape"], dtype=int)).reshape(options["shape"])
    z = aio.AsyncArray(omnizarr.create_array(dtype="i8", **options))
    z.sync[...] = data

    async def main() -> None:
        copy = np.full(data.shape, -1)
        async for region, block in z.blocks(max_bytes=max_bytes):
            assert (copy[region] == -1).all()
            copy[region] = block
            assert np.array_equal(block, await z[region])
        assert np.array_equal(copy, data)

    asyncio.run(main())


def test_blocks_stay_within_the_budget() -> None:
    z = aio.AsyncArray(omnizarr.create_array(shape=1000, chunks=10, dtype="i4"))

    async def main() -> None:
        sizes = [block.nbytes async for _, block in z.blocks(max_bytes=800)]
        assert max(sizes) <= 200
        assert sum(sizes) == 4000
        async with aclosing(z.blocks(max_bytes=800)) as blocks:
            region, _ = await anext(blocks)
            assert region == (slice(0, 50),)
            # Let the loop start what it will start: at most three blocks ahead of the one in use.
            running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            assert len(running) <= 3
        assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []

    asyncio.run(main())


def test_a_budget_that_is_no_size_is_an_error() -> None:
    z = aio.AsyncArray(omnizarr.create_array(shape=4, dtype="i4"))

    async def main() -> None:
        with pytest.raises(omnizarr.errors.ArgumentError, match="max_bytes"):
            await anext(z.blocks(max_bytes="much"))

    asyncio.run(main())


def test_an_error_in_a_block_is_raised_at_its_turn() -> None:
    store = omnizarr.MemoryStore()
    z = omnizarr.create_array(store, data=np.arange(40), chunks=10, compressors=None)
    store.set("c/2", b"short")

    async def main() -> None:
        read = []

        async def read_all() -> None:
            async for region, _ in aio.AsyncArray(z).blocks(max_bytes=80):
                read.append(region)

        with pytest.raises(omnizarr.errors.ChunkError):
            await read_all()
        assert read == [(slice(0, 10),), (slice(10, 20),)]

    asyncio.run(main())
