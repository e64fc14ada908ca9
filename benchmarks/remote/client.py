"""The process of one library: `python -m benchmarks.remote.client LIBRARY`. It reads requests from standard input, one
JSON object per line, and answers each with one line: the seconds that the library took, and a checksum."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from typing import Any

import numpy as np

from benchmarks.layouts import LAYOUTS, checksum, cube
from benchmarks.remote.cases import keys
from benchmarks.remote.libraries import ADAPTERS, RemoteAdapter


class Client:
    """The measurements, for one library. Handles of arrays stay open between them."""

    def __init__(self, adapter: RemoteAdapter) -> None:
        self._adapter = adapter
        self._arrays: dict[str, Any] = {}
        self._data: np.ndarray[Any, Any] | None = None

    def versions(self) -> Any:
        return self._adapter.versions()

    def read(self, where: str, what: str, side: int, endpoint: str | None = None) -> tuple[float, int]:
        array = self._arrays.get(where)
        if array is None:
            array = self._arrays[where] = self._adapter.open(where, endpoint)
        selections = keys(what, side)
        before = time.perf_counter()
        blocks = [self._adapter.read(array, key) for key in selections]
        seconds = time.perf_counter() - before
        total = 0
        for block in blocks:
            total += checksum(block) if block.nbytes % 8 == 0 else int(block.sum())
        return seconds, total % 2**64

    def open_members(self, where: str, count: int, endpoint: str | None = None) -> tuple[float, int]:
        names = [f"a{number:05}" for number in range(count)]
        before = time.perf_counter()
        opened = self._adapter.open_members(where, names, endpoint)
        return time.perf_counter() - before, opened

    def list_nodes(self, where: str, endpoint: str | None = None) -> tuple[float, int]:
        before = time.perf_counter()
        count = self._adapter.list_nodes(where, endpoint)
        return time.perf_counter() - before, count

    def write(self, where: str, layout: str, side: int, what: str, endpoint: str | None = None) -> tuple[float, int]:
        """Write a new array (`whole`), or eight windows across the corners of its chunks (`parts`)."""
        if self._data is None or self._data.shape[0] != side:
            self._data = cube(side)
        shape = (side, side, side)
        whole = (slice(0, side),) * 3
        if what == "whole":
            before = time.perf_counter()
            array = self._adapter.create(where, endpoint, LAYOUTS[layout].document(shape))
            self._adapter.write(array, whole, self._data)
            return time.perf_counter() - before, 0
        array = self._adapter.create(where, endpoint, LAYOUTS[layout].document(shape))
        self._adapter.write(array, whole, self._data)
        chunk = LAYOUTS[layout].chunk
        before = time.perf_counter()
        for number in range(8):
            start = chunk // 2 + number
            self._adapter.write(array, (slice(start, start + chunk),) * 3, self._data[(slice(0, chunk),) * 3])
        return time.perf_counter() - before, 0

    def create_members(self, where: str, count: int, endpoint: str | None = None) -> tuple[float, int]:
        names = [f"a{number:05}" for number in range(count)]
        before = time.perf_counter()
        self._adapter.create_members(where, names, endpoint)
        return time.perf_counter() - before, 0


def main() -> None:
    """Answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keeps output of libraries out of the answers
    client: Client | None = None
    for line in sys.stdin:
        try:
            if client is None:
                client = Client(ADAPTERS[sys.argv[1]]())
            request = json.loads(line)
            reply = {"answer": getattr(client, request.pop("action"))(**request)}
        except NotImplementedError:
            reply = {"answer": None}
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic in a Rust library is not an Exception
            traceback.print_exc()
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()
