"""What happens once per call or per program: five elements, opening, importing."""

from __future__ import annotations

import os
import subprocess

from benchmarks.contestant import Failed
from benchmarks.field import Field

IMPORTS = ("omnizarr", "tensorstore", "zarrista", "zarr")


def small(field: Field) -> None:
    """Five elements out of one chunk."""
    path = str(field.folder / "small")
    field.maker.ask("single.make_small", path=path)

    def measure(row: str, name: str) -> float | None:
        seconds: float | None = field.contestants[name].ask("single.small", path=path, memory=row == "memory")
        return seconds

    field.take_turns("small", ["memory", "local"], measure)


def opening(field: Field) -> None:
    """Opening a small array of each generation, which only omnizarr can make all of."""
    if field.own is None:
        return
    folder = str(field.folder / "generations")
    generations: list[str] = field.own.ask("single.make_generations", folder=folder)

    def measure(row: str, name: str) -> float | None:
        seconds: float | None = field.contestants[name].ask("single.open_one", folder=folder, generation=row)
        return seconds

    field.take_turns("open", generations, measure)


def imports(field: Field) -> None:
    """What an import costs after NumPy's own, with what is only loaded when a name is first used."""
    code = (
        "import time, numpy; start = time.perf_counter(); import {0}; getattr({0}, 'open', None); "
        "print(time.perf_counter() - start)"
    )

    # Byte code is kept, as it is for users, whatever the shell says.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def measure(row: str, name: str) -> float | None:
        command = [field.contestants[name].python, "-s", "-c", code.format(name)]
        result = subprocess.run(command, capture_output=True, text=True, env=variables)
        if result.returncode != 0:
            raise Failed(result.stderr.strip().splitlines()[-1])
        return float(result.stdout)

    field.take_turns("import", ["after numpy"], measure, field.those(*IMPORTS))
