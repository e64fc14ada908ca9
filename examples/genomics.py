# %% [markdown]
# # Genomics: text, categories, ragged and sparse data
#
# Counts of genes in cells, in the layout of anndata: a table of cells, a table of genes, and a sparse matrix. Then
# variants with a different number of alleles each.

# %%
import tempfile
from pathlib import Path

import numpy as np

import omnizarr

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(11)
CELLS, GENES = 3000, 800

# %% [markdown]
# Names are text of any length; categories are small integers with a list of their meanings.

# %%
root = omnizarr.create_group(
    folder / "cells.zarr", attributes={"encoding-type": "anndata", "encoding-version": "0.1.0"}
)
cell_names = np.array([f"cell-{number:05d}" for number in range(CELLS)], dtype=np.dtypes.StringDType())
gene_names = np.array([f"GENE{number}" for number in range(GENES)], dtype=np.dtypes.StringDType())
root.create_array("obs/_index", data=cell_names)
root.create_array("var/_index", data=gene_names)
kinds = np.array(["B cell", "T cell", "monocyte"], dtype=np.dtypes.StringDType())
root.create_array("obs/kind/categories", data=kinds)
codes = rng.integers(0, 3, CELLS).astype(np.int8)
root.create_array("obs/kind/codes", data=codes)
print(root["obs/_index"][:3], kinds[root["obs/kind/codes"][:3]])

# %% [markdown]
# The matrix in compressed rows: the values of all rows one after the other, their columns, and where each row begins.
# Each of the three is an ordinary array, which grows by `append`.

# %%
matrix = root.create_group("X", attributes={"encoding-type": "csr_matrix", "shape": [CELLS, GENES]})
values = matrix.create_array("data", shape=0, dtype="f4", chunks=65536)
columns = matrix.create_array("indices", shape=0, dtype="i4", chunks=65536)
starts = matrix.create_array("indptr", data=np.zeros(1, np.int64), chunks=65536)
dense_rows = []
for _ in range(0, CELLS, 500):  # cells arrive in batches
    batch = rng.poisson(0.15, (500, GENES)).astype(np.float32)
    dense_rows.append(batch)
    row, column = np.nonzero(batch)
    values.append(batch[row, column])
    columns.append(column.astype(np.int32))
    starts.append(starts[-1] + np.cumsum(np.bincount(row, minlength=500)))
print(root.tree())


# %%
def cells(first: int, last: int) -> np.ndarray:
    """Some rows of the matrix, dense: two reads, whatever the size of the matrix."""
    begins = starts[first : last + 1]
    part = slice(int(begins[0]), int(begins[-1]))
    rows = np.repeat(np.arange(last - first), np.diff(begins))
    dense = np.zeros((last - first, GENES), np.float32)
    dense[rows, columns[part]] = values[part]
    return dense


assert (cells(990, 1010) == np.concatenate(dense_rows)[990:1010]).all()
print("counts in cells 990 to 1010:", int(cells(990, 1010).sum()))

# %% [markdown]
# Ragged data, without offsets: each element of `alleles` is an array of its own.

# %%
variants = omnizarr.create_group(folder / "variants.zarr", zarr_format=2)
lengths = rng.integers(1, 5, 1000)
alleles = np.empty(1000, object)
for number, length in enumerate(lengths):
    alleles[number] = rng.integers(0, 4, length).astype(np.int32)
variants.create_array("alleles", data=alleles, dtype=object, filters=[{"id": "vlen-array", "dtype": "<i4"}])
again = omnizarr.open_group(folder / "variants.zarr", mode="r")["alleles"][:4]
print("alleles:", [one.tolist() for one in again])
assert all((one == other).all() for one, other in zip(again, alleles, strict=False))
