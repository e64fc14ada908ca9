"""The tests of xarray's Zarr backend; `conftest.py` replaces what they test.

Tests of functions that only xarray's own backend has, such as `encode_zarr_attr_value`, are left out.
"""

from xarray.tests.test_backends import (  # noqa: F401
    TestDataArrayToZarr,
    TestInstrumentedZarrStore,
    TestNCZarr,
    TestZarrDictStore,
    TestZarrDirectoryStore,
    TestZarrNoConsolidatedMetadataSupport,
    TestZarrRectilinearChunksRead,
    TestZarrRegionAuto,
    TestZarrWriteEmpty,
    default_zarr_format,
    fsspec_memory_zarr_stores,
    test_chunking_consistency,
    test_open_dataset_chunking_zarr,
    test_open_fsspec,
    test_open_mfdataset_fsspec,
    test_raises_key_error_on_invalid_zarr_store,
    test_roundtrip_stringdtype_zarr_v3,
    test_stringdtype_with_na_object_uses_the_compatibility_path,
    test_zarr_closing_internal_zip_store,
    test_zarr_create_default_indexes,
    tmp_store,
)
from xarray.tests.test_backends_datatree import (  # noqa: F401
    TestZarrDatatreeIO,
    unaligned_datatree_zarr_factory,
)
from xarray.tests.test_distributed import (  # noqa: F401
    cleanup,
    client,
    cluster_fixture,
    loop,
    loop_in_thread,
    test_dask_distributed_zarr_integration_test,
    zarr,
)
