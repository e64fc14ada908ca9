"""The tests of xarray that fail with omnizarr, and why."""

from __future__ import annotations

DIFFERENCES: dict[str, tuple[str, ...]] = {
    "the test replaces methods of zarr-python's asynchronous arrays, which omnizarr does not call": (
        r"test_async_load_multiple_variables",
        r"test_concurrent_load_multiple_objects",
        r"test_indexing\[",
    ),
    "the test counts calls of zarr-python": (r"test_avoid_excess_metadata_calls", r"TestInstrumentedZarrStore"),
    "the text of an error differs": (r"test_invalid_dataarray_names_raise",),
    "blocks of dask that do not fit the chunks are written, and not refused": (
        r"test_chunk_encoding_with_dask",
        r"test_shard_encoding_with_dask",
        r"test_zarr_region_chunk_partial",
        r"test_zarr_append_chunk_partial",
        r"test_zarr_safe_chunk",
    ),
    "reading without consolidated metadata takes two more round trips, and no warning": (
        r"(?<!NoConsolidatedMetadataSupport::)test_read_non_consolidated_warning",
        r"test_to_zarr_not_consolidated",
    ),
    "`use_zarr_fill_value_as_mask=False` is honoured; xarray ignores it in `open_dataset`": (
        r"test_zarr_fill_value_setting\[2",
    ),
    "`memory://` names a store of omnizarr, and not the file system of fsspec": (r"test_open_fsspec",),
    "dimensions without names get names": (r"test_raises_key_error_on_invalid_zarr_store",),
    "chunks of a v2 array without a fill value are stored even if they hold zeros": (
        r"test_to_zarr_compute_false\[zarr_format=2",
    ),
}
"""By reason: patterns of the names of tests."""
