"""`OmnizarrCodecPipeline`: zarr-python 3 reads and writes chunks with omnizarr's engine.

    zarr.config.set({"codec_pipeline.path": "omnizarr.compat.OmnizarrCodecPipeline"})

| store of zarr-python                     | selection                  | what happens                            |
|------------------------------------------|----------------------------|-----------------------------------------|
| LocalStore, ObjectStore, `as_zarr_store` | slices of step 1, integers | the engine reads or writes all chunks   |
| LocalStore, local `as_zarr_store`        | any other, no shards       | reads use omnizarr's codecs             |
| any other                                | any                        | zarr-python's pipeline reads and writes |

zarr-python's pipeline also takes over what omnizarr does not support, such as a codec that only zarr-python knows, and
arrays whose missing chunks are an error (`array.read_missing_chunks`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr
from zarr.abc.codec import CodecPipeline
from zarr.codecs import ShardingCodec
from zarr.core.array import create_codec_pipeline
from zarr.registry import register_pipeline

if TYPE_CHECKING:
    from omnizarr.compat.chunk_access import ChunkAccess

__all__ = ["OmnizarrCodecPipeline"]


@lru_cache(1)
def _default_class() -> Any:
    """The pipeline that zarr-python uses unless it is configured otherwise."""
    module, _, name = zarr.config.defaults[0]["codec_pipeline"]["path"].rpartition(".")
    return getattr(import_module(module), name)


class OmnizarrCodecPipeline(CodecPipeline):  # type: ignore[misc]
    """The codec pipeline of one array of zarr-python."""

    def __init__(self, metadata: Any, store: Any) -> None:
        self._metadata = metadata
        self._store = store
        self._prepare()

    def _prepare(self) -> None:
        self._fallback_pipeline: Any = None
        self._own: ChunkAccess | None = None
        self._begun = False

    @classmethod
    def from_codecs(cls, codecs: Iterable[Any]) -> Any:
        """zarr-python's default pipeline, for chunks inside of a shard and for arrays that are not in a store."""
        return _default_class().from_codecs(codecs)

    @classmethod
    def from_array_metadata_and_store(cls, array_metadata: Any, store: Any) -> OmnizarrCodecPipeline:
        pipeline = cls(array_metadata, store)
        codecs = getattr(array_metadata, "codecs", ())
        if len(codecs) > 1 and any(isinstance(codec, ShardingCodec) for codec in codecs):
            assert pipeline._fallback  # zarr-python warns that such shards are slow to read
        return pipeline

    def __getstate__(self) -> dict[str, Any]:
        return {"_metadata": self._metadata, "_store": self._store}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._prepare()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OmnizarrCodecPipeline) and self.__getstate__() == other.__getstate__()

    __hash__ = None  # type: ignore[assignment]

    @property
    def _fallback(self) -> Any:
        """zarr-python's pipeline for the same array."""
        if self._fallback_pipeline is None:
            with zarr.config.set({"codec_pipeline.path": _NAME}):
                self._fallback_pipeline = create_codec_pipeline(self._metadata)  # calls `from_codecs`
        return self._fallback_pipeline

    def _access(self) -> ChunkAccess | None:
        """omnizarr's access to the chunks, prepared at the first read or write."""
        if not self._begun:
            from omnizarr.compat.chunk_access import chunk_access  # lazy import: zarr-python loads all pipelines

            self._own = chunk_access(self._metadata, self._store)
            self._begun = True
        return self._own

    async def read(self, batch_info: Iterable[Any], out: Any, drop_axes: tuple[int, ...] = ()) -> Any:
        """Fills `out`. All chunks count as present: the status of a chunk only matters where missing chunks are an
        error, and these arrays are left to zarr-python."""
        batch = list(batch_info)
        target = out.as_ndarray_like()
        if batch and type(target) is np.ndarray and getattr(batch[0][1].config, "read_missing_chunks", True):
            own = self._access()
            if own is not None and await asyncio.to_thread(own.read, batch, target, drop_axes):
                return ({"status": "present"},) * len(batch)
        return await self._fallback.read(batch, out, drop_axes)

    async def write(self, batch_info: Iterable[Any], value: Any, drop_axes: tuple[int, ...] = ()) -> None:
        """Stores `value`."""
        batch = list(batch_info)
        elements = value.as_ndarray_like()
        if batch and isinstance(elements, np.ndarray) and not self._store.read_only:
            own = self._access()
            if own is not None and await asyncio.to_thread(own.write, batch, elements):
                return
        await self._fallback.write(batch, value, drop_axes)

    # -- the rest is that of zarr-python

    def evolve_from_array_spec(self, array_spec: Any) -> OmnizarrCodecPipeline:
        return self

    @property
    def supports_partial_decode(self) -> bool:
        return bool(self._fallback.supports_partial_decode)

    @property
    def supports_partial_encode(self) -> bool:
        return bool(self._fallback.supports_partial_encode)

    def validate(self, **options: Any) -> None:
        self._fallback.validate(**options)

    def compute_encoded_size(self, byte_length: int, array_spec: Any) -> int:
        return int(self._fallback.compute_encoded_size(byte_length, array_spec))

    async def decode(self, chunk_bytes_and_specs: Iterable[tuple[Any, Any]]) -> Any:
        return await self._fallback.decode(chunk_bytes_and_specs)

    async def encode(self, chunk_arrays_and_specs: Iterable[tuple[Any, Any]]) -> Any:
        return await self._fallback.encode(chunk_arrays_and_specs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._fallback)


_NAME = "omnizarr.compat.OmnizarrCodecPipeline"
OmnizarrCodecPipeline.__module__ = "omnizarr.compat"  # zarr-python finds a pipeline by the name of its class
register_pipeline(OmnizarrCodecPipeline)
