"""Datasets that look real, for the tests of the page and the pictures of the documentation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

import omnizarr

__all__ = ["make_datasets"]


def make_datasets(place: Path) -> dict[str, Path]:
    """Writes six datasets, and one with hostile names; the path of each by its name."""
    made = {}
    for name, make in _MAKERS.items():
        made[name] = place / f"{name}.zarr"
        make(made[name])
    return made


def noise(shape: tuple[int, int], power: float, seed: int) -> npt.NDArray[np.float64]:
    """Noise like that of clouds and mountains: its strength falls with the frequency to this power; about -3 to 3."""
    rng = np.random.default_rng(seed)
    frequency = np.hypot(np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])[None, :])
    frequency[0, 0] = np.inf
    waves = np.fft.rfft2(rng.normal(size=shape)) / frequency**power
    field = np.fft.irfft2(waves, s=shape)
    result: npt.NDArray[np.float64] = field / field.std()
    return result


def _weather(place: Path) -> None:
    """Temperature on a globe, v3, chunks of one time step, with coordinates of CF; also complex and one-dimensional."""
    attributes = {"title": "Temperature of the air, six-hourly (synthetic)", "Conventions": "CF-1.10"}
    group = omnizarr.create_group(place, attributes=attributes)
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
    still, wind = noise((181, 360), 1.6, 4), noise((181, 360), 1.7, 5)
    for n in range(count):
        day = 4 * np.cos(x + np.pi * n / 2) * np.cos(y)
        field = 297 - 42 * np.sin(y - 0.25) ** 2 - 18 * np.sin(y) ** 8 + 3 * still + 4 * np.roll(wind, 2 * n, 1) + day
        if n == 3:
            field[:40, 100:160] = np.nan
        t[n] = field
    t[20, :91, :180] = np.nan  # the fill value: the chunk becomes absent
    wave = np.exp(1j * (3 * x + 2 * y)) * np.cos(y)
    group.create_array(
        "wave", data=wave.astype("complex64"), chunks=(91, 180), dimension_names=["latitude", "longitude"]
    )
    group.create_array("global_mean", data=np.nanmean(np.asarray(t[:]), axis=(1, 2)), dimension_names=["time"])
    group.create_array("stations", data=np.array(["Ny-Ålesund", "São Paulo", "東京"], dtype=object), dtype="string")
    group.create_array("version", data=np.array(7))


def _microscopy(place: Path) -> None:
    """An OME-Zarr image of cells with three levels and labels."""
    rng = np.random.default_rng(1)
    side = 512
    yy, xx = np.mgrid[:side, :side]
    image, labels = np.zeros((2, side, side)), np.zeros((side, side), "uint32")
    texture, fibres = noise((side, side), 0.9, 6), noise((side, side), 1.3, 7)
    wobble = 0.18 * noise((side, side), 1.8, 8)
    for number in range(1, 70):
        cy, cx, radius = rng.integers(0, side), rng.integers(0, side), rng.integers(11, 24)
        angle, stretch = rng.uniform(0, np.pi), rng.uniform(1, 1.7)
        u = (xx - cx) * np.cos(angle) + (yy - cy) * np.sin(angle)
        v = (yy - cy) * np.cos(angle) - (xx - cx) * np.sin(angle)
        distance = np.hypot(u / stretch, v) / radius + wobble
        nucleus = (1 - np.tanh((distance - 1) * 7)) / 2
        image[0] = np.maximum(image[0], nucleus * rng.uniform(700, 2400) * (1 + 0.22 * texture))
        image[1] += np.exp(-((distance / 2) ** 2)) * rng.uniform(100, 700) * (1 + 0.5 * np.abs(fibres))
        labels[distance < 1] = number
    image = rng.poisson(image.clip(0) / 8 + 14) * 8.0 + rng.normal(0, 6, image.shape)
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


def _histology(place: Path) -> None:
    """A stained section of tissue in red, green and blue, in v2."""
    rng = np.random.default_rng(9)
    height, width = 480, 640
    yy, xx = np.mgrid[:height, :width]
    tissue = noise((height, width), 1.4, 10)
    stroma = np.clip(0.55 + 0.22 * tissue + 0.12 * np.sin(tissue * 7), 0, 1)
    nuclei = np.zeros((height, width))
    for _ in range(420):
        cy, cx = rng.integers(0, height), rng.integers(0, width)
        if tissue[cy, cx] > -0.9:
            radius, angle = rng.uniform(3.5, 6.5), rng.uniform(0, np.pi)
            u = (xx - cx) * np.cos(angle) + (yy - cy) * np.sin(angle)
            v = (yy - cy) * np.cos(angle) - (xx - cx) * np.sin(angle)
            blob = (1 - np.tanh((np.hypot(u / 1.4, v) / radius - 1) * 4.5)) / 2
            nuclei = np.maximum(nuclei, blob * rng.uniform(0.6, 1))
    stroma[tissue < -1.25] *= 0.12  # gaps in the tissue
    eosin, haematoxylin = stroma * 0.9, nuclei * (1 + 0.2 * noise((height, width), 0.6, 11))
    absorbed = eosin[..., None] * [0.07, 0.86, 0.32] + haematoxylin[..., None] * [1.05, 1.15, 0.42]
    picture = 246 * np.exp(-absorbed)
    omnizarr.create_array(place, data=picture.clip(0, 255).astype("uint8"), chunks=(120, 160, 3), zarr_format=2)


def _genomics(place: Path) -> None:
    """Records, text and calls of genotypes, in v2."""
    rng = np.random.default_rng(2)
    group = omnizarr.create_group(place, zarr_format=2)
    group.create_array("samples", data=np.array([f"HG{n:05d}" for n in range(200)], dtype=object), dtype="string")
    variants = np.zeros(500, dtype=[("chromosome", "S5"), ("position", "<i4"), ("allele", "U1"), ("quality", "<f4")])
    variants["chromosome"] = np.sort(rng.choice([b"chr1", b"chr2", b"chr3"], 500))
    for name in np.unique(variants["chromosome"]):
        members = variants["chromosome"] == name
        variants["position"][members] = np.sort(rng.integers(10_000, 2 * 10**8, members.sum()))
    variants["allele"], variants["quality"] = rng.choice(list("ACGT"), 500), rng.gamma(6, 9, 500)
    group.create_array("variants", data=variants, dtype=variants.dtype)
    calls = rng.choice(np.array([-1, 0, 1, 2], "int8"), (500, 200), p=[0.02, 0.6, 0.28, 0.1])
    group.create_array("calls", data=calls, chunks=(100, 50), fill_value=-1)


def _elevation(place: Path) -> None:
    """Heights of an island in shards; the inner chunks that lie in the sea are absent."""
    scene = omnizarr.create_array(
        place, shape=(1024, 1024), chunks=(64, 64), shards=(256, 256), dtype="float64", dimension_names=["y", "x"]
    )
    yy, xx = np.mgrid[-1:1:1024j, -1:1:1024j]
    height = 1000 + 480 * noise((1024, 1024), 1.75, 12) - 1900 * np.hypot(xx + 0.1, 1.15 * yy) ** 2
    scene[...] = np.where(height > 0, height, 0)


def _seismic(place: Path) -> None:
    """A section of reflections from layers with folds and a fault, in v1."""
    traces, samples = 420, 300
    x, t = np.arange(traces)[None, :], np.arange(samples)[:, None]
    depth = t - 16 * np.sin(x / 60) - 7 * np.sin(x / 23 + 1) - t * 0.05 * np.sin(x / 90)
    depth = depth - np.where(x > 250 + 0.3 * t, 22, 0)
    layers = np.random.default_rng(13).normal(size=600)
    reflections = np.interp(depth, np.arange(-100, 500), layers)
    wavelet = (1 - 2 * (np.pi * np.arange(-12, 13) / 13) ** 2) * np.exp(-((np.pi * np.arange(-12, 13) / 13) ** 2))
    section = np.apply_along_axis(np.convolve, 0, reflections, wavelet, "same")
    section = section * np.exp(-t / 400) + 0.06 * noise((samples, traces), 0.3, 14)
    z = omnizarr.create_array(place, shape=(samples, traces), chunks=(60, 105), dtype="int16", zarr_format=1)
    z[:] = (section * 900).astype("int16")


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
    "histology": _histology,
    "genomics": _genomics,
    "elevation": _elevation,
    "seismic": _seismic,
    "hostile": _hostile,
}
