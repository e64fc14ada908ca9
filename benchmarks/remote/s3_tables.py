"""The tables of an S3 server: writes, many small arrays, and a group of 10,000 nodes."""

from __future__ import annotations

import argparse
import json
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.layouts import Layout
from benchmarks.peer import Peer
from benchmarks.remote.bucket_server import BUCKET
from benchmarks.remote.servers import bucket_server
from benchmarks.remote.tables import HEADER, measure_all, table_line

_CREATED = 1_000
_SIDE = 256  # of the cubes that are written


def _make_nodes(group: Path, nodes: int) -> None:
    """A group of arrays without consolidated metadata."""
    document = json.dumps(Layout("raw", 100).document((100,)))
    group.mkdir(parents=True)
    (group / "zarr.json").write_text('{"zarr_format":3,"node_type":"group"}')
    for number in range(nodes):
        (group / f"a{number:05}").mkdir()
        (group / f"a{number:05}/zarr.json").write_text(document)


def print_s3(peers: dict[str, Peer], options: argparse.Namespace, folder: Path, latency: float) -> None:
    """Print the table of a server that takes `latency` milliseconds per request."""
    if not folder.exists():
        _make_nodes(folder / "nodes", options.nodes)
    names = count()
    with bucket_server(folder, latency / 1e3) as endpoint:

        def measure(action: str, **arguments: Any) -> dict[str, float]:
            """The best times. Each measurement writes to a place of its own."""
            best: dict[str, float] = {}
            for _ in range(options.rounds):
                for name, peer in peers.items():
                    where = f"s3://{BUCKET}/{name}-{next(names)}"
                    once = measure_all({name: peer}, 1, action, where=where, endpoint=endpoint, **arguments)
                    for library, seconds in once.items():
                        best[library] = min(seconds, best.get(library, seconds))
            return best

        print(f"\n### an S3 server with {latency:g} ms: {_SIDE}³ uint16\n\n{HEADER}", flush=True)
        for what, label in (("whole", "write a new array"), ("parts", "8 windows across chunks")):
            for layout in options.layouts:
                best = measure("write", layout=layout, side=_SIDE, what=what)
                print(table_line(f"{layout}: {label}", best), flush=True)
        print(table_line(f"create {_CREATED} arrays", measure("create_members", count=_CREATED)), flush=True)
        where = f"s3://{BUCKET}/nodes"
        best = measure_all(peers, options.rounds, "list_nodes", where=where, endpoint=endpoint)
        print(table_line(f"list {options.nodes} nodes", best), flush=True)
