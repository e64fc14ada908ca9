"""xarray: the engine `omnizarr` of `xarray.open_dataset`, and the accessor `ds.omnizarr`.

xarray imports this module when it lists its engines, such as at the first `open_dataset(…, engine="omnizarr")`. A
program that uses the accessor before that imports the module itself:

    import omnizarr.integrations.xarray
    ds.omnizarr.to_zarr("weather.zarr")
"""

try:
    from xarray.backends.common import BACKEND_ENTRYPOINTS
except ImportError:
    from omnizarr.errors import MissingDependencyError

    raise MissingDependencyError("the integration with xarray", "omnizarr[xarray]") from None

from omnizarr.integrations.xarray.accessors import OmnizarrAccessor
from omnizarr.integrations.xarray.backend import OmnizarrBackend

__all__ = ["OmnizarrAccessor", "OmnizarrBackend"]

# The entry point registers the engine, too. It is missing if the source is on the path and not installed.
BACKEND_ENTRYPOINTS["omnizarr"] = (None, OmnizarrBackend)
