"""The accessor `omnizarr` of datasets, data arrays and trees.

It imports the rest of omnizarr when a method is called, because xarray imports this module to list its engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xarray import register_dataarray_accessor, register_dataset_accessor, register_datatree_accessor

__all__ = ["OmnizarrAccessor"]


@register_datatree_accessor("omnizarr")
@register_dataarray_accessor("omnizarr")
@register_dataset_accessor("omnizarr")
class OmnizarrAccessor:
    """`ds.omnizarr`: what omnizarr adds to an object of xarray."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def to_zarr(
        self,
        location: Any,
        mode: str | None = None,
        *,
        group: str | None = None,
        encoding: Mapping[Any, Any] | None = None,
        append_dim: Any = None,
        region: Any = None,
        zarr_format: Any = None,
        consolidated: bool | None = None,
        compute: bool = True,
        safe_chunks: bool = True,
        align_chunks: bool = False,
        shards: Any = None,
        storage_options: dict[str, Any] | None = None,
        write_empty_chunks: bool | None = None,
        write_inherited_coords: bool = False,
        chunkmanager_store_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Writes the object to a group, as `to_zarr` of xarray does, and returns the group.

        An append changes all variables, or none if it fails or the process is killed.

        Args:
            location: a path, a URL, a store, a dict, or a group.
            mode: "w" replaces the group, "w-" creates it, "a" changes it or creates it, "a-" does so without variables
                that do not have the dimension `append_dim`, "r+" changes the values of existing variables. By default
                "a" with `append_dim`, "r+" with `region`, and otherwise "w-".
            group: the path of the group.
            encoding: for each variable the options `chunks`, `shards`, `filters`, `serializer`, `compressors`,
                `fill_value`, `order`, `chunk_key_encoding` and `write_empty_chunks`, and those of the CF conventions
                such as `dtype`, `scale_factor` and `_FillValue`. For a tree, by the path of the node.
            append_dim: the dimension along which existing variables grow.
            region: a slice for each dimension of which a part is written. "auto" finds the part whose coordinates are
                those of the dataset.
            zarr_format: the generation of a new group: 2, 3, "3-draft-2020", "3-draft-2022" or "n5"; by default that of
                the groups above, or 3.
            consolidated: whether to write consolidated metadata; None writes it if the generation has it.
            compute: False writes the metadata, and returns a delayed object that writes the values of dask.
            safe_chunks: merge and cut blocks of dask so that no two tasks write to the same shard. False writes blocks
                as they are; this is slower if tasks share shards, and the result is the same.
            align_chunks: merge and cut blocks also with `safe_chunks=False`.
            shards: the shards of new variables without shards in their encoding: "auto", or lengths by dimension.
            storage_options: options of the store that a URL names, such as credentials.
            write_empty_chunks: also store chunks whose elements all have the fill value.
            write_inherited_coords: also write the coordinates that the groups of a tree inherit.
            chunkmanager_store_kwargs: options for `dask.array.store`.
        """
        from omnizarr.integrations.xarray.writing.plan import ToZarrOptions
        from omnizarr.integrations.xarray.writing.write import to_zarr

        if mode is None:
            mode = "a" if append_dim is not None else "r+" if region is not None else "w-"
        options = ToZarrOptions(
            mode=mode,
            append_dim=append_dim,
            region=region,
            zarr_format=zarr_format,
            consolidated=consolidated,
            compute=compute,
            safe_chunks=safe_chunks or align_chunks,
            shards=shards,
            storage_options=storage_options,
            write_empty_chunks=write_empty_chunks,
            chunkmanager_store_kwargs=chunkmanager_store_kwargs,
        )
        return to_zarr(self._data, location, group, encoding, options, write_inherited_coords=write_inherited_coords)

    def load(self) -> Any:
        """Loads all variables into memory, those of remote stores at the same time, and returns the object.

        `ds.load()` waits for each variable before it requests the next.
        """
        from omnizarr.integrations.xarray.load import load

        load(self._data)
        return self._data
