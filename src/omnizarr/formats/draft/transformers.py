"""Storage transformers in the drafts of v3, where a URI and a type name them (S29, S63–S65, A3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnizarr._extension import call_extension
from omnizarr._json import Json, Problems
from omnizarr.codecs import Sharding
from omnizarr.formats.read_options import ReadOptions
from omnizarr.grids import Regular
from omnizarr.model import ArrayModel
from omnizarr.transformers import ShardingTransformer, StorageTransformer, find_transformer

__all__ = [
    "dump_transformer",
    "leading_sharding",
    "parse_transformers",
    "unsharded",
    "with_leading_sharding",
]


def parse_transformers(
    items: Json, shape: tuple[int, ...] | None, year: int, read_options: ReadOptions, problems: Problems
) -> tuple[StorageTransformer, ...]:
    """The member `storage_transformers`; an unknown one is a problem (S29). The read option `chunks_per_shard` replaces
    the sharding of the document: some documents lost theirs, and some writers stored other numbers (§2.3)."""
    if not isinstance(items, list):
        problems.expected("$.storage_transformers", "a list", items, rule="S29")
        return ()
    transformers = []
    for index, item in enumerate(items):
        transformer = _parse(item, f"$.storage_transformers[{index}]", shape, year, problems)
        if transformer is not None:
            transformers.append(transformer)
    if read_options.chunks_per_shard is None or shape is None:
        return tuple(transformers)
    _, rest = leading_sharding(tuple(transformers))
    counts = _padded(read_options.chunks_per_shard, len(shape))
    if len(counts) != len(shape):
        problems.add(
            "$.shape",
            f"the array has {len(shape)} dimensions, but `chunks_per_shard` has {len(counts)} numbers",
            rule="S29",
        )
        return tuple(transformers)
    return (ShardingTransformer(counts), *rest)


def _parse(
    item: Json, place: str, shape: tuple[int, ...] | None, year: int, problems: Problems
) -> StorageTransformer | None:
    if not isinstance(item, dict):
        problems.expected(place, "an object", item, rule="S29")
        return None
    uri, kind, configuration = item.get("extension"), item.get("type"), item.get("configuration", {})
    if not isinstance(configuration, dict):
        problems.expected(f"{place}.configuration", "an object", configuration, rule="S29")
        return None
    known = find_transformer(uri, kind if isinstance(kind, str) else None) if isinstance(uri, str) else None
    if known is None:
        problems.unknown(
            f"{place}.extension", "storage transformer", f"{uri} {kind}", (ShardingTransformer.name,), rule="S29"
        )
        return None
    transformer = call_extension("storage transformer", known.name, place, problems, known.parse, configuration)
    if isinstance(transformer, ShardingTransformer) and shape is not None and year == 2020:
        # zarr-python 2 wrote fewer numbers than dimensions if the dtype has a shape, and one for no dimensions.
        transformer = ShardingTransformer(_padded(transformer.chunks_per_shard, len(shape)))
    if transformer is not None and shape is not None:
        transformer.check(shape, place, problems)
    return transformer


def _padded(counts: Sequence[int], rank: int) -> tuple[int, ...]:
    if rank == 0 and tuple(counts) == (1,):
        return ()
    return (*counts, *(1,) * (rank - len(counts)))


# -- a leading sharding transformer is equivalent to the sharding codec: both produce the same shards


def leading_sharding(
    transformers: tuple[StorageTransformer, ...],
) -> tuple[ShardingTransformer | None, tuple[StorageTransformer, ...]]:
    """The sharding transformer, if it is the first, and the other transformers."""
    if transformers and isinstance(transformers[0], ShardingTransformer):
        return transformers[0], transformers[1:]
    return None, transformers


def with_leading_sharding(model: ArrayModel) -> ArrayModel:
    """The same array with its leading sharding transformer as a codec."""
    sharding, rest = leading_sharding(model.storage_transformers)
    if sharding is None or model.sharding is not None or type(model.grid) is not Regular:
        return model
    shape, codec = sharding.as_codec(model.grid.chunk_shape, model.codecs)
    return replace(model, grid=Regular(shape), codecs=(codec,), storage_transformers=rest)


def unsharded(model: ArrayModel) -> ArrayModel:
    """The inverse of `with_leading_sharding`: the array with the grid and codecs of its inner chunks."""
    sharding = model.codecs[0]
    if not isinstance(sharding, Sharding):
        return model
    assert isinstance(model.grid, Regular)
    counts = tuple(outer // inner for outer, inner in zip(model.grid.chunk_shape, sharding.chunk_shape, strict=True))
    return replace(
        model,
        grid=Regular(sharding.chunk_shape),
        codecs=sharding.codecs,
        storage_transformers=(ShardingTransformer(counts), *model.storage_transformers),
    )


def dump_transformer(transformer: StorageTransformer, year: int) -> Json:
    """The object that names a storage transformer."""
    name = transformer.uri or transformer.name
    if isinstance(transformer, ShardingTransformer) and year == 2020:
        name = "https://purl.org/zarr/spec/storage_transformers/sharding/1.0"  # the URI of zarr-python 2 (A3)
    document: dict[str, Json] = {"extension": name, "type": transformer.type}
    configuration = transformer.configuration()
    return document | {"configuration": configuration} if configuration else document
