"""`OmnizarrBackend`: the engine `omnizarr` of xarray.

xarray imports this module to list its engines, also for a program that never uses this one. Therefore it imports the
rest of omnizarr when a dataset is opened.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from xarray.backends import BackendEntrypoint

if TYPE_CHECKING:
    from xarray import Dataset, DataTree

__all__ = ["OmnizarrBackend"]


class OmnizarrBackend(BackendEntrypoint):  # type: ignore[misc]
    """Opens Zarr groups of every generation, and N5, in every store of omnizarr.

    Options, besides those of xarray:
        group: the path of the group.
        consolidated: True requires consolidated metadata, False ignores it, None uses it if it exists.
        zarr_format: the generation to find; None finds any.
        storage_options: options of the store that a URL names, such as credentials.
        chunk_cache: keeps decoded chunks for later reads: a number of bytes, text such as "256 MiB", or a `ChunkCache`.
        on_corrupt: what a read does with a damaged chunk: "raise", "fill" or a function, as in `omnizarr.open`.
        use_zarr_fill_value_as_mask: whether the fill value of an array is the value of missing data. None: True for
            generations whose fill value can be undefined (1, 2 and "3-draft-2020"), as in xarray.
    """

    description = "Open Zarr groups of every generation, and N5, with omnizarr"
    supports_groups = True

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """False: programs choose this engine by its name."""
        return False

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: Any = True,
        decode_times: Any = True,
        concat_characters: Any = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: Any = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        consolidated: bool | None = None,
        zarr_format: Any = None,
        storage_options: dict[str, Any] | None = None,
        chunk_cache: Any = None,
        on_corrupt: Any = "raise",
        use_zarr_fill_value_as_mask: bool | None = None,
    ) -> Dataset:
        from omnizarr.integrations.xarray.open_groups import OpenOptions, open_dataset

        options = OpenOptions(
            group, consolidated, zarr_format, storage_options, chunk_cache, on_corrupt, use_zarr_fill_value_as_mask
        )
        return open_dataset(
            filename_or_obj,
            options,
            drop_variables,
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_groups_as_dict(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: Any = True,
        decode_times: Any = True,
        concat_characters: Any = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: Any = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        consolidated: bool | None = None,
        zarr_format: Any = None,
        storage_options: dict[str, Any] | None = None,
        chunk_cache: Any = None,
        on_corrupt: Any = "raise",
        use_zarr_fill_value_as_mask: bool | None = None,
    ) -> dict[str, Dataset]:
        from omnizarr.integrations.xarray.open_groups import OpenOptions, open_groups

        options = OpenOptions(
            group, consolidated, zarr_format, storage_options, chunk_cache, on_corrupt, use_zarr_fill_value_as_mask
        )
        return open_groups(
            filename_or_obj,
            options,
            drop_variables,
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )

    def open_datatree(self, filename_or_obj: Any, **options: Any) -> DataTree:
        """The groups of `open_groups_as_dict` as a tree."""
        from xarray.backends.common import datatree_from_dict_with_io_cleanup

        return datatree_from_dict_with_io_cleanup(self.open_groups_as_dict(filename_or_obj, **options))
