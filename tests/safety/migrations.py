"""`make soak`: arrays of the corpora are migrated to other generations, in random order, and read back by omnizarr and
by the programs that know the generation, until the time is over or all pairs are done. The tests take a sample."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from random import Random

from tests.peers import Peer
from tests.peers.environments import find
from tests.tools.migration.test_corpora import all_pairs, check_migration

_ENVIRONMENTS = {"zarr1_peer": "zarr1", "zarr2_peer": "zarr2", "zarr3_peer": "zarr3", "z5_peer": "z5"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.safety.migrations", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
    parser.add_argument("--only", help="one pair, as it was printed")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    pairs = [pair for pair in all_pairs() if arguments.only in (None, f"{pair[0]} to {pair[1]}")]
    Random(arguments.seed).shuffle(pairs)
    print(f"migrations, {arguments.seconds:g} s, --seed {arguments.seed}", flush=True)
    end, done, wrong = time.monotonic() + arguments.seconds, 0, 0
    with ExitStack() as stack:
        environments = {fixture: find(name) for fixture, name in _ENVIRONMENTS.items()}
        peers = {
            fixture: stack.enter_context(Peer(environment))
            for fixture, environment in environments.items()
            if environment is not None
        }
        for source, to in takewhile(lambda _: time.monotonic() < end, pairs):
            with tempfile.TemporaryDirectory(prefix="migrations-") as folder:
                try:
                    check_migration(source, to, Path(folder), peers.get)
                except Exception:
                    wrong += 1
                    print(f"--only '{source} to {to}'", flush=True)
                    traceback.print_exc()
            done += 1
    print(f"{done} of {len(pairs)} pairs of an array and a generation, with {len(peers)} environments, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
