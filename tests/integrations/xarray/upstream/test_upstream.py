"""The tests of xarray's Zarr backend; `conftest.py` replaces what they test."""

from xarray.tests.test_backends import (  # noqa: F401
    TestDataArrayToZarr,
    TestNCZarr,
    TestZarrDictStore,
    TestZarrDirectoryStore,
    TestZarrRectilinearChunksRead,
    TestZarrRegionAuto,
    TestZarrWriteEmpty,
    default_zarr_format,
    tmp_store,
)
from xarray.tests.test_backends_datatree import (  # noqa: F401
    TestZarrDatatreeIO,
    unaligned_datatree_zarr_factory,
)
