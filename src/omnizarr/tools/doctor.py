"""`examine`: what this installation has, what it lacks, and whether locks work in a directory."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from typing import Literal

from omnizarr.errors import OmnizarrError

__all__ = ["Examination", "examine"]

_REQUIRED = ("numpy", "numcodecs", "zstandard", "isal", "deflate", "fastcrc", "click", "rich")
_OPTIONAL = {
    "obstore": ("obstore", "buckets and web addresses: s3://, gs://, az://, https://"),
    "fsspec": ("fsspec", "file systems of fsspec: ftp://, sftp://, hf://, simplecache:: and others"),
    "pyarrow": ("pyarrow", "folders of parquet references"),
    "xarray": ("xarray", 'the engine "omnizarr" of xarray'),
    "dask": ("dask", "`Array.to_dask` and `from_dask`"),
    "ml_dtypes": ("ml_dtypes", "bfloat16, float8 and other small numbers"),
    "imagecodecs": ("imagecodecs", "image codecs, such as `imagecodecs_jpeg2k`, and blosc with snappy"),
    "zfpy": ("zfpy", "the codec zfpy"),
    "pcodec": ("pcodec", "the codec pcodec"),
    "msgpack": ("msgpack", "objects in msgpack"),
    "xxhash": ("xxhash", "fast checksums of LZ4 in N5"),
}
"""Optional packages by extra: the module, and what needs it."""


@dataclass(frozen=True, slots=True)
class Examination:
    """One thing that was examined."""

    area: Literal["versions", "kernel", "codecs", "stores", "packages", "locks"]
    name: str
    state: Literal["ok", "missing", "problem"]
    """`missing`: an optional part is not installed, or this system has none. `problem`: something does not work."""
    text: str
    remedy: str | None = None
    """What to do, usually a command."""


def examine(directory: str = ".") -> list[Examination]:
    """Examines this installation, and whether locks work in a directory. Writes a temporary file there."""
    return [*_versions(), _kernel(), *_codecs(), _stores(), *_packages(), *_locks(directory)]


def _versions() -> Iterator[Examination]:
    from omnizarr import __version__

    yield Examination("versions", "omnizarr", "ok", __version__)
    yield Examination("versions", "Python", "ok", f"{platform.python_version()} ({sys.executable})")
    yield Examination("versions", "system", "ok", f"{platform.system()} {platform.release()}, {platform.machine()}")
    for package in _REQUIRED:
        try:
            yield Examination("versions", package, "ok", version(package))
        except PackageNotFoundError:
            yield Examination("versions", package, "problem", "not installed", f"pip install {package}")


def _kernel() -> Examination:
    from omnizarr.config import config
    from omnizarr.native import codec, kernel

    if kernel() is None:
        if os.name != "posix" or sysconfig.get_config_var("Py_GIL_DISABLED"):
            text = "not made for Windows and for free-threaded Python; Python reads and writes local files"
            return Examination("kernel", "compiled kernel", "missing", text)
        return Examination(
            "kernel",
            "compiled kernel",
            "problem",
            "not available: reads and writes of local files are several times slower",
            "install a C compiler, then run `pip install --force-reinstall --no-binary omnizarr omnizarr`",
        )
    if not config.native:
        return Examination("kernel", "compiled kernel", "problem", "turned off", "unset OMNIZARR_NATIVE")
    missing = [name for name in ("blosc", "zstd", "gzip") if not codec(name)]
    if missing:
        return Examination("kernel", "compiled kernel", "problem", f"does not find {', '.join(missing)}", None)
    return Examination("kernel", "compiled kernel", "ok", "reads and writes local files; finds blosc, zstd and gzip")


def _codecs() -> Iterator[Examination]:
    from omnizarr.codecs import codecs

    names: list[str] = []
    lacking: dict[str, list[str]] = {}
    for name in codecs.names():
        try:
            codec = codecs.get(name)
        except OmnizarrError as error:
            yield Examination("codecs", name, "problem", error.message, error.hint)
            continue
        package = getattr(codec, "needs", None)
        if package is not None and find_spec(package.partition("[")[0].partition(".")[0]) is None:
            lacking.setdefault(package, []).append(name)
        else:
            names.append(name)
    yield Examination("codecs", "available", "ok", f"{len(names)}: {', '.join(sorted(names))}")
    for package, needing in sorted(lacking.items()):
        yield Examination("codecs", ", ".join(needing), "missing", f"needs {package}", f"pip install {package}")


def _stores() -> Examination:
    from omnizarr.store.address.containers import containers
    from omnizarr.store.address.schemes import stores

    schemes = [f"{name}://" for name in stores.names()]
    return Examination(
        "stores", "known", "ok", ", ".join(["paths", *schemes, *(f"{name}::" for name in containers.names())])
    )


def _packages() -> Iterator[Examination]:
    for extra, (module, purpose) in _OPTIONAL.items():
        if find_spec(module) is None:
            yield Examination("packages", extra, "missing", purpose, f'pip install "omnizarr[{extra}]"')
            continue
        try:
            number = version(extra)
        except PackageNotFoundError:
            number = "unknown version"
        old = _too_old(extra, number)
        state: Literal["ok", "problem"] = "ok" if old is None else "problem"
        text = f"{number}: {purpose}" if old is None else f"{number} is older than {old}, which {purpose} need"
        yield Examination(
            "packages", extra, state, text, None if old is None else f'pip install -U "omnizarr[{extra}]"'
        )


def _too_old(package: str, number: str) -> str | None:
    """The least release that this package declares, if the installed one is older."""
    for requirement in requires("omnizarr") or ():
        name, _, bound = requirement.partition(";")[0].strip().partition(">=")
        if name.strip().partition("[")[0] == package and bound and _numbers(number) < _numbers(bound):
            return bound
    return None


def _numbers(text: str) -> list[int]:
    parts = []
    for part in text.split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    return parts or [2**31]  # unknown: not older


def _locks(directory: str) -> Iterator[Examination]:
    """Locks a temporary file twice: the second lock must be refused."""
    from omnizarr.config import config
    from omnizarr.store.local import flock

    place = os.path.abspath(directory)
    kind = flock.file_system(place)
    if not config.locking:
        yield Examination("locks", place, "problem", "turned off", "unset OMNIZARR_LOCKING")
        return
    if not flock.AVAILABLE:
        text, remedy = "this system has no locks that processes share", _WITHOUT_LOCKS.partition(",")[0]
        yield Examination("locks", place, "missing", text, remedy)
        return
    try:
        works = _lock_is_exclusive(place)
    except PermissionError:
        yield Examination("locks", place, "missing", "not examined: this directory cannot be written")
        return
    except OSError as error:
        yield Examination("locks", place, "problem", f"{kind or 'file system'}: {error.strerror}", _WITHOUT_LOCKS)
        return
    if not works:
        yield Examination("locks", place, "problem", f"{kind}: locks have no effect", _WITHOUT_LOCKS)
    elif flock.is_network(kind):
        text = f"{kind}: locks hold between the processes of this machine, perhaps not of others"
        yield Examination("locks", place, "ok", text)
    else:
        yield Examination("locks", place, "ok", f"{kind or 'local file system'}: locks hold between processes")


_WITHOUT_LOCKS = "let one process at a time write parts of the same chunk, and set OMNIZARR_LOCKING=0"


def _lock_is_exclusive(directory: str) -> bool:
    from omnizarr.store.local import flock

    first, path = tempfile.mkstemp(dir=directory, prefix=".omnizarr-doctor-")
    second = os.open(path, os.O_RDWR)
    try:
        return flock.lock_if_free(first) and not flock.lock_if_free(second)
    finally:
        os.close(second)
        os.close(first)
        os.unlink(path)
