"""`omnizarr demo`: shows the library at work on data that it makes, and checks every claim while it does so."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnizarr.cli.exit_codes import NO, YES
from omnizarr.cli.styles import styled

if TYPE_CHECKING:
    import subprocess

    import numpy as np
    import numpy.typing as npt

    from omnizarr import Array

__all__ = ["command"]

_ROWS = 20  # that each process appends
_BLOCKS = 64  # of the array whose writer is killed
_PATIENCE = 30.0  # seconds to wait for another process; it takes less than one

_APPENDER = """
import sys, omnizarr
log = omnizarr.open(sys.argv[1])
print("ready", flush=True)
sys.stdin.read()  # until both are ready
for step in range(int(sys.argv[3])):
    log.append([[int(sys.argv[2]), step]])
"""
_WRITER = """
import sys, omnizarr
z = omnizarr.open(sys.argv[1])
for number in range(1, 10**9):
    for block in range(z.nchunks):
        z.blocks[block] = number
"""


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--view", is_flag=True, help="Then show the data in the browser, until Ctrl-C.")
def command(folder: Path | None, view: bool) -> int:
    """Show the library at work: write, read, append, crash, old data.

    Takes a few seconds and checks what it claims. The data are kept in
    FOLDER, which must be new or empty; otherwise they are erased at the end.

    \b
    Examples:
      omnizarr demo
      omnizarr demo demo-data
      omnizarr demo --view
    """
    if folder is not None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise click.UsageError(f"expected a new or empty folder, found {os.fspath(folder)!r} with content.")
    with _place(folder) as place:
        demo = _Demo(place)
        for step in (_write, _read, _append, _kill, _open_old, _look):
            step(demo)
        demo.end(keep=folder is not None)
        if view:
            _open_viewer(place / "weather.zarr")
    return NO if demo.failed else YES


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    """The folder for the data, with short relative paths where possible."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="omnizarr-demo-") as temporary:
        yield Path(temporary)


class _Demo:
    """Prints the steps, and remembers whether a claim turned out to be wrong."""

    def __init__(self, place: Path) -> None:
        from omnizarr import __version__
        from omnizarr.config import config
        from omnizarr.native import kernel

        self.place = place
        self.failed = False
        self._start = time.monotonic()
        self._step = 0
        python = ".".join(map(str, sys.version_info[:3]))
        code = "compiled kernel" if kernel() is not None else "without the compiled kernel"
        self._say(styled(f"omnizarr {__version__}", "title") + f"  Python {python}, {config.workers} threads, {code}")

    def _say(self, line: str = "") -> None:
        from omnizarr.cli.output import write

        write(line)
        sys.stdout.flush()  # before the next step begins

    def step(self, title: str) -> None:
        """Begins a step."""
        self._step += 1
        self._say()
        self._say(styled(f"{self._step}  {title}", "name"))

    def code(self, *lines: str) -> None:
        """Prints what a program would say."""
        for line in lines:
            self._say(f"   {styled('>>> ' if not line.startswith('    ') else '... ', 'dim')}{line}")

    def text(self, *lines: str) -> None:
        """Prints lines below a step."""
        for line in lines:
            self._say(f"   {line}")

    def claim(self, holds: bool, text: str) -> None:
        """Prints a claim, and whether it holds."""
        self.failed = self.failed or not holds
        self._say(f"   {styled('✓', 'good') if holds else styled('✗ this is wrong:', 'bad')} {text}")

    def end(self, *, keep: bool) -> None:
        """Prints what to do next."""
        self._say()
        self._say(styled(f"Done in {time.monotonic() - self._start:.1f} s.", "name") + " Next:")
        place = os.fspath(self.place) if keep else "demo-data"
        rows = [] if keep else [("omnizarr demo demo-data", "the same, and keep the data")]
        rows += [
            (f"omnizarr view {place}/weather.zarr", "look at the data in the browser"),
            (f"omnizarr info {place}/weather.zarr", "describe them"),
            ("omnizarr --help", "what else there is"),
            ("https://omnizarr.github.io/omnizarr/", "tutorial, how-to pages, reference"),
        ]
        width = max(len(first) for first, _ in rows)
        for first, second in rows:
            self._say(f"   {first:<{width}}  {styled(second, 'dim')}")


def _timed(work: Callable[[], Any]) -> tuple[Any, str]:
    """The result of a call, and how long it took."""
    start = time.perf_counter()
    result = work()
    return result, f"{(time.perf_counter() - start) * 1000:.1f} ms"


def _weather() -> npt.NDArray[np.float32]:
    """A synthetic day of temperatures, rounded like measurements."""
    import numpy as np

    hour = np.arange(24)[:, None, None]
    lat = np.radians(np.arange(-89.5, 90))[None, :, None]
    lon = np.radians(np.arange(0.5, 360))[None, None, :]
    sun = 6 * np.cos(lon + 2 * np.pi * (hour - 12) / 24) * np.cos(lat)  # highest at local noon
    land = 7 * np.sin(2 * lon + 3 * lat) * np.cos(lat)  # warm continents, cool oceans
    field: npt.NDArray[np.float32] = np.round(300 - 55 * np.sin(lat - 0.2) ** 2 + sun + land, 1).astype(np.float32)
    return field


