"""Arrays that could have millions of chunks and have few: what is done should cost, not what is possible."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.layouts import Layout
from benchmarks.work.contract import Work, put_document, timed

CHUNK = 100  # elements
CALLS = 200
STORED = 1000


class Growth(Work):
    """One element, counting, and resizing."""

    def make(self, path: str, chunks: int, stored: int) -> None:
        """An array of so many possible chunks, of which about `stored` are there, and hold 0, 1, 2 …"""
        put_document(path, Layout("raw", CHUNK).document((chunks * CHUNK,)))
        os.mkdir(f"{path}/c")
        chunk = np.arange(CHUNK, dtype="<u2").tobytes()
        for number in range(0, chunks, max(1, chunks // stored)):
            Path(path, "c", str(number)).write_bytes(chunk)

    def element(self, path: str, chunks: int) -> float:
        """Seconds to read one element."""
        array, read = self.opened(path), self.adapter.read
        at = chunks // 2 * CHUNK + 7
        box = (slice(at, at + 1),)
        return (
            timed(
                lambda: [read(array, box) for _ in range(CALLS)],
                lambda found: all(one.tolist() == [7] for one in found),
            )
            / CALLS
        )

    def count(self, path: str) -> float:
        """Seconds to count the chunks that are stored."""
        array = self.opened(path)
        return timed(lambda: self.adapter.stored_chunks(array), lambda found: found == STORED)

    def shrink(self, path: str, chunks: int) -> float:
        """Seconds to make an array half as long."""
        array = self.adapter.open(path, write=True)
        seconds = timed(lambda: self.adapter.resize(array, chunks // 2 * CHUNK))
        if len(os.listdir(f"{path}/c")) != STORED // 2:
            raise ValueError("chunks outside the array are left")
        return seconds

    def grow(self, path: str, chunks: int) -> float:
        """Seconds to make an array longer by a chunk."""
        array = self.adapter.open(path, write=True)
        return timed(lambda: self.adapter.resize(array, (chunks + 1) * CHUNK))
