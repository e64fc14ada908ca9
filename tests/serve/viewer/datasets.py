"""Datasets that look real, for the tests of the page and the pictures of the documentation."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import omnizarr

__all__ = ["make_datasets"]


def make_datasets(place: Path) -> dict[str, Path]:
    """Writes six datasets, and one with hostile names; the path of each by its name."""
    made = {}
    for name, make in _MAKERS.items():
        made[name] = place / f"{name}.zarr"
        make(made[name])
    return made


def _weather(place: Path) -> None:
    """Temperature on a globe, v3, chunks of one time step, with coordinates of CF; also complex and one-dimensional."""
    group = omnizarr.create_group(place, attributes={"title": "a made-up weather", "Conventions": "CF-1.10"})
    lat, lon, count = np.linspace(90, -90, 181), np.arange(0, 360, 1.0), 24
    group.create_array("latitude", data=lat, dimension_names=["latitude"], attributes={"units": "degrees_north"})
    group.create_array("longitude", data=lon, dimension_names=["longitude"], attributes={"units": "degrees_east"})
    group.create_array(
        "time", data=np.arange(count) * 6, dimension_names=["time"], attributes={"units": "hours since 2024-07-01"}
    )
    t = group.create_array(
        "t2m",
        shape=(count, 181, 360),
        chunks=(1, 91, 180),
        dtype="float32",
        fill_value=np.nan,
        dimension_names=["time", "latitude", "longitude"],
        attributes={"units": "K", "long_name": "temperature at 2 m"},
    )
    y, x = np.deg2rad(lat)[:, None], np.deg2rad(lon)[None, :]
    for n in range(count):
        field = (
            288
            - 45 * np.sin(y) ** 2
            + 9 * np.cos(3 * x + n / 4) * np.cos(y)
            + 6 * np.sin(5 * x - n / 3) * np.sin(2 * y)
        )
        if n == 3:
            field[:40, 100:160] = np.nan
        t[n] = field
    t[20, :91, :180] = np.nan  # the fill value: the chunk becomes absent
    wave = np.exp(1j * (3 * x + 2 * y)) * np.cos(y)
    group.create_array(
        "wave", data=wave.astype("complex64"), chunks=(91, 180), dimension_names=["latitude", "longitude"]
    )
    group.create_array("global_mean", data=np.asarray(t[:]).mean(axis=(1, 2)), dimension_names=["time"])
    group.create_array("stations", data=np.array(["Ny-Ålesund", "São Paulo", "東京"], dtype=object), dtype="string")
    group.create_array("version", data=np.array(7))


def _microscopy(place: Path) -> None:
    """An OME-Zarr image with three levels and labels."""
    rng = np.random.default_rng(1)
    side = 512
    yy, xx = np.mgrid[:side, :side]
    image, labels = np.zeros((2, side, side)), np.zeros((side, side), "uint32")
    for number in range(1, 60):
        cy, cx, radius = *rng.integers(0, side, 2), rng.integers(12, 34)
        blob = np.exp(-((yy - cy) ** 2 + (xx - cx) ** 2) / (2 * (radius / 2) ** 2))
        image[0] += blob * rng.uniform(500, 3000)
        image[1] += np.roll(blob, 8, axis=1) * rng.uniform(200, 2000)
        labels[(yy - cy) ** 2 + (xx - cx) ** 2 < (radius * 0.7) ** 2] = number
    image += rng.normal(120, 20, image.shape)
    axes = [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}]
    datasets = [
        {"path": str(n), "coordinateTransformations": [{"type": "scale", "scale": [1, 2.0**n, 2.0**n]}]}
        for n in range(3)
    ]
    attributes = {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}}
    group = omnizarr.create_group(place, attributes=attributes)
    level = image.clip(0, 65535).astype("uint16")
    for n in range(3):
        group.create_array(str(n), data=level, chunks=(1, 128, 128), dimension_names=["c", "y", "x"])
        level = level[:, ::2, ::2]
    group.create_array("labels/cells", data=labels, chunks=(128, 128), dimension_names=["y", "x"])


def _photo(place: Path) -> None:
    """A picture of red, green and blue, in v2."""
    yy, xx = np.mgrid[:240, :320]
    picture = np.stack([xx % 256, (yy * 255 // 240), ((xx + yy) // 2) % 256], axis=-1).astype("uint8")
    circle = (yy - 120) ** 2 + (xx - 160) ** 2 < 70**2
    picture[circle] = 255 - picture[circle]
    omnizarr.create_array(place, data=picture, chunks=(120, 160, 3), zarr_format=2)


def _genomics(place: Path) -> None:
    """Records, text and calls of genotypes, in v2."""
    rng = np.random.default_rng(2)
    group = omnizarr.create_group(place, zarr_format=2)
    group.create_array("samples", data=np.array([f"HG{n:05d}" for n in range(200)], dtype=object), dtype="string")
    variants = np.zeros(500, dtype=[("chromosome", "S5"), ("position", "<i4"), ("quality", "<f4")])
    variants["chromosome"], variants["position"] = b"chr1", np.sort(rng.integers(1, 10**8, 500))
    variants["quality"] = rng.uniform(0, 99, 500)
    group.create_array("variants", data=variants, dtype=variants.dtype)
    calls = rng.choice(np.array([-1, 0, 1, 2], "int8"), (500, 200), p=[0.02, 0.6, 0.28, 0.1])
    group.create_array("calls", data=calls, chunks=(100, 50), fill_value=-1)


def _satellite(place: Path) -> None:
    """A scene in shards, of which some inner chunks are absent."""
    rng = np.random.default_rng(3)
    scene = omnizarr.create_array(
        place, shape=(1024, 1024), chunks=(64, 64), shards=(256, 256), dtype="float64", dimension_names=["y", "x"]
    )
    yy, xx = np.mgrid[:1024, :1024] / 1024
    height = sum(np.sin((2**n) * (xx * 5 + n)) * np.cos((2**n) * (yy * 4 - n)) / 2**n for n in range(6))
    height = height * 800 + rng.normal(0, 8, height.shape)
    height[np.hypot(xx - 0.2, yy - 0.8) < 0.25] = 0
    scene[...] = height


def _old(place: Path) -> None:
    """An array of v1 with booleans."""
    yy, xx = np.mgrid[:90, :120]
    data = (np.sin(yy / 9) + np.cos(xx / 7)) > 0
    z = omnizarr.create_array(place, shape=(90, 120), chunks=(30, 40), dtype="bool", zarr_format=1)
    z[:] = data


def _hostile(place: Path) -> None:
    """Names and attributes that try to be more than text, and a node that cannot be read."""
    attack = "<img src=x onerror=window.attacked=1>"
    group = omnizarr.create_group(place, attributes={attack: "</script><script>window.attacked=1</script>"})
    for name in (
        attack.replace("/", ""),
        '"><svg onload=window.attacked=1>',
        "\u202edetsrever",
        "a' onclick='window.attacked=1",
    ):
        group.create_array(name, data=np.arange(6.0).reshape(2, 3), attributes={"units": attack})
    group.create_array("texts", data=np.array([attack, "\x1b[31m"], dtype=object), dtype="string")
    group.create_array("broken", shape=3, dtype="int8")
    (place / "broken" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array", "shape": "' + attack + '"}')


_MAKERS = {
    "weather": _weather,
    "microscopy": _microscopy,
    "photo": _photo,
    "genomics": _genomics,
    "satellite": _satellite,
    "old": _old,
    "hostile": _hostile,
}
