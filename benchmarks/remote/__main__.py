"""Prints tables of reads over HTTP, with all libraries side by side: `python -m benchmarks.remote [--latency MS …]`.

The libraries take turns, and the best time of each cell counts. `floor` is what fetching all objects takes by obstore
in the fastest number of threads, plus decoding them in two threads.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import omnizarr
from benchmarks.environment import THREADS, own_python, peer_python
from benchmarks.layouts import LAYOUTS as DOCUMENTS
from benchmarks.layouts import cube
from benchmarks.peer import Peer
from benchmarks.remote.cases import LAYOUTS, READS, SIDE
from benchmarks.remote.libraries import ADAPTERS
from benchmarks.remote.s3_tables import print_s3
from benchmarks.remote.servers import fast_server, slow_server
from benchmarks.remote.tables import HEADER, OWN, measure_all, table_line

MEMBERS = 200


def _make_files(folder: Path, side: int) -> None:
    data = cube(side)
    for name in LAYOUTS:
        document = DOCUMENTS[name].document((side,) * 3)
        codecs = document["codecs"]
        chunks = document["chunk_grid"]["configuration"]["chunk_shape"]
        z = omnizarr.create_array(
            folder / name,
            shape=document["shape"],
            dtype="uint16",
            chunks=chunks,
            serializer=codecs[0],
            compressors=codecs[1:] or None,
        )
        z[...] = data
    for name in ("plain", "consolidated"):
        group = omnizarr.create_group(folder / name)
        for number in range(MEMBERS):
            group.create_array(f"a{number:05}", shape=(100,), dtype="uint16", chunks=(100,), compressors=None)
    omnizarr.consolidate_metadata(folder / "consolidated")


def _floor(url: str, layout: str, side: int, folder: Path) -> float:
    """Fetch all chunks by obstore, and decode them: the shortest sum."""
    import obstore.store

    client: Any = obstore.store.HTTPStore(url, client_options={"allow_http": True})
    keys = [path.relative_to(folder).as_posix() for path in (folder / layout / "c").rglob("*") if path.is_file()]

    def get(key: str) -> None:
        client.get(key).buffer()

    fetching = float("inf")
    for threads in (4, 8, 16):
        with ThreadPoolExecutor(threads) as pool:
            before = time.perf_counter()
            list(pool.map(get, keys))
            fetching = min(fetching, time.perf_counter() - before)
    z = omnizarr.open_array(folder / layout)  # the kernel reads and decodes files of the page cache
    before = time.perf_counter()
    z[...]
    return fetching + time.perf_counter() - before


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--latency", type=float, nargs="*", default=[0, 5, 50], help="milliseconds")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side", type=int, default=SIDE)
    parser.add_argument("--layouts", nargs="*", default=list(LAYOUTS))
    parser.add_argument("--groups", type=int, default=1, help="0 leaves out opening groups")
    parser.add_argument("--s3", type=float, nargs="*", default=[0, 5, 50], help="milliseconds of the S3 servers")
    parser.add_argument("--nodes", type=int, default=10_000, help="that are listed in a bucket")
    parser.add_argument("--late", type=int, default=1, help="0 leaves out the table of a server with late answers")
    parser.add_argument("--libraries", nargs="*", default=list(ADAPTERS))
    options = parser.parse_args()
    other = peer_python()
    peers = {
        name: Peer(name, own_python() if name == OWN else str(other), module="benchmarks.remote.client")
        for name in options.libraries
        if name == OWN or other is not None
    }
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "files"
            _make_files(folder, options.side)
            Path(name).chmod(0o755)
            for latency in options.latency:
                server = slow_server(folder, latency / 1e3) if latency else fast_server(folder, Path(name) / "nginx")
                with server as address:
                    kind, url = (f"a server with {latency:g} ms", address) if isinstance(address, str) else address
                    _print_table(peers, options, kind, url, folder, floor=not latency)
            if options.late:
                _print_late(peers, folder)
            for latency in options.s3:
                print_s3(peers, options, Path(name) / "bucket", latency)
    finally:
        for peer in peers.values():
            peer.close()


def _print_table(
    peers: dict[str, Peer], options: argparse.Namespace, kind: str, url: str, folder: Path, *, floor: bool
) -> None:
    rounds, side = options.rounds, options.side
    print(f"\n### {kind}: {side}³ uint16, {THREADS} cores\n")
    print(HEADER, flush=True)
    for layout in options.layouts:
        for read in READS:
            best = measure_all(peers, rounds, "read", where=f"{url}/{layout}", what=read, side=side)
            least = _floor(url, layout, side, folder) if floor and read == READS[0] else None
            print(table_line(f"{layout}: {read}", best, least), flush=True)
    if not options.groups:
        return
    measure = partial(measure_all, peers, rounds, "open_members", count=MEMBERS)
    for name in ("plain", "consolidated"):
        print(table_line(f"open {MEMBERS} arrays, {name}", measure(where=f"{url}/{name}")), flush=True)


def _print_late(peers: dict[str, Peer], folder: Path) -> None:
    """Reads of 1,024 chunks by omnizarr from servers that answer 1 request in 50 after 2 s more."""
    if OWN not in peers:
        return
    side = 128
    omnizarr.create_array(folder / "late", data=cube(side), chunks=(1, side // 8, side), compressors=None)
    print("\n### 1,024 chunks of 4 KiB, five reads: median (slowest), s\n")
    print("| server | none late | 1 in 50 takes 2 s longer | ratio of medians |\n|---|---:|---:|---:|", flush=True)
    for milliseconds in (5, 50):
        cells, medians = [], []
        for every in (0, 50):
            with slow_server(folder, milliseconds / 1e3, every, 2.0) as url:
                arguments = {"where": f"{url}/late", "what": READS[0], "side": side}
                times = [peers[OWN].ask("read", **arguments)[0] for _ in range(5)]
            medians.append(median(times))
            cells.append(f"{medians[-1]:.2f} ({max(times):.2f})")
        print(f"| {milliseconds} ms | {' | '.join(cells)} | {medians[1] / medians[0]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
