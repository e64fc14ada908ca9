"""Adapters that open, read and write arrays behind a URL with each library, by its public calls and default settings.

An adapter imports its library when it is created, so that a process loads only the library that it measures. A method
that raises NotImplementedError is left out of the tables.
"""

from __future__ import annotations

import asyncio
import importlib
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

REGION = "us-east-1"
KEY_ID, SECRET = "test-key-id", "a-very-secret-key"  # of the server that the benchmark starts


class RemoteAdapter:
    """The calls that the benchmark needs. `where` is `http://server/path` or `s3://bucket/path`; `endpoint` is the
    address of the S3 server."""

    packages: ClassVar[tuple[str, ...]]

    def versions(self) -> dict[str, str]:
        return {name: version(name) for name in self.packages}

    def open(self, where: str, endpoint: str | None = None) -> Any:
        """A handle of an array."""
        raise NotImplementedError

    def read(self, array: Any, key: tuple[Any, ...]) -> npt.NDArray[Any]:
        return np.asarray(array[key])

    def write(self, array: Any, key: tuple[Any, ...], data: npt.NDArray[Any]) -> None:
        array[key] = data

    def create(self, where: str, endpoint: str | None, document: dict[str, Any]) -> Any:
        """A handle of a new array with this `zarr.json`."""
        raise NotImplementedError

    def open_members(self, where: str, names: list[str], endpoint: str | None = None) -> int:
        """Open the arrays of a group at once, if the library can, and return their number."""
        raise NotImplementedError

    def create_members(self, where: str, names: list[str], endpoint: str | None) -> None:
        """Create a group with arrays of 100 uint16, each of one uncompressed chunk; at once, if the library can."""
        raise NotImplementedError

    def list_nodes(self, where: str, endpoint: str | None) -> int:
        """Open all members of a group whose metadata is not consolidated, and return their number."""
        raise NotImplementedError


class Omnizarr(RemoteAdapter):
    packages = ("obstore",)

    def __init__(self) -> None:
        self.library: Any = importlib.import_module("omnizarr")

    def versions(self) -> dict[str, str]:
        return {"omnizarr": self.library.__version__, **super().versions()}

    @staticmethod
    def _options(endpoint: str | None) -> dict[str, Any]:
        if endpoint is None:
            return {}
        options = {"endpoint": endpoint, "region": REGION, "access_key_id": KEY_ID, "secret_access_key": SECRET}
        return {"storage_options": {**options, "allow_http": True}}

    def open(self, where: str, endpoint: str | None = None) -> Any:
        return self.library.open_array(where, mode="r+" if endpoint else "r", **self._options(endpoint))

    def create(self, where: str, endpoint: str | None, document: dict[str, Any]) -> Any:
        codecs = document["codecs"]
        return self.library.create_array(
            where,
            shape=document["shape"],
            dtype=document["data_type"],
            chunks=document["chunk_grid"]["configuration"]["chunk_shape"],
            serializer=codecs[0],
            compressors=codecs[1:] or None,
            **self._options(endpoint),
        )

    def open_members(self, where: str, names: list[str], endpoint: str | None = None) -> int:
        aio = importlib.import_module("omnizarr.aio")

        async def opened() -> int:
            group = await aio.open_group(where, mode="r", **self._options(endpoint))
            return len(await asyncio.gather(*[group[name] for name in names]))

        return asyncio.run(opened())

    def create_members(self, where: str, names: list[str], endpoint: str | None) -> None:
        aio = importlib.import_module("omnizarr.aio")
        options = {"shape": (100,), "dtype": "uint16", "chunks": (100,), "compressors": None}

        async def create() -> None:
            group = await aio.create_group(where, **self._options(endpoint))
            await asyncio.gather(*[group.create_array(name, **options) for name in names])

        asyncio.run(create())

    def list_nodes(self, where: str, endpoint: str | None) -> int:
        return len(self.library.open_group(where, mode="r", **self._options(endpoint)).members())


