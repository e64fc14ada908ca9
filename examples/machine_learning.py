# %% [markdown]
# # Machine learning: random crops in forked workers
#
# A loader reads random crops of a large volume in several processes, as `torch.utils.data.DataLoader` does on Linux:
# it forks. The handle that the parent opened works in every child.

# %%
import multiprocessing
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import omnizarr

folder = Path(tempfile.mkdtemp())
SIDE = 48

# %% [markdown]
# A volume with labels. Crops are small, so the chunks are small; shards keep the number of files low.

# %%
rng = np.random.default_rng(3)
root = omnizarr.create_group(folder / "train.zarr")
options = {"chunks": (32, 32, 32), "shards": (128, 128, 128)}
volume = root.create_array("volume", data=rng.normal(0, 1, (128, 256, 256)).astype(np.float16), **options)
labels = root.create_array("labels", data=(volume[...] > 1).astype(np.uint8), **options)
volume.preview()


# %% [markdown]
# The dataset: an index gives a crop. Decoded chunks stay in a cache, because crops overlap. The generator of random
# numbers belongs to the crop, so that the order of the workers does not matter.


# %%
class Crops:
    """Random crops of the volume and its labels."""

    def __init__(self, location: Path, count: int) -> None:
        self.group = omnizarr.open_group(location, mode="r", cache=2**26)
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        shape = self.group["volume"].shape
        corner = np.random.default_rng(number).integers(0, np.array(shape) - SIDE)
        window = tuple(slice(start, start + SIDE) for start in corner.tolist())
        return self.group["volume"][window], self.group["labels"][window]


crops = Crops(folder / "train.zarr", 64)
image, label = crops[0]
print("crop", image.shape, image.dtype, "labelled", f"{label.mean():.1%}")

# %% [markdown]
# Four workers. With PyTorch this is `DataLoader(crops, batch_size=8, num_workers=4)`.


# %%
def load(numbers: list[int]) -> tuple[np.ndarray, np.ndarray]:
    images, masks = zip(*(crops[number] for number in numbers), strict=True)
    return np.stack(images), np.stack(masks)


def batches(size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    order = np.random.default_rng(0).permutation(len(crops))
    with multiprocessing.get_context("fork").Pool(4) as pool:
        yield from pool.imap(load, np.split(order, len(crops) // size))


means = []
for images, masks in batches(8):
    assert ((images > 1) == masks).all()
    means.append(float(masks.mean()))
print(len(means), "batches of", images.shape, "with", f"{np.mean(means):.1%}", "labelled")

# %% [markdown]
# A checkpoint while the loader runs is safe, too: writers and readers never see half of a chunk.

# %%
predictions = root.create_array("predictions", shape=volume.shape, dtype="f2", **options)
predictions[40:88, 100:148, 100:148] = images[0]
print("predictions:", dict(predictions.info_complete().items)["Chunks stored"])
