# %% [markdown]
# # Climate: a dataset of xarray that grows
#
# Writes a month of hourly data, appends a day, replaces a region, and computes a rolling mean with dask. It needs
# `pip install omnizarr[xarray,dask]`.

# %%
import tempfile
from pathlib import Path

import numpy as np
import xarray as xr

import omnizarr.integrations.xarray  # noqa: F401  # registers `ds.omnizarr`

location = Path(tempfile.mkdtemp()) / "month.zarr"
LAT = np.arange(-88.5, 90, 3)
LON = np.arange(1.5, 360, 3)


def weather(start: str, hours: int) -> xr.Dataset:
    """Synthetic temperature and rain."""
    time = np.datetime64(start, "ns") + np.arange(hours) * np.timedelta64(1, "h")
    phase = (time - np.datetime64("2026-01-01")) / np.timedelta64(1, "D")
    sun = np.cos(np.radians(LON)[None, None, :] + 2 * np.pi * phase[:, None, None])
    temperature = 300 - 50 * np.sin(np.radians(LAT))[None, :, None] ** 2 + 6 * sun
    rain = np.random.default_rng(hours).gamma(0.3, 2, temperature.shape)
    dims = ("time", "lat", "lon")
    fields = {"temperature": (dims, temperature, {"units": "K"}), "rain": (dims, rain, {"units": "mm h-1"})}
    return xr.Dataset({**fields}, {"time": time, "lat": LAT, "lon": LON}).astype("f4")


# %% [markdown]
# One shard per week holds chunks of one day. A map reads one chunk, a time series one chunk per day.

# %%
month = weather("2026-01-01", 28 * 24)
layout = {"chunks": (24, 20, 40), "shards": (7 * 24, 60, 120)}
month.omnizarr.to_zarr(location, mode="w", encoding={"temperature": layout, "rain": layout})
opened = xr.open_dataset(location, engine="omnizarr")
print(opened)

# %% [markdown]
# Appending a day: the day shares a shard with the last week, and that needs no care. All variables grow together: after
# a failure, or if the program is killed, the dataset is as it was.

# %%
weather("2026-01-29", 24).omnizarr.to_zarr(location, append_dim="time")
opened = xr.open_dataset(location, engine="omnizarr")
print(opened.sizes, opened.time.values[-1])

# %% [markdown]
# Replacing a region. `region="auto"` finds the place from the coordinates.

# %%
corrected = opened[["rain"]].isel(time=slice(100, 130)).load().clip(max=20)
corrected.omnizarr.to_zarr(location, region="auto")
again = xr.open_dataset(location, engine="omnizarr")
assert float(again.rain.isel(time=slice(100, 130)).max()) <= 20
assert np.array_equal(again.rain.values[130:], opened.rain.values[130:])

# %% [markdown]
# A map and a time series, read directly; each is one call of the engine.

# %%
print("map", again.temperature.sel(time="2026-01-15T12").shape)
print("series", again.temperature.sel(lat=49.5, lon=10.5, method="nearest").mean().item())

# %% [markdown]
# A rolling mean over a day with dask: `chunks={}` follows the shards. The result is written in parallel, although its
# chunks are not aligned with those of the target.

# %%
lazy = xr.open_dataset(location, engine="omnizarr", chunks={})
smooth = lazy[["temperature"]].rolling(time=24, center=True).mean().chunk(time=100)
target = location.with_name("smooth.zarr")
smooth.omnizarr.to_zarr(target, mode="w", encoding={"temperature": {"chunks": (24, 20, 40), "shards": (168, 60, 120)}})
result = xr.open_dataset(target, engine="omnizarr")
expected = again.temperature.rolling(time=24, center=True).mean()
np.testing.assert_allclose(result.temperature, expected, rtol=1e-4)
print(result.temperature.isel(time=300).mean().item())
