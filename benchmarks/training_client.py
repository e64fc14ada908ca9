"""A process of one library that takes rows: `python -m benchmarks.training_client LIBRARY`, requests as of `peer`."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks.libraries import ADAPTERS


def take(library: str, path: str, rows: list[int]) -> dict[str, Any]:
    """The time of `array[rows]` on an open array, and a checksum of the result."""
    adapter = ADAPTERS[library]()
    array = adapter.open(path)
    indices = np.array(rows)
    start = time.perf_counter()
    if library == "omnizarr":
        result = array.take(indices)
    elif library == "zarrista":  # it has basic indexing only: as the rows touch all chunks, one read is its best way
        result = adapter.take(array, "[]", slice(0, array.shape[0])).take(indices, axis=0)
    else:
        result = adapter.take(array, "oindex" if library.startswith("zarr") else "[]", indices)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "checksum": crc32(np.ascontiguousarray(result))}


def main() -> None:
    """Answers until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keeps output of libraries out of the answers
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = {"answer": take(sys.argv[1], request["path"], request["rows"])}
        except Exception as error:
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()
