# %% [markdown]
# # Machine learning: random crops in forked workers
#
# `omnizarr.loader` gives random crops of a large volume in several processes, as `torch.utils.data.DataLoader` starts
# them on Linux: by forking. The handle that the parent opened works in every child.

# %%
import multiprocessing
import tempfile
from pathlib import Path
from typing import Any

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
# The loader: random crops of both arrays at the same places, in batches of 8. Crops that begin in the same chunks are
# read together. Decoded chunks stay in memory that all workers share, because crops of the next epoch need them again.

# %%
group = omnizarr.open_group(folder / "train.zarr", mode="r", cache=omnizarr.SharedChunkCache("64 MiB"))
arrays = {"image": group["volume"], "mask": group["labels"]}
window = dict.fromkeys(range(3), SIDE)


def make_loader(rank: int = 0, world_size: int = 1) -> Any:
    return omnizarr.loader(arrays, 8, window=window, crops=64, shuffle=True, seed=1, rank=rank, world_size=world_size)


batch = next(iter(make_loader()))
print("crops", batch["image"].shape, batch["image"].dtype, "labelled", f"{batch['mask'].mean():.1%}")

# %% [markdown]
# Four workers, each with its share of the epoch. With PyTorch this is
# `DataLoader(make_loader(), batch_size=None, num_workers=4)`; with several devices, torchrun says the rank.


# %%
def work(rank: int) -> tuple[int, float]:
    means = []
    for batch in make_loader(rank, 4):
        assert ((batch["image"] > 1) == batch["mask"]).all()
        means += batch["mask"].mean(axis=(1, 2, 3)).tolist()
    return len(means), float(np.mean(means))


with multiprocessing.get_context("fork").Pool(4) as pool:
    counts, means = zip(*pool.map(work, range(4)), strict=True)
print(sum(counts), "crops with", f"{np.mean(means):.1%}", "labelled")

# %% [markdown]
# A training that stops goes on where it was: the state is stored with the checkpoint of the model.

# %%
loader = make_loader()
batches = iter(loader)
seen = [next(batches) for _ in range(3)]
state = loader.state_dict()
again = make_loader()
again.load_state_dict(state)
print("after 3 of", len(loader), "batches:", len(list(again)), "remain")

# %% [markdown]
# A checkpoint while the loader runs is safe, too: writers and readers never see half of a chunk.

# %%
predictions = root.create_array("predictions", shape=volume.shape, dtype="f2", **options)
predictions[40:88, 100:148, 100:148] = seen[0]["image"][0]
print("predictions:", dict(predictions.info_complete().items)["Chunks stored"])
