"""Creating arrays and groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from omnizarr.api.location import StoreLike, new_place, resolve
from omnizarr.api.open_nodes import open_group
from omnizarr.formats import dialect_for
from omnizarr.model import ZarrFormat, normal_path
from omnizarr.nodes import Array, ArrayOptions, Group, new_array, new_group, takes_array_options
from omnizarr.nodes.metadata.enclosing_dialect import enclosing_dialect
from omnizarr.nodes.node import NodeContext

__all__ = ["create_array", "create_group", "group"]


@takes_array_options
def create_array(store: StoreLike = None, *, name: str | None = None, **options: Unpack[ArrayOptions]) -> Array:
    """Creates an array, at the root of a store or under a `name` in it; groups above it are created where missing.

    Args:
        store: a path, a URL, a store, a dict, or None for memory.
        name: the path of the array inside the store.
        shape: the length of each dimension; may be left out if `data` is given.
        dtype: anything that NumPy takes for a type, or a Zarr name such as `r24`; may be left out with `data`.
        data: the elements, to be written at once.
        chunks: the chunk length of each dimension (-1 for all of it), one length for all, or "auto"; a list in place of
            a length gives each chunk of that dimension its own.
        shards: the shape of stored objects that hold many chunks each, "auto", or None for one object per chunk.
        filters: array → array codecs.
        compressors: bytes → bytes codecs; "auto" chooses by the type, None stores uncompressed.
        serializer: the array → bytes codec; "auto" is `bytes`, in the byte order of `dtype`.
        fill_value: what elements are that nobody wrote; zero, if not given. None leaves it undefined, where the
            generation has that (1, 2 and "3-draft-2020").
        order: "C", or "F" for elements stored with the first index varying fastest.
        zarr_format: the generation to write: 1, 2, "3-draft-2020", "3-draft-2022" or 3. None is that of the groups
            above, or 3.
        attributes: what you want to say about the array; JSON values under names.
        chunk_key_encoding: `/` or `.`, a name, or a JSON object; the default gives keys like `c/0/1`.
        dimension_names: a name, or None, for each dimension.
        storage_transformers: what stands between the array and its store; the drafts of v3 have them.
        extensions: JSON objects by which a document of a draft of v3 says what else it needs.
        fallback: the core data type, or a list of them, that readers of a draft of v3 may use who do not know the type.
        storage_options: for a URL.
        overwrite: replaces what lies there, with all that lies below it.
        write_empty_chunks: stores also chunks that hold nothing but the fill value, instead of leaving them out.

    Codecs are given as objects (`omnizarr.codecs.Zstd(level=3)`), names ("zstd") or JSON objects.
    """
    zarr_format = options.pop("zarr_format", 3)
    context = _context(store, options.pop("storage_options", None), normal_path(name, "name"), zarr_format)
    return new_array(context, **options)


def _context(
    store: StoreLike, storage_options: dict[str, Any] | None, path: str, zarr_format: ZarrFormat | None
) -> NodeContext:
    place, where = resolve(store, storage_options, path)
    if zarr_format is None:
        around = enclosing_dialect(place, where) if where else None
        zarr_format = 3 if around is None else around.zarr_format
    found = dialect_for(zarr_format)
    place, where = new_place(store, place, where, zarr_format)
    return NodeContext(place, found.normalize_path(where), found)


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
    """Creates a group, at the root of a store or under a `path` in it; groups above it are created where missing.

    In the drafts of v3 a new hierarchy may declare `extensions`, as JSON objects, and be written in another
    `metadata_encoding` than JSON, given by its URI."""
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
    """The group at a place; a new one if there is none, or if `overwrite` says so."""
    return open_group(
        store,
        path=path,
        mode="w" if overwrite else "a",
        zarr_format=zarr_format,
        attributes=attributes,
        storage_options=storage_options,
    )
