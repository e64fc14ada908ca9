"""Example: writes a day of weather on a grid, shows the files, and reads parts of the data back.

Run `python examples/weather.py`. To keep the data, pass a folder: `python examples/weather.py out`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import omnizarr

HOURS = np.arange(24)
LAT = np.arange(-89.5, 90)
LON = np.arange(0.5, 360)

FIELDS: dict[str, dict[str, str]] = {
    "temperature": {"standard_name": "air_temperature", "units": "K"},
    "wind_u": {"standard_name": "eastward_wind", "units": "m s-1"},
    "wind_v": {"standard_name": "northward_wind", "units": "m s-1"},
    "pressure": {"standard_name": "air_pressure_at_mean_sea_level", "units": "hPa"},
}


def weather() -> dict[str, np.ndarray[Any, Any]]:
    """Synthetic fields, rounded to one decimal like measurements."""
    hour = HOURS[:, None, None]
    lat, lon = np.radians(LAT)[None, :, None], np.radians(LON)[None, None, :]
    sun = np.cos(lon + 2 * np.pi * (hour - 12) / 24) * np.cos(lat)  # highest at local noon
    land = np.sin(2 * lon + 3 * lat) * np.cos(lat)  # warm continents, cool oceans
    phase = 5 * lon + 3 * lat - 0.3 * hour  # lows and highs of the middle latitudes, moving east
    fields = {
        "temperature": 300 - 55 * np.sin(lat - 0.2) ** 2 + 6 * sun + 7 * land + 3 * np.sin(phase) * np.sin(2 * lat),
        "wind_u": 15 * np.sin(2 * lat) ** 2 - 6 * np.cos(lat) ** 8 + 5 * np.sin(phase) * np.cos(lat),
        "wind_v": 8 * np.cos(phase) * np.sin(2 * lat),
        "pressure": 1013 + 12 * np.cos(4 * lat) - 9 * np.sin(phase) * np.cos(lat),
    }
    return {name: np.round(field, 1).astype("float32") for name, field in fields.items()}


def write(path: Path) -> None:
    """Write a group with one array per coordinate and per field."""
    about = {"title": "A day of weather", "Conventions": "CF-1.11"}
    group = omnizarr.create_group(path, attributes=about, overwrite=True)
    for name, units, values in (
        ("time", "hours since 2026-06-21", HOURS),
        ("lat", "degrees_north", LAT),
        ("lon", "degrees_east", LON),
    ):
        group.create_array(name, data=values, dimension_names=[name], attributes={"units": units})
    for name, field in weather().items():
        # Pressure has small chunks that share one file, a shard: a window reads little, and there are few files.
        pressure = name == "pressure"
        group.create_array(
            name,
            data=field,
            chunks=(6, 60, 60) if pressure else (6, 90, 180),
            shards=(24, 180, 360) if pressure else None,
            dimension_names=["time", "lat", "lon"],
            attributes=FIELDS[name],
        )


def show_disk(group: omnizarr.Group) -> None:
    """Print one line per array: chunks, shards, files, and bytes in memory and on disk."""
    line = "{:<12}{:>10}{:>13}{:>7}{:>13}{:>13}{:>7}"
    print(line.format("array", "chunks", "shards", "files", "memory", "disk", "ratio"))
    for name, array in group.arrays():
        chunks, shards = ("×".join(map(str, lengths or ["-"])) for lengths in (array.chunks, array.shards))
        files = sum(1 for _ in group.store.list_prefix(f"{name}/"))
        stored = array.nbytes_stored()
        sizes = (f"{size / 1024:,.1f} KiB" for size in (array.nbytes, stored))
        print(line.format(name, chunks, shards, files, *sizes, f"{array.nbytes / stored:.1f}"))


def show_noon(group: omnizarr.Group, latitude: float) -> None:
    """Print one row of the grid at one hour. omnizarr reads only the chunks that the row touches."""
    row = int(np.flatnonzero(group["lat"][...] == latitude)[0])
    print(f"noon at {latitude}° N, every 60° of longitude")
    for name in ("temperature", "pressure", "wind_u", "wind_v"):
        field = group[name]
        print(f"  {name:<12}{field[12, row, ::60]} {field.attrs['units']}")


def show_mean(group: omnizarr.Group) -> None:
    """Print the mean temperature of the day as a map with one letter per 15° by 6°."""
    mean = group["temperature"][...].mean(axis=0)
    cells = mean.reshape(12, 15, 60, 6).mean(axis=(1, 3))[::-1]  # north is up
    letters = np.array(list(" .:-=+*#%@"))
    steps = np.linspace(cells.min(), cells.max(), len(letters) + 1)[1:-1]
    print(f"mean temperature of the day, from {mean.min():.1f} K (blank) to {mean.max():.1f} K (@)")
    for row in letters[np.digitize(cells, steps)]:
        print("  " + "".join(row))


def main(folder: Path) -> None:
    """Write the dataset into a folder and show how to use it."""
    path = folder / "weather.zarr"
    write(path)
    group = omnizarr.open_group(path, mode="r")
    print(group.attrs["title"], group.tree(), "", sep="\n")
    show_disk(group)
    print()
    show_noon(group, latitude=45.5)
    print()
    show_mean(group)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
        print(f"\nsaved in {Path(sys.argv[1], 'weather.zarr')}; inspect it with `omnizarr tree` and `omnizarr info`")
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
