"""Creating arrays and groups: `create_array`, `create_group` and `group`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from omnizarr.api.location import StoreLike, new_location, resolve
from omnizarr.api.open_nodes import open_group
from omnizarr.formats import dialect_for
from omnizarr.model import ZarrFormat, normal_path
from omnizarr.nodes import Array, ArrayOptions, Group, new_group, takes_array_options
from omnizarr.nodes.create.array import new_array
from omnizarr.nodes.metadata.enclosing_dialect import enclosing_dialect
from omnizarr.nodes.node import NodeContext

__all__ = ["create_array", "create_group", "group"]


@takes_array_options
def create_array(store: StoreLike = None, *, name: str | None = None, **options: Unpack[ArrayOptions]) -> Array:
    """Creates an array at the root of a store, or at the path `name` in it. Creates missing groups above it.

    Example:
        >>> z = omnizarr.create_array("weather.zarr", name="daily/temps", shape=(365, 24), chunks=(30, 24), dtype="f4")
        >>> z[0] = 21.5
        >>> z[0, :3]
        array([21.5, 21.5, 21.5], dtype=float32)

    Args:
        store: a path, a URL, a store, a dict, or None for a new store in memory.
        name: the path of the array in the store; the root if not given.
        shape: the length of each dimension. Can be left out if `data` is given.
        dtype: a NumPy dtype, or the name of a Zarr data type such as "r24". Can be left out if `data` is given.
        data: the elements, which are written at once.
        chunks: the chunk length of each dimension, or one length for all; -1 is the whole dimension. A list in place
            of a length gives each chunk of the dimension its own length. "auto" chooses.
        shards: the shape of the shards, which store many chunks in one object each; "auto" chooses, None stores
            each chunk as an object of its own.
        filters: array → array codecs.
        compressors: bytes → bytes codecs; "auto" chooses by data type, None stores uncompressed.
        serializer: the array → bytes codec; "auto" is `bytes` in the byte order of `dtype`.
        fill_value: the value of elements that were never written; zero by default. None leaves it undefined, in
            generations that allow that (1, 2 and "3-draft-2020").
        order: the order of the elements in a chunk: "C" (the last index varies fastest) or "F" (the first).
        zarr_format: the generation to write: 1, 2, "3-draft-2020", "3-draft-2022", 3 or "n5". None takes that of the
            groups above, or 3.
        attributes: the user attributes, JSON values by name.
        chunk_key_encoding: the separator `/` or `.`, a name, or a JSON object; by default keys are like `c/0/1`.
        dimension_names: a name or None for each dimension.
        storage_transformers: storage transformers between the array and its store, for v3 and its drafts.
        extensions: JSON objects that declare the extensions of a draft array.
        fallback: the data type, or a list of them, for readers of a draft array that do not know its data type.
        conventions: "zarr-python-2" stores in the draft of 2020 what its text lacks, as zarr-python 2 did: filters,
            several compressors, shards, and elements of variable size. None does so only in a hierarchy that already
            has such arrays.
        storage_options: options of the store that a URL names, such as credentials.
        overwrite: replace an existing node, with all nodes below it.
        write_empty_chunks: also store chunks whose elements all have the fill value.

    Codecs and storage transformers are given as objects (`omnizarr.codecs.Zstd(level=3)`), names ("zstd") or JSON
    objects.
    """
    zarr_format = options.pop("zarr_format", 3)
    context = _context(store, options.pop("storage_options", None), normal_path(name, "name"), zarr_format)
    return new_array(context, **options)


def _context(
    store_like: StoreLike, storage_options: dict[str, Any] | None, path: str, zarr_format: ZarrFormat | None
) -> NodeContext:
    store, path = resolve(store_like, storage_options, path)
    if zarr_format is None:
        enclosing = enclosing_dialect(store, path) if path else None
        zarr_format = 3 if enclosing is None else enclosing.zarr_format
    dialect = dialect_for(zarr_format)
    store, path = new_location(store_like, store, path, zarr_format)
    return NodeContext(store, dialect.normalize_path(path), dialect)


def create_group(
    store: StoreLike = None,
    *,
    path: str | None = None,
    attributes: dict[str, Any] | None = None,
    zarr_format: ZarrFormat | None = 3,
    storage_options: dict[str, Any] | None = None,
    overwrite: bool = False,
    extensions: Sequence[Any] | None = None,
    metadata_encoding: Any = None,
) -> Group:
    """Creates a group at the root of a store, or at `path` in it. Creates missing groups above it.

    Example:
        >>> g = omnizarr.create_group("weather.zarr", attributes={"source": "station 5"})
        >>> temps = g.create_array("temps", shape=(365, 24), dtype="f4")
        >>> list(g)
        ['temps']

    Args:
        store: a path, a URL, a store, a dict, or None for a new store in memory.
        path: the path of the group in the store; the root if not given.
        attributes: the user attributes, JSON values by name.
        zarr_format: the generation to write: 1, 2, "3-draft-2020", "3-draft-2022", 3 or "n5". None takes that of the
            groups above, or 3.
        storage_options: options of the store that a URL names, such as credentials.
        overwrite: replace an existing node, with all nodes below it.
        extensions: JSON objects that declare the extensions of a new draft hierarchy.
        metadata_encoding: the URI of the encoding of documents in a new draft hierarchy; JSON by default.
    """
    context = _context(store, storage_options, normal_path(path), zarr_format)
    return new_group(
        context, attributes, overwrite=overwrite, extensions=extensions, metadata_encoding=metadata_encoding
    )


def group(
    store: StoreLike = None,
    *,
    path: str | None = None,
    overwrite: bool = False,
    zarr_format: ZarrFormat | None = None,
    attributes: dict[str, Any] | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Group:
    """Opens a group, or creates it if there is none; with `overwrite`, replaces an existing node."""
    return open_group(
        store,
        path=path,
        mode="w" if overwrite else "a",
        zarr_format=zarr_format,
        attributes=attributes,
        storage_options=storage_options,
    )
