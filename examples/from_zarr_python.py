# %% [markdown]
# # Moving from zarr-python
#
# Most names are the same. This example opens old data, reads it with the names that you know, and rewrites it as v3
# with shards. [Coming from zarr-python](../docs/from-zarr-python.md) lists all differences.

# %%
import tempfile
from pathlib import Path

import numpy as np

import omnizarr as zarr  # most programs need no other change

folder = Path(tempfile.mkdtemp())

# %% [markdown]
# A hierarchy as programs of the last years wrote it: v2, blosc, attributes, consolidated metadata.

# %%
root = zarr.open_group(folder / "old.zarr", mode="w", zarr_format=2)
root.attrs["title"] = "four years of data"
temperature = root.create_array(
    "temperature", shape=(1460, 90, 180), chunks=(365, 30, 60), dtype="f4", fill_value=np.nan
)
temperature.attrs["units"] = "K"
days = np.arange(1460, dtype=np.float32)
temperature[:] = (280 + 10 * np.sin(days * 2 * np.pi / 365))[:, None, None]
zarr.consolidate_metadata(folder / "old.zarr")

# %% [markdown]
# Opening detects the generation. Indexing is that of NumPy, with `oindex`, `vindex` and `blocks`.

# %%
old = zarr.open(folder / "old.zarr", mode="r")
z = old["temperature"]
print(z.info)
print(z[0, 45, 90], z[-365:, 45, 90].mean(), z.oindex[[0, 180], :, [3]].shape, z.vindex[[0, 1], [2, 3], [4, 5]].shape)

# %% [markdown]
# Two habits that change: text in an index is a field of a structured array, never a member; and nothing is lost if
# several processes write to one chunk, so there is no `synchronizer`.

# %% [markdown]
# Rewriting as v3 with shards. `from_array` copies chunk by chunk, and keeps attributes and the fill value.

# %%
new = zarr.from_array(
    folder / "new.zarr", data=z, zarr_format=3, chunks=(73, 30, 60), shards=(365, 90, 180), overwrite=True
)
assert np.array_equal(new[...], z[...], equal_nan=True)
files = {name: sum(path.is_file() for path in (folder / name).rglob("*")) for name in ("old.zarr", "new.zarr")}
print("files:", files, "attributes:", new.attrs.asdict())

# %% [markdown]
# Appending a year. In zarr-python an append of two processes at once loses rows; here it does not.

# %%
new.append(np.full((365, 90, 180), 281, np.float32))
print(new.shape, new[-1, 0, 0])