def _write(demo: _Demo) -> None:
    import omnizarr
    from omnizarr.display.texts import human_bytes

    demo.step("Write a day of weather")
    field = _weather()
    demo.code(
        'group = omnizarr.create_group("weather.zarr")',
        'z = group.create_array("temperature", data=field, chunks=(6, 90, 180),',
        '                       dimension_names=["time", "lat", "lon"], attributes={"units": "K"})',
    )
    group = omnizarr.create_group(demo.place / "weather.zarr", attributes={"title": "A day of weather"})
    names = ["time", "lat", "lon"]
    options: dict[str, Any] = {"chunks": (6, 90, 180), "dimension_names": names, "attributes": {"units": "K"}}
    z, duration = _timed(lambda: group.create_array("temperature", data=field, **options))
    stored = z.nbytes_stored()
    demo.claim(
        stored < z.nbytes,
        f"{human_bytes(z.nbytes)} in memory, {human_bytes(stored)} in {z.nchunks} compressed chunks, in {duration}",
    )


def _read(demo: _Demo) -> None:
    import numpy as np

    import omnizarr

    demo.step("Read what you need: only the chunks of a selection are read")
    z = omnizarr.open_array(demo.place / "weather.zarr/temperature", mode="r")
    expected = _weather()
    for name, text, key in (
        ("a map", "z[12]", np.s_[12]),
        ("a series", "z[:, 140, 10]", np.s_[:, 140, 10]),
        ("three points", "z[0, [0, 90, 179], 10]", np.s_[0, [0, 90, 179], 10]),
    ):
        value, duration = _timed(lambda key=key: z[key])  # type: ignore[misc]
        cost = z.explain[key]
        demo.code(text)
        equal = np.array_equal(value, expected[key])
        demo.claim(
            equal, f"{name}: shape {value.shape} from {cost.decoded_chunks} of {z.nchunks} chunks, in {duration}"
        )


def _start(code: str, *arguments: object) -> subprocess.Popen[bytes]:
    """Another Python that runs `code` with this omnizarr."""
    import subprocess

    import omnizarr

    source = Path(omnizarr.__file__).parents[1]
    path = os.pathsep.join(filter(None, [os.fspath(source), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )


def _ended(process: subprocess.Popen[bytes]) -> int:
    """The exit code of a process, once it has ended."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    return process.wait(_PATIENCE)


def _append(demo: _Demo) -> None:
    import numpy as np

    import omnizarr

    demo.step("Append from two processes at the same time")
    place = demo.place / "log.zarr"
    log = omnizarr.create_array(place, shape=(0, 2), dtype="int64", chunks=(16, 2))
    demo.code("log.append([[process, step]])    # in each of them, 20 times")
    processes = [_start(_APPENDER, place, number, _ROWS) for number in (1, 2)]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
    done = [_ended(process) == 0 for process in processes]
    rows = log.refresh()[...]
    steps = [rows[rows[:, 0] == number, 1] for number in (1, 2)]
    whole = all(done) and all(np.array_equal(own, np.arange(_ROWS)) for own in steps)
    turns = int((np.diff(rows[:, 0]) != 0).sum())
    demo.claim(whole, f"{len(rows)} rows, each exactly once and in order; the writer changed {turns} times")


def _kill(demo: _Demo) -> None:
    import numpy as np

    import omnizarr

    demo.step("Kill a process in the middle of a write")
    place = demo.place / "killed.zarr"
    z = omnizarr.create_array(place, data=np.zeros(_BLOCKS * 4096, "int32"), chunks=4096)
    demo.code("z.blocks[block] = number    # all blocks, again and again, until kill -9")
    process = _start(_WRITER, place)
    try:
        _wait_for_a_pass(z, process)
    finally:
        process.kill()
        _ended(process)
    values = z[...].reshape(_BLOCKS, -1)
    whole = bool((values == values[:, :1]).all())
    newest = int(values.max())
    new = int((values[:, 0] == newest).sum())
    older = f", {_BLOCKS - new} the value before" if new < _BLOCKS else ""
    demo.claim(whole and newest > 0, f"{new} chunks hold the newest value{older}; none is half written")


def _wait_for_a_pass(z: Array, process: subprocess.Popen[bytes]) -> None:
    """Wait until the writer is in the middle of a pass over the blocks, at least its second."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and process.poll() is None:
        first, middle, last = (int(z[block * 4096]) for block in (0, _BLOCKS // 2, _BLOCKS - 1))
        if last > 0 and first == middle > last:
            return


def _open_old(demo: _Demo) -> None:
    import json
    import zlib

    import numpy as np

    import omnizarr

    demo.step("Open an array as the first release of Zarr stored it")
    place = demo.place / "old.zarr"
    place.mkdir()
    meta = {"zarr_format": 1, "shape": [4, 6], "chunks": [2, 6], "dtype": "<i4", "fill_value": 0, "order": "C"}
    (place / "meta").write_text(json.dumps({**meta, "compression": "zlib", "compression_opts": 1}))
    (place / "attrs").write_text(json.dumps({"written": "by hand"}))
    elements = np.arange(24, dtype="<i4").reshape(4, 6)
    for row in range(2):
        (place / f"{row}.0").write_bytes(zlib.compress(elements[2 * row : 2 * row + 2].tobytes()))
    demo.code('old = omnizarr.open("old.zarr")')
    old = omnizarr.open_array(place)
    demo.claim(
        old.zarr_format == 1 and bool((old[...] == elements).all()),
        f"generation {old.zarr_format}, detected; {old.attrs.asdict()}; old[3] = {old[3]}",
    )
    demo.text("v1, v2, both drafts of v3, v3 and N5 are read and written in the same way.")


def _look(demo: _Demo) -> None:
    import omnizarr

    demo.step("Look at it")
    demo.code("z.preview(12)    # a picture in a notebook, characters here")
    z = omnizarr.open_array(demo.place / "weather.zarr/temperature", mode="r")
    demo.text(*str(z.preview(12)).splitlines()[::-1])  # north is up


def _open_viewer(location: Path) -> None:
    from omnizarr.cli.commands.view import command as view

    view.main([os.fspath(location)], prog_name="omnizarr view", standalone_mode=False)
