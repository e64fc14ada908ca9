"""Settings. `omnizarr.config.threads` reads one, `omnizarr.config.set(threads=4)` changes it for the process, and
`with omnizarr.config(threads=4): ...` for a block. `OMNIZARR_THREADS=4` in the environment sets the initial value."""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar, Token
from dataclasses import dataclass, fields, replace
from functools import cache
from types import TracebackType
from typing import Any

from omnizarr.errors import ArgumentError

__all__ = ["Config", "Settings", "config"]


@cache
def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)  # Linux only; respects taskset and cpusets
    return len(affinity(0)) if affinity else (os.cpu_count() or 1)


@cache
def _half_of_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):  # not on Windows
        return 8 * 2**30


def _available_threads() -> int:
    """The number of cores. In a worker process of dask, the number of its threads: a cluster starts such processes so
    that together they use all cores."""
    distributed = sys.modules.get("distributed.worker")
    if distributed is None:
        return _cores()
    try:
        workers = list(distributed.Worker._instances)
        return min(_cores(), sum(worker.state.nthreads for worker in workers)) if workers else _cores()
    except (AttributeError, RuntimeError):  # another release, or a worker that just starts or ends
        return _cores()


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings, with their defaults."""

    threads: int = 0
    """The number of threads that decode and encode; 0 means one per core, and in a worker process of dask one per
    thread of the worker."""
    max_chunk_bytes: int = 4 * 2**30
    """The largest decoded size of a chunk. Larger chunks are an error before any memory is allocated."""
    max_document_bytes: int = 256 * 2**20
    """The largest metadata document. Larger documents are an error."""
    max_implicit_bytes: int = 0
    """The most bytes of an array that an operation such as `z + 1` or `np.mean(z)` loads; 0 means half of the memory of
    the machine. `z[...]` has no limit."""
    max_request_bytes: int = 256 * 2**20
    """The most memory for requests to remote stores that are in flight, and for answers that are not yet decoded, in
    the whole process. Threads that read from the same store get equal parts. Two requests per store are always sent."""
    max_codecs: int = 32
    """The largest number of codecs in one list of a document. Longer lists are an error."""
    locking: int = 1
    """Whether local stores use file locks between processes; 0 is for file systems without locks."""
    lock_timeout: int = 60
    """How many seconds a write to a local store waits for the lock of a directory. Then it fails."""
    native: int = 1
    """Whether the compiled kernel, if it is available, reads and writes chunks in files."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ArgumentError(
                    f"setting `{field.name}`: expected an integer of at least 0, found {value!r}", argument=field.name
                )

    @property
    def implicit_bytes(self) -> int:
        """`max_implicit_bytes`, with 0 resolved to half of the memory of the machine."""
        return self.max_implicit_bytes or _half_of_memory()

    @property
    def workers(self) -> int:
        """`threads`, with 0 resolved to the number of cores or of threads of a dask worker."""
        return self.threads or _available_threads()


_NAMES = tuple(field.name for field in fields(Settings))


def _from_environment() -> Settings:
    values = {}
    for name in _NAMES:
        text = os.environ.get(f"OMNIZARR_{name.upper()}")
        if text is not None:
            try:
                values[name] = int(text)
            except ValueError:
                raise ArgumentError(
                    f"environment variable OMNIZARR_{name.upper()}: expected an integer, found {text!r}", argument=name
                ) from None
    return Settings(**values)


class _Block:
    """A `with` block with changed settings."""

    def __init__(self, override: ContextVar[Settings | None], settings: Settings) -> None:
        self._override = override
        self._settings = settings
        self._tokens: list[Token[Settings | None]] = []

    def __enter__(self) -> Settings:
        self._tokens.append(self._override.set(self._settings))
        return self._settings

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._override.reset(self._tokens.pop())


class Config:
    """The current settings. A `with` block overrides those of the process in its own context only."""

    def __init__(self) -> None:
        self._process: Settings | None = None
        self._override: ContextVar[Settings | None] = ContextVar("omnizarr.config", default=None)

    @property
    def current(self) -> Settings:
        """The settings of this context."""
        override = self._override.get()
        if override is not None:
            return override
        if self._process is None:
            self._process = _from_environment()
        return self._process

    def set(self, **changes: int) -> None:
        """Change settings for the whole process."""
        if self._override.get() is not None:
            raise ArgumentError(
                "config.set() has no effect inside a `with config(...)` block: the block overrides it", argument="set"
            )
        self._process = self._changed(changes)

    def __call__(self, **changes: int) -> _Block:
        return _Block(self._override, self._changed(changes))

    def _changed(self, changes: dict[str, int]) -> Settings:
        for name in changes:
            if name not in _NAMES:
                raise ArgumentError(f"unknown setting `{name}`; known are {', '.join(_NAMES)}", argument=name)
        return replace(self.current, **changes)

    def __getattr__(self, name: str) -> int:
        if name in _NAMES or name in ("workers", "implicit_bytes"):
            return int(getattr(self.current, name))
        raise AttributeError(f"unknown setting `{name}`; known are {', '.join(_NAMES)}")

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(f"settings cannot be assigned: use `config.set({name}={value!r})`")
        object.__setattr__(self, name, value)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_NAMES]

    def __repr__(self) -> str:
        return f"<omnizarr.config {self.current}>"


config = Config()
