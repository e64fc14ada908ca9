"""A system without POSIX and without the locks of Windows: no `fcntl`, fork or `pread`. All works, with locks between
threads only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_REMOVE_POSIX = """
import os, sys
for module in ("fcntl", "pwd", "grp", "resource", "termios"):
    sys.modules[module] = None
for name in ("fork", "register_at_fork", "pread", "preadv", "sched_getaffinity", "sysconf", "O_DIRECTORY", "O_NOFOLLOW",
             "O_CLOEXEC", "O_TMPFILE", "posix_fadvise", "copy_file_range", "sendfile", "getuid", "geteuid", "fchmod"):
    if hasattr(os, name):
        delattr(os, name)
os.environ["OMNIZARR_NATIVE"] = "0"  # the kernel is not compiled there
"""

_WORK = """
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import omnizarr
from omnizarr.errors import ArgumentError, StoreError

store = omnizarr.LocalStore("data.zarr")
assert not store.locking and store.updates is None  # nothing that promises more than threads
root = omnizarr.create_group(store)
shared = root.create_array("shared", shape=(8, 1000), dtype="i4", chunks=(8, 1000))
def fill(row):
    shared[row] = row + 1
with ThreadPoolExecutor(8) as pool:
    list(pool.map(fill, range(8)))
assert (shared[...] == np.arange(1, 9)[:, None]).all()

shards = root.create_array("shards", shape=(64, 64), dtype="u1", chunks=(8, 8), shards=(32, 32))
shards[5:50, 7] = 1
assert int(shards[...].sum()) == 45

log = root.create_array("log", shape=0, dtype="i8", chunks=4)
with ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda number: root["log"].append([number]), range(12)))
assert sorted(root["log"][...].tolist()) == list(range(12))
log.refresh().resize(3)
root.attrs["title"] = "x"
root.move("log", "moved")
del root["shards"]
assert sorted(root) == ["moved", "shared"]
assert omnizarr.open_group("data.zarr", mode="r").attrs["title"] == "x"
with omnizarr.ZipStore("data.zip") as archive:
    omnizarr.create_array(archive, data=[1, 2, 3])
with omnizarr.SQLiteStore("data.sqlite") as database:
    omnizarr.create_array(database, data=[1, 2, 3])
assert omnizarr.open("data.zip")[1] == omnizarr.open("data.sqlite")[1] == 2
from omnizarr.tools.doctor import examine
[locks] = [one for one in examine() if one.area == "locks"]
assert locks.state == "missing", locks
try:
    omnizarr.SharedChunkCache("1 MiB")
except ArgumentError as error:
    assert "preadv" in str(error)
from omnizarr.cli import main
for command in ("info data.zarr", "tree data.zarr", "copy data.zarr/shared copy.zarr", "validate copy.zarr"):
    try:
        main(command.split())
    except SystemExit as end:
        assert end.code in (0, None), (command, end.code)
try:
    omnizarr.LocalStore("data.zarr", locking=True)
except StoreError as error:
    print(error)
"""


def test_everything_works_without_posix(tmp_path: Path) -> None:
    """A process that requires locks is told that there are none."""
    program = [sys.executable, "-W", "error", "-c", _REMOVE_POSIX + _WORK]
    environment = {**os.environ, "OMNIZARR_THREADS": "2"}
    result = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=120)
    assert result.returncode == 0, result.stderr
    assert "this system has no locks that processes share" in result.stdout
    leftovers = [path.name for path in tmp_path.rglob("*") if path.is_file() and "tmp" in path.name]
    assert leftovers == []
