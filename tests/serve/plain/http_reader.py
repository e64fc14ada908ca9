"""Reads arrays over HTTP with zarr-python or TensorStore; runs in an environment of the peers.

    python http_reader.py RESULTS < JOBS

A job is a line of JSON: `library`, `url`, `path`, `format`. The elements go to `RESULTS/<number>.npy`; the answer is a
line with `null`, or with the error.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np


def read_zarr(url: str, path: str, _: int) -> Any:
    import zarr
    from obstore.store import HTTPStore
    from zarr.storage import ObjectStore

    store = ObjectStore(HTTPStore.from_url(url, client_options={"allow_http": True}), read_only=True)
    if path:  # through the group, whose consolidated metadata lists the array
        group = zarr.open_group(store, mode="r")
        assert path in dict(group.members(max_depth=None)), "the array is not listed"
        return group[path][...]
    return zarr.open_array(store, mode="r")[...]


def read_tensorstore(url: str, path: str, generation: int) -> Any:
    import tensorstore

    driver = {2: "zarr", 3: "zarr3"}[generation]
    spec = {"driver": driver, "kvstore": {"driver": "http", "base_url": url, "path": f"{path}/" if path else ""}}
    return tensorstore.open(spec, open=True, read=True).result().read().result()


def main() -> None:
    readers = {"zarr": read_zarr, "tensorstore": read_tensorstore}
    for number, line in enumerate(sys.stdin):
        job = json.loads(line)
        answer = None
        try:
            elements = np.asarray(readers[job["library"]](job["url"], job["path"], job["format"]))
            if elements.dtype.kind == "T":
                elements = elements.astype(object)
            np.save(f"{sys.argv[1]}/{number}.npy", elements, allow_pickle=True)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
