"""Creates the corpus `tests/corpora/references`: a small HDF5 file, and the references to it that kerchunk makes.

`python tests/corpora/make_references.py FOLDER` writes it, in any environment that has kerchunk, h5py and fastparquet.
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np


def main(folder: str) -> None:
    import h5py
    from kerchunk.df import refs_to_dataframe
    from kerchunk.hdf import SingleHdf5ToZarr

    os.chdir(folder)  # so that references lead to the file beside them
    with h5py.File("model.h5", "w", libver="latest") as file:
        file.attrs["title"] = "a small model"
        values = np.random.default_rng(0).integers(0, 1000, (10, 12)).astype("<i2")
        array = file.create_dataset("temperature", data=values, chunks=(4, 5), compression="gzip", shuffle=True)
        array.attrs["units"] = "K"
        file.create_dataset("deep/plain", data=np.arange(20, dtype="<f8"))
        file.create_dataset("scalar", data=np.float32(2.5))
    references = SingleHdf5ToZarr("model.h5", "model.h5", inline_threshold=0).translate()
    for name, document in (("version1.json", references), ("version0.json", references["refs"])):
        with open(name, "w") as file:
            json.dump(document, file, indent=1)
    refs_to_dataframe(references, "refs.parq", record_size=4)


if __name__ == "__main__":
    main(sys.argv[1])
