"""`make fuzz`: runs all targets in turn for a number of seconds; or one target with atheris, if it is installed.

An input for which a target raises a foreign error or is slow is written to a file and reported.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path
from random import Random

from tests.fuzz.mutations import mutated

_LONG = 5.0  # seconds of CPU time for a few hundred bytes


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    parser.add_argument("--target", action="append", help="only this target; may be repeated")
    parser.add_argument("--atheris", action="store_true", help="let atheris search for new paths in one target")
    arguments = parser.parse_args()
    if arguments.atheris:
        return _with_atheris(arguments.target, arguments.seconds)
    from tests.fuzz.targets import TARGETS, survives

    names = arguments.target or list(TARGETS)
    print(f"{len(names)} targets, {arguments.seconds:g} s, --seed {arguments.seed}", flush=True)
    random, tried, found = Random(arguments.seed), 0, 0
    corpora = {name: list(TARGETS[name].seeds) for name in names}
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        for name in names:
            for _ in range(20):
                data = mutated(corpora[name], random)
                tried += 1
                began = time.process_time()
                try:
                    survives(TARGETS[name], data)
                    if time.process_time() - began > _LONG:
                        raise TimeoutError(f"it took {time.process_time() - began:.1f} s")
                except Exception:
                    found += 1
                    path = Path(f"fuzz-{found}.bin")
                    path.write_bytes(data)
                    print(f"{name}: {path}\n{traceback.format_exc()}", flush=True)
                else:
                    if len(corpora[name]) < 200 and random.random() < 0.02:
                        corpora[name].append(data)
    print(f"{tried} inputs, {found} found wanting")
    return 1 if found else 0


def _with_atheris(names: list[str] | None, seconds: float) -> int:
    try:
        import atheris  # type: ignore[import-not-found]
    except ImportError:
        print("atheris is not installed: pip install atheris", file=sys.stderr)
        return 2
    with atheris.instrument_imports(include=["omnizarr"]):
        from tests.fuzz.targets import TARGETS, survives
    target = TARGETS[names[0] if names else next(iter(TARGETS))]
    atheris.Setup([sys.argv[0], f"-max_total_time={int(seconds)}"], lambda data: survives(target, data))
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
