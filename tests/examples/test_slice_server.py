"""The web server in examples/slice_server.py."""

from __future__ import annotations

import asyncio
import importlib.util
import io
from typing import Any

import numpy as np
import pytest
from tests.pages import ROOT

import omnizarr

pytest.importorskip("aiohttp")


def server() -> Any:
    specification = importlib.util.spec_from_file_location("slice_server", ROOT / "examples" / "slice_server.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_server() -> None:
    from aiohttp.test_utils import TestClient, TestServer

    data = np.random.default_rng(0).random((8, 20, 30))
    store = omnizarr.MemoryStore()
    omnizarr.create_group(store).create_array("temperature", data=data, chunks=(1, 7, 9), attributes={"unit": "K"})

    async def main() -> None:
        module = server()
        async with TestClient(TestServer(await module.application(store))) as client:

            async def get(path: str) -> tuple[int, bytes]:
                async with client.get(path) as answer:
                    return answer.status, await answer.read()

            async with client.get("/temperature") as answer:
                assert (await answer.json())["attributes"] == {"unit": "K"}
            keys = [f"{number % 8},{number % 20}:,::-1" for number in range(50)]
            answers = await asyncio.gather(*[get(f"/temperature/{key}") for key in keys])
            for number, (status, body) in enumerate(answers):
                assert status == 200
                assert np.array_equal(np.load(io.BytesIO(body)), data[number % 8, number % 20 :, ::-1])
            assert [(await get(path))[0] for path in ("/absent", "/temperature/9", "/temperature/x")] == [404, 400, 400]
            module.MOST_BYTES = 100
            assert (await get("/temperature/:"))[0] == 413

    asyncio.run(main())
