"""Creating arrays and groups."""

from __future__ import annotations

from typing import Any, Unpack

from omnizarr.api.location import StoreLike, resolve
from omnizarr.api.opening import open_group
from omnizarr.formats import dialect
from omnizarr.model import ZarrFormat, normal_path
from omnizarr.nodes import Array, ArrayOptions, Group, new_array, new_group, takes_array_options
from omnizarr.nodes.site import Site

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
        chunks: the chunk length of each dimension (-1 for all of it), one length for all, or "auto".
        shards: the shape of stored objects that hold many chunks each, "auto", or None for one object per chunk.
        filters: array → array codecs.
        compressors: bytes → bytes codecs; "auto" chooses by the type, None stores uncompressed.
        serializer: the array → bytes codec; "auto" is `bytes`, in the byte order of `dtype`.
        fill_value: what elements are that nobody wrote; zero, if not given.
        order: "C", or "F" for elements stored with the first index varying fastest.
        zarr_format: the generation to write.
        attributes: what you want to say about the array; JSON values under names.
        chunk_key_encoding: `/` or `.`, a name, or a JSON object; the default gives keys like `c/0/1`.
        dimension_names: a name, or None, for each dimension.
        storage_options: for a URL.
        overwrite: replaces what lies there, with all that lies below it.
        write_empty_chunks: stores also chunks that hold nothing but the fill value, instead of leaving them out.

    Codecs are given as objects (`omnizarr.codecs.Zstd(level=3)`), names ("zstd") or JSON objects.
    """
    place = resolve(store, options.pop("storage_options", None))
    site = Site(place, normal_path(name, "name"), dialect(options.pop("zarr_format", 3)))
    return new_array(site, **options)


def create_group(
    store: StoreLike = None,
    *,
    path: str | None = None,
    attributes: dict[str, Any] | None = None,
    zarr_format: ZarrFormat = 3,
    storage_options: dict[str, Any] | None = None,
    overwrite: bool = False,
) -> Group:
    """Creates a group, at the root of a store or under a `path` in it; groups above it are created where missing."""
    site = Site(resolve(store, storage_options), normal_path(path), dialect(zarr_format))
    return new_group(site, attributes, overwrite=overwrite)


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
