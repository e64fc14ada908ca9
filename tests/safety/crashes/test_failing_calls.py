"""A system call that fails, as on a full disk, raises our own error, at whatever moment: each call of an operation
fails once. The operation can be repeated afterwards.

An ordinary run takes a sample. `python -m tests.safety.crashes.test_failing_calls` takes all calls, and more errors.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import OmnizarrError
from omnizarr.store import CacheStore, SQLiteStore, Store

_CALLS = (
    "close", "copy_file_range", "fstat", "fsync", "ftruncate", "link", "listdir", "lstat", "makedirs", "mkdir", "open",
    "posix_fallocate", "pread", "pwrite", "read", "remove", "rename", "replace", "rmdir", "scandir", "sendfile", "stat",
    "unlink", "utime", "write", "writev",
)  # fmt: skip
_MOST_CALLS = 400
_ONCE = ("create group", "create array", "overwrite", "mode w", "delete", "move")  # cannot be repeated as they are

OPERATIONS: dict[str, Callable[[omnizarr.Group], object]] = {
    "create group": lambda group: group.create_group("new/below"),
    "create array": lambda group: group.create_array("new", data=np.arange(9), chunks=3),
    "overwrite": lambda group: group.create_array("a", shape=3, dtype="u1", overwrite=True),
    "mode w": lambda group: omnizarr.open_group(group.store, mode="w"),
    "write": lambda group: group["a"].__setitem__(..., 7),
    "write a part": lambda group: group["a"].__setitem__(slice(1, 7), 7),
    "write a part of a shard": lambda group: group["s"].__setitem__(slice(1, 7), 7),
    "append": lambda group: group["a"].append(np.arange(7)),
    "append to shards": lambda group: group["s"].append(np.arange(7)),
    "grow": lambda group: group["a"].resize(40),
    "shrink": lambda group: group["a"].resize(6),
    "attributes": lambda group: group["a"].attrs.update(x=1),
    "attributes of a group": lambda group: group.attrs.__setitem__("x", 1),
    "delete": lambda group: group.__delitem__("a"),
    "move": lambda group: group.move("a", "b"),
    "consolidate": lambda group: omnizarr.consolidate_metadata(group.store),
    "read": lambda group: group["a"][...],
    "read a part of a shard": lambda group: group["s"][3:5],
    "list": lambda group: list(group.members()),
    "open": lambda group: omnizarr.open(group.store),
}

STORES: dict[str, Callable[[Path], Store]] = {
    "local": lambda place: omnizarr.LocalStore(place / "folder"),
    "durable": lambda place: omnizarr.LocalStore(place / "folder", durable=True),
    "zip": lambda place: omnizarr.ZipStore(place / "z.zip"),
    "sqlite": lambda place: SQLiteStore(place / "s.sqlite", timeout=1),
    "cache": lambda place: CacheStore(omnizarr.LocalStore(place / "folder"), folder=place / "cache"),
}


def _is_ours(frame: Any) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("omnizarr.")


def _is_written(file: int) -> bool:
    """Whether a file is open for writing: only then does the system report errors when it is closed."""
    import fcntl

    return bool(fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE)


class Failure:
    """The call with the number `at` fails."""

    def __init__(self, at: int, code: int) -> None:
        self.at = at
        self.code = code
        self.calls = 0
        self.failed: str | None = None

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if _is_ours(sys._getframe(1)) and (name != "close" or _is_written(*arguments)):
                self.calls += 1
                if self.calls == self.at:
                    self.failed = name
                    if name == "close":
                        function(*arguments)
                    raise OSError(self.code, os.strerror(self.code), arguments[0] if name != "close" else None)
            return function(*arguments, **options)

        return call

    @contextmanager
    def installed(self) -> Iterator[None]:
        originals = {name: getattr(os, name) for name in _CALLS if hasattr(os, name)}
        try:
            for name, function in originals.items():
                setattr(os, name, self.wrap(name, function))
            yield
        finally:
            for name, function in originals.items():
                setattr(os, name, function)


def fail_once(place: Path, kind: str, operation: str, at: int, code: int) -> bool:
    """Run an operation in a new hierarchy while one call fails; whether there was such a call."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    with STORES[kind](place) as store:
        new = omnizarr.create_group(store)
        new.create_array("a", data=np.arange(20), chunks=4)
        new.create_array("s", data=np.arange(64), chunks=4, shards=16)
    with STORES[kind](place) as store:
        group = omnizarr.open_group(store)
        failure = Failure(at, code)
        with failure.installed():
            try:
                OPERATIONS[operation](group)
            except OmnizarrError:
                pass
            except BaseException as error:
                error.add_note(f"{operation} in {kind}: call {at}, {failure.failed}, {errno.errorcode[code]}")
                raise
        if failure.failed is not None and operation not in _ONCE:
            OPERATIONS[operation](omnizarr.open_group(store))
        return failure.failed is not None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("kind", STORES)
def test_a_full_disk_raises_our_error(kind: str, operation: str, tmp_path: Path) -> None:
    random = Random(f"{kind}{operation}")
    at = 1
    with omnizarr.config(native=0):  # the system calls of the kernel cannot be replaced
        while fail_once(tmp_path / "x", kind, operation, at, errno.ENOSPC) and at < _MOST_CALLS:
            at += random.randint(1, 9)


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="this system has no limit for the size of files")
@pytest.mark.parametrize("operation", ["create array", "write", "append", "shrink", "attributes", "move"])
@pytest.mark.parametrize("kind", ["local", "sqlite", "zip"])
def test_a_limit_for_the_size_of_files_raises_our_error(kind: str, operation: str, tmp_path: Path) -> None:
    """With the kernel: the system itself rejects the writes."""
    from tests.safety.processes import forked, wait_for

    def work() -> None:
        import resource

        store = STORES[kind](tmp_path)
        group = omnizarr.create_group(store)
        group.create_array("a", data=np.arange(20), chunks=4)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for size in (0, 100, 700):
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
            try:
                OPERATIONS[operation](omnizarr.open_group(store))
            except OmnizarrError:
                pass
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    assert wait_for(forked(work)) == 0


def main() -> int:
    """All calls, in all stores, with several errors."""
    faults = tried = 0
    warnings.simplefilter("ignore")
    omnizarr.config.set(native=0)
    with tempfile.TemporaryDirectory() as folder:
        for code in (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EDQUOT):
            for kind in STORES:
                for operation in OPERATIONS:
                    for at in range(1, _MOST_CALLS):
                        tried += 1
                        try:
                            if not fail_once(Path(folder) / "x", kind, operation, at, code):
                                break
                        except Exception:
                            faults += 1
                            traceback.print_exc()
    print(f"{tried} failing calls, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
