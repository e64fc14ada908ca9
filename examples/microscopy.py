# %% [markdown]
# # Microscopy: an OME-Zarr pyramid with shards
#
# An image in several resolutions, as viewers of microscopy data read it. The chunks are small, so that a viewer can
# load a small window, and 64 of them share one file (a shard), so that a large image does not become a million files.

# %%
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import omnizarr

folder = Path(tempfile.mkdtemp())

# %% [markdown]
# A synthetic image: two channels, three planes, bright cells on a dark background.

# %%
rng = np.random.default_rng(7)
y, x = np.mgrid[0:1024, 0:1536]
image = np.zeros((2, 3, 1024, 1536), np.uint16)
for channel, plane in np.ndindex(2, 3):
    light = np.zeros(y.shape)
    for cy, cx, radius in rng.uniform((0, 0, 10), (1024, 1536, 40), (60, 3)):
        window = np.s_[max(0, int(cy) - 90) : int(cy) + 90, max(0, int(cx) - 90) : int(cx) + 90]
        light[window] += np.exp(-((y[window] - cy) ** 2 + (x[window] - cx) ** 2) / (2 * radius**2))
    image[channel, plane] = 100 + 3000 * light + rng.normal(0, 15, y.shape)

# %% [markdown]
# The pyramid: each level halves the width and the height. The metadata of the group follow OME-Zarr 0.5.

# %%
root = omnizarr.create_group(folder / "cells.zarr")
datasets = []
level = image
for number in range(4):
    root.create_array(
        f"{number}",
        data=level,
        chunks=(1, 1, 128, 128),
        shards=(1, 1, 1024, 1024),
        dimension_names=["c", "z", "y", "x"],
        compressors={"name": "zstd", "configuration": {"level": 3, "checksum": False}},
    )
    scale = [1.0, 0.5, 0.1 * 2**number, 0.1 * 2**number]  # micrometres per pixel
    datasets.append({"path": f"{number}", "coordinateTransformations": [{"type": "scale", "scale": scale}]})
    quarters = [level[..., i::2, j::2].astype(np.uint32) for i in (0, 1) for j in (0, 1)]
    level = (sum(quarters) // 4).astype(np.uint16)

space = [{"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"]
axes = [{"name": "c", "type": "channel"}, *space]
root.attrs["ome"] = {"version": "0.5", "multiscales": [{"name": "cells", "axes": axes, "datasets": datasets}]}
print(root.tree())

# %% [markdown]
# A viewer reads only what it shows: a small window in full resolution, or the whole image in low resolution. Of each
# shard it reads the index and the chunks of the window.

# %%
viewed = omnizarr.open_group(folder / "cells.zarr", mode="r")
window = viewed["0"][0, 1, 300:428, 500:628]
print("window", window.shape, "overview", viewed["3"][0, 1].shape)
assert (window == image[0, 1, 300:428, 500:628]).all()

# %% [markdown]
# Many programs may write parts of one shard at the same time. No write is lost, and readers see whole chunks. Here four
# threads draw labels that share shards and chunks.

# %%
labels = root.create_array("labels", shape=image.shape[2:], dtype="u4", chunks=(128, 128), shards=(1024, 1024))


def draw(number: int) -> None:
    labels[100 * number : 100 * number + 100, 100:900] = number


with ThreadPoolExecutor(4) as pool:
    list(pool.map(draw, range(1, 9)))
assert (np.unique(labels[...]) == np.arange(9)).all()
print("labels:", dict(labels.info_complete().items)["Chunks stored"], "chunks stored")

# %% [markdown]
# A notebook shows an array with a drawing of its chunks and shards, and a picture of it from few chunks:

# %%
viewed["0"]

# %%
viewed["0"].preview(0, 1)