class Zarr(RemoteAdapter):
    """zarr-python over obstore, with its default pipeline."""

    packages: ClassVar[tuple[str, ...]] = ("zarr", "obstore")
    pipeline: ClassVar[str | None] = None

    def __init__(self) -> None:
        self.library: Any = importlib.import_module("zarr")
        self._clients: dict[str, Any] = {}
        if self.pipeline is not None:
            module, _, name = self.pipeline.rpartition(".")
            getattr(importlib.import_module(module), name)  # raises here if this version does not have it
            self.library.config.set({"codec_pipeline.path": self.pipeline})

    def _store(self, where: str, endpoint: str | None) -> Any:
        stores = importlib.import_module("obstore.store")
        if where not in self._clients:
            if endpoint is None:
                client = stores.HTTPStore.from_url(where, client_options={"allow_http": True})
            else:
                bucket, _, path = where.removeprefix("s3://").partition("/")
                config = {"access_key_id": KEY_ID, "secret_access_key": SECRET, "region": REGION}
                client = stores.S3Store(
                    bucket,
                    prefix=path,
                    config={**config, "endpoint": endpoint},
                    client_options={"allow_http": True},
                )
            self._clients[where] = client
        storage = importlib.import_module("zarr.storage")
        return storage.ObjectStore(self._clients[where], read_only=endpoint is None)

    def open(self, where: str, endpoint: str | None = None) -> Any:
        return self.library.open_array(self._store(where, endpoint), mode="r+" if endpoint else "r")

    def create(self, where: str, endpoint: str | None, document: dict[str, Any]) -> Any:
        codecs = document["codecs"]
        return self.library.create_array(
            self._store(where, endpoint),
            shape=document["shape"],
            dtype=document["data_type"],
            chunks=document["chunk_grid"]["configuration"]["chunk_shape"],
            serializer=codecs[0],
            compressors=codecs[1:] or None,
        )

    def open_members(self, where: str, names: list[str], endpoint: str | None = None) -> int:
        group = self.library.open_group(self._store(where, endpoint), mode="r")
        return len([group[name] for name in names])

    def create_members(self, where: str, names: list[str], endpoint: str | None) -> None:
        group = self.library.create_group(self._store(where, endpoint))
        for name in names:
            group.create_array(name, shape=(100,), dtype="uint16", chunks=(100,), compressors=None)

    def list_nodes(self, where: str, endpoint: str | None) -> int:
        return len(self.library.open_group(self._store(where, endpoint), mode="r").members())


class Fused(Zarr):
    pipeline = "zarr.core.codec_pipeline.FusedCodecPipeline"


class TensorStore(RemoteAdapter):
    """TensorStore's http and s3 drivers. It has no groups; arrays are opened by name, all at once."""

    packages = ("tensorstore",)

    def __init__(self) -> None:
        import os

        os.environ.setdefault("AWS_ACCESS_KEY_ID", KEY_ID)
        os.environ.setdefault("AWS_SECRET_ACCESS_KEY", SECRET)
        self.library: Any = importlib.import_module("tensorstore")
        self._context = self.library.Context()

    def _spec(self, where: str, endpoint: str | None) -> dict[str, Any]:
        if endpoint is None:
            return {"driver": "zarr3", "kvstore": {"driver": "http", "base_url": where.rstrip("/") + "/"}}
        bucket, _, path = where.removeprefix("s3://").partition("/")
        kvstore = {"driver": "s3", "bucket": bucket, "path": path, "endpoint": endpoint, "aws_region": REGION}
        return {"driver": "zarr3", "kvstore": kvstore}

    def open(self, where: str, endpoint: str | None = None) -> Any:
        return self.library.open(self._spec(where, endpoint), context=self._context, open=True).result()

    def read(self, array: Any, key: tuple[Any, ...]) -> npt.NDArray[Any]:
        data: npt.NDArray[Any] = array[key].read().result()
        return data

    def write(self, array: Any, key: tuple[Any, ...], data: npt.NDArray[Any]) -> None:
        array[key].write(data).result()

    def create(self, where: str, endpoint: str | None, document: dict[str, Any]) -> Any:
        spec = {**self._spec(where, endpoint), "metadata": document}
        return self.library.open(spec, context=self._context, create=True, delete_existing=False).result()

    def open_members(self, where: str, names: list[str], endpoint: str | None = None) -> int:
        specs = [self._spec(f"{where}/{name}", endpoint) for name in names]
        pending = [self.library.open(spec, context=self._context, open=True) for spec in specs]
        return len([future.result() for future in pending])

    def create_members(self, where: str, names: list[str], endpoint: str | None) -> None:
        from benchmarks.layouts import Layout

        document = Layout("raw", 100).document((100,))
        specs = [{**self._spec(f"{where}/{name}", endpoint), "metadata": document} for name in names]
        for future in [self.library.open(spec, context=self._context, create=True) for spec in specs]:
            future.result()


class Zarrista(RemoteAdapter):
    """zarrista's asynchronous arrays over obstore."""

    packages = ("zarrista",)

    def __init__(self) -> None:
        self.library: Any = importlib.import_module("zarrista")
        self._loop = asyncio.new_event_loop()

    def open(self, where: str, endpoint: str | None = None) -> Any:
        if endpoint is not None:
            raise NotImplementedError("only read over HTTP")
        stores = importlib.import_module("obstore.store")
        client = stores.HTTPStore.from_url(where, client_options={"allow_http": True})

        async def opened() -> Any:
            return (
                await self.library.AsyncArray.open_async(client)
                if hasattr(self.library.AsyncArray, "open_async")
                else await self.library.AsyncArray.open(client)
            )

        return self._loop.run_until_complete(opened())

    def read(self, array: Any, key: tuple[Any, ...]) -> npt.NDArray[Any]:
        async def elements() -> Any:
            return await array.retrieve_array_subset(key)

        data: npt.NDArray[Any] = self._loop.run_until_complete(elements()).to_numpy()
        return data


ADAPTERS: dict[str, type[RemoteAdapter]] = {
    "omnizarr": Omnizarr,
    "tensorstore": TensorStore,
    "fused": Fused,
    "zarrista": Zarrista,
    "zarr": Zarr,
}
