"""A web server for parts of arrays, with aiohttp: `python slice_server.py weather.zarr`, `pip install aiohttp`.

    GET /temperature                    the metadata, as JSON
    GET /temperature/0,10:20,:          the elements `z[0, 10:20, :]`, as a file in the format of NumPy

All requests share one event loop. Reads run in the threads of `omnizarr.aio`. If a client disconnects, its read stops.
"""

from __future__ import annotations

import argparse
import gc
import io
from typing import Any

import numpy as np
from aiohttp import web

from omnizarr import aio
from omnizarr.errors import NodeNotFoundError, SelectionError

MOST_BYTES = 64 * 2**20
GROUP: web.AppKey[aio.AsyncGroup] = web.AppKey("group", aio.AsyncGroup)


def parse(text: str) -> tuple[int | slice, ...]:
    """The index in a URL: integers and slices, separated by commas."""
    try:
        return tuple(
            slice(*(int(part) if part else None for part in item.split(":"))) if ":" in item else int(item)
            for item in text.split(",")
        )
    except (TypeError, ValueError):
        raise web.HTTPBadRequest(text=f"expected integers and slices such as 0,10:20 and found {text}") from None


async def array_of(request: web.Request) -> aio.AsyncArray:
    try:
        node = await request.app[GROUP][request.match_info["name"]]
    except NodeNotFoundError:
        raise web.HTTPNotFound from None
    if not isinstance(node, aio.AsyncArray):
        raise web.HTTPBadRequest(text="this is a group")
    return node


async def describe(request: web.Request) -> web.Response:
    z = await array_of(request)
    return web.json_response({"shape": z.shape, "dtype": str(z.dtype), "chunks": z.chunks, "attributes": dict(z.attrs)})


async def read(request: web.Request) -> web.Response:
    z, key = await array_of(request), parse(request.match_info["key"])
    try:
        size = np.broadcast_to(np.empty((), z.dtype), z.shape)[key].nbytes  # takes no memory
        if size > MOST_BYTES:
            raise web.HTTPRequestEntityTooLarge(MOST_BYTES, size)
        elements = await z[key]
    except (IndexError, SelectionError) as error:
        raise web.HTTPBadRequest(text=str(error)) from None
    body = io.BytesIO()
    np.save(body, elements, allow_pickle=False)
    return web.Response(body=body.getvalue(), content_type="application/octet-stream")


async def application(address: Any) -> web.Application:
    """The server for the group at an address."""
    app = web.Application()
    app[GROUP] = await aio.open_group(address, mode="r", cache="256 MiB")
    app.add_routes([web.get("/{name:[^/]+}", describe), web.get("/{name:[^/]+}/{key}", read)])
    return app


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", help="the path or URL of a group")
    parser.add_argument("--port", type=int, default=8080)
    options = parser.parse_args()
    # A collection of garbage stops the event loop for 20 to 40 ms if it visits all objects of the imported modules.
    gc.collect()
    gc.freeze()
    # `handler_cancellation` cancels the handler of a request whose client has disconnected.
    web.run_app(application(options.address), port=options.port, handler_cancellation=True)
