"""A store on any fsspec file system: FTP, SSH, HDFS, GitHub, Hugging Face, archives, caches and more."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

from omnizarr.errors import LocationError, MissingDependencyError, OmnizarrError, StoreError
from omnizarr.store.contract import Buffer, ByteRange, Request, Store, check_key, check_prefix, cut, flat, span
from omnizarr.store.object.error_mapping import without_secrets
from omnizarr.store.object.options import described, secrets, unveiled, veiled
from omnizarr.store.requests.reads import ConcurrentRequests, PendingRequest
from omnizarr.store.requests.window import Window

__all__ = ["FsspecStore", "fsspec_here", "fsspec_knows"]

R = TypeVar("R")

_ABSENT = (FileNotFoundError, NotADirectoryError, IsADirectoryError, KeyError)


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise MissingDependencyError("this location", "omnizarr[fsspec]") from None
    return fsspec


def fsspec_here() -> bool:
    """Whether fsspec is installed."""
    try:
        return _fsspec() is not None
    except MissingDependencyError:
        return False


def fsspec_knows(scheme: str) -> bool:
    """Whether fsspec is installed and has a file system for URLs of this scheme."""
    return fsspec_here() and scheme in _fsspec().available_protocols()


class FsspecStore(Store):
    """A folder of an fsspec file system, synchronous or asynchronous.

    `FsspecStore.from_url("ftp://server/folder")` creates one from any fsspec URL, also chained ones;
    `FsspecStore(filesystem, "folder")` from a file system object.
    """

    remote = True
    _copyable = True

    def __init__(
        self,
        filesystem: Any,
        path: str = "",
        *,
        read_only: bool = False,
        forbidden_is_absent: bool = False,
        max_concurrency: int = 64,
        timeout: float = 60.0,
        max_retries: int = 3,
    ) -> None:
        """`forbidden_is_absent` treats a refused access as an absent key. `max_concurrency` limits the requests in
        flight, `timeout` the seconds that a request to an asynchronous file system may take, and `max_retries` how
        often a failed read is repeated."""
        self._filesystem = filesystem
        self._path = str(filesystem._strip_protocol(path)).rstrip("/") if path else ""
        self._read_only = read_only
        self._forbidden_is_absent = forbidden_is_absent
        self._max_concurrency = max_concurrency
        self._timeout = timeout
        self._max_retries = max_retries
        self._process = os.getpid()
        self._begin()

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        read_only: bool = False,
        forbidden_is_absent: bool = False,
        max_concurrency: int = 64,
        timeout: float = 60.0,
        max_retries: int = 3,
        **storage_options: Any,
    ) -> FsspecStore:
        """The folder at a URL; `storage_options` are those of the fsspec file system."""
        library = _fsspec()
        try:
            filesystem, path = library.core.url_to_fs(url, **storage_options)
        except ImportError as error:
            raise LocationError(
                f"fsspec cannot open this `{url.partition('://')[0]}://` address: {error}",
                hint="install the package that it names",
            ) from None
        except Exception as error:  # a file system may raise anything; some connect here
            text = without_secrets(str(error) or type(error).__name__, secrets(storage_options))
            raise LocationError(f"fsspec cannot open this `{url.partition('://')[0]}://` address: {text}") from None
        return cls(
            filesystem,
            path,
            read_only=read_only,
            forbidden_is_absent=forbidden_is_absent,
            max_concurrency=max_concurrency,
            timeout=timeout,
            max_retries=max_retries,
        )

    def _begin(self) -> None:
        filesystem = self._filesystem
        protocol = filesystem.protocol
        names = {protocol} if isinstance(protocol, str) else set(protocol)
        self._quoted = bool(names & {"http", "https"})  # their paths are URLs
        self._cuts = not self._quoted  # whether ranges are known to work: a web server may send the whole value
        self._local = bool(names & {"file", "local"})
        # A synchronous file system may have a single connection, which threads must not share.
        many = _asynchronous(filesystem) or self._local or "memory" in names
        self._alone: AbstractContextManager[Any] = nullcontext() if many else threading.RLock()
        self._window = Window(self._max_concurrency if many else 1)

    @property
    def window(self) -> Window:
        """Flow control for requests to this file system."""
        self._here()
        return self._window

    @property
    def location(self) -> str:
        protocol = self._filesystem.protocol
        name = protocol if isinstance(protocol, str) else protocol[0]
        path = without_secrets(self._path, self._secrets)
        if "://" in path:
            return path
        host = self._options.get("host")  # not a part of the path on FTP, SSH and others
        start = f"{name}://{host}/" if isinstance(host, str) else f"{name}://"
        return start + (path.lstrip("/") if name != "file" else path)

    @property
    def full_location(self) -> str:
        return " ".join([self.location, *described(self._options)])

    @property
    def _options(self) -> Mapping[str, Any]:
        return getattr(self._filesystem, "storage_options", None) or {}

    @property
    def _secrets(self) -> list[str]:
        return secrets(self._options)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FsspecStore)
            and type(other) is type(self)
            and other._path == self._path
            and bool(other._filesystem == self._filesystem)
        )

    def __hash__(self) -> int:
        return hash((type(self._filesystem), self._path))

    def __getstate__(self) -> dict[str, Any]:
        made = ("_alone", "_window", "_filesystem", "_path")
        kept = {name: value for name, value in self.__dict__.items() if name not in made}
        filesystem = self._filesystem
        said = {"arguments": tuple(filesystem.storage_args), "options": dict(filesystem.storage_options)}
        return {**kept, "_filesystem": (type(filesystem), veiled({**said, "path": self._path}))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        kind, said = state["_filesystem"]
        known = unveiled(said)
        self._filesystem = kind(*known["arguments"], **known["options"])
        self._path = known["path"]
        self._process = os.getpid()
        self._begin()

    def __copy__(self) -> FsspecStore:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def parent(self) -> tuple[Store, str] | None:
        above, slash, name = self._path.rpartition("/")
        if not slash or not above or above.endswith("/"):
            return None
        twin = self.__copy__()
        twin._path = above
        return twin, name

    def _here(self) -> Any:
        """The file system for this process: after a fork a new one, as fsspec requires."""
        if self._process != os.getpid():
            filesystem = self._filesystem
            kind = type(filesystem)
            kind.clear_instance_cache()
            self._filesystem = kind(*filesystem.storage_args, **filesystem.storage_options)
            self._process = os.getpid()
            self._begin()
        return self._filesystem

    def _call(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Call a method of the file system, with a timeout if that is asynchronous."""
        filesystem = self._here()
        try:
            if not _asynchronous(filesystem):
                return getattr(filesystem, name)(*arguments, **named)
            sync = _fsspec().asyn.sync
            return sync(filesystem.loop, getattr(filesystem, f"_{name}"), *arguments, timeout=self._timeout, **named)
        except FileNotFoundError as error:
            # fsspec raises FileNotFoundError for every failed web request; only 404 and 410 mean it.
            cause = error.__cause__ if self._quoted else None
            if cause is None or isinstance(cause, _ABSENT) or getattr(cause, "status", None) in (404, 410):
                raise
            raise cause from None

    def _at(self, key: str) -> str:
        if self._quoted:
            key = quote(key)
        return f"{self._path}/{key}" if self._path else key

    def _asked(self, what: str, key: str | None, act: Callable[[], R], *, absent: R) -> R:
        """The result of `act`; `absent` if there is no such key."""
        self._here()  # before the lock is taken: its holder may be a thread of the parent process
        try:
            with self._alone:
                return self._repeated(act)
        except _ABSENT:
            return absent
        except PermissionError as error:
            if self._forbidden_is_absent and what == "read":
                return absent
            raise self._error(error, what, key) from None
        except OmnizarrError:
            raise
        except Exception as error:
            if getattr(error, "status", None) == 403 and self._forbidden_is_absent and what == "read":
                return absent
            raise self._error(error, what, key) from None

    def _repeated(self, act: Callable[[], R]) -> R:
        """The result of `act`, a read or an erasure, which may be repeated."""
        for number in range(self._max_retries):
            try:
                return act()
            except Exception as error:
                if not _passing(error):
                    raise
            time.sleep(random.uniform(0.5, 1.0) * 0.1 * 2**number)
        return act()

    def _error(self, error: BaseException, what: str, key: str | None) -> StoreError:
        text = without_secrets(str(error) or type(error).__name__, self._secrets)
        place = f"`{key}` in {self!r}" if key is not None else repr(self)
        hint = "check the address and the credentials, or try again later"
        if isinstance(error, NotImplementedError):
            text, hint = "the file system does not support this", "copy the data to another store"
        return StoreError(
            f"cannot {what} {place}: {' '.join(text.split())[:400]}", hint=hint, store=repr(self), key=key
        )

    # -- reading

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        check_key(key)
        path = self._at(key)

        def act() -> Buffer | None:
            if range is None:
                return _bytes(self._call("cat_file", path))
            start, length = range
            if start < 0 or (length is not None and length <= 0):
                size = self._size(path)
                if size is None:
                    return None
                start, length = span(range, size)
                if not length:
                    return b""
            end = None if length is None else start + length
            return self._part(path, start, end)

        return self._asked("read", key, act, absent=None)

    def _part(self, path: str, start: int, end: int | None) -> Buffer | None:
        """A part of a value. File systems differ in how they treat a range beyond the end, and a server may send the
        whole value."""
        try:
            found = _bytes(self._call("cat_file", path, start=start, end=end))
        except _ABSENT:
            raise
        except Exception as error:
            if _passing(error):
                raise
            size = self._size(path)
            if size is None:
                return None
            if start >= size:
                return b""
            if end is not None and end <= size:
                raise
            found = _bytes(self._call("cat_file", path, start=start, end=size))
            end = size
        if end is not None and (len(found) == end - start if self._cuts else not start and len(found) <= end):
            return found
        size = self._size(path)
        if size is None:
            return None
        length = span((start, None if end is None else end - start), size)[1]
        if len(found) == length:
            self._cuts = self._cuts or 0 < length < size
            return found
        if len(found) != size:
            raise StoreError(f"the answer has {len(found)} bytes, expected {length}")
        return cut(found, (start, length))

    def _size(self, path: str) -> int | None:
        info = self._call("info", path)
        if info.get("type") == "directory":
            return None
        size = info.get("size")
        return len(self._call("cat_file", path)) if size is None else int(size)

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        self._here()
        window = self._window
        pending = (
            PendingRequest(index, partial(self.get, key, range), window.expected_of(range))
            for index, (key, range) in enumerate(requests)
        )
        return ConcurrentRequests(window, pending, lambda value: 0 if value is None else len(value))

    def exists(self, key: str) -> bool:
        return self.size(key) is not None

    def size(self, key: str) -> int | None:
        check_key(key)
        return self._asked("read", key, lambda: self._size(self._at(key)), absent=None)

    # -- writing

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        check_key(key)
        path, data = self._at(key), bytes(flat(value))

        def act() -> None:
            # A local file is written under a temporary name and renamed; others depend on the file system.
            target = f"{path}.{os.getpid()}-{threading.get_ident()}.partial" if self._local else path
            try:
                self._call("pipe_file", target, data)
            except FileNotFoundError:  # the file system requires existing folders
                self._call("makedirs", path.rpartition("/")[0], exist_ok=True)
                self._call("pipe_file", target, data)
            if self._local:
                os.replace(target, path)

        self._asked_to_write("write", key, act)

    def _asked_to_write(self, what: str, key: str | None, act: Callable[[], None]) -> None:
        self._here()
        try:
            with self._alone:
                act()
        except OmnizarrError:
            raise
        except Exception as error:
            raise self._error(error, what, key) from None

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()
        self._here()
        pending = (PendingRequest(key, partial(self.set, key, value), len(flat(value))) for key, value in items)
        for _ in ConcurrentRequests(self._window, pending):
            pass

    def erase(self, key: str) -> None:
        self.check_writable()
        check_key(key)
        path = self._at(key)

        def act() -> None:
            if self._call("isfile", path):
                self._call("rm_file", path)

        self._asked("erase", key, act, absent=None)

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()
        self._here()
        for _ in ConcurrentRequests(self._window, (PendingRequest(key, partial(self.erase, key), 0) for key in keys)):
            pass

    # -- listing

    def list_prefix(self, prefix: str) -> Iterator[str]:
        below = self._at(check_prefix(prefix)).rstrip("/")
        filesystem = self._here()
        cut = len(self._path) + 1 if self._path else 0

        def act() -> list[str]:
            _forget(filesystem, below)
            return [str(path) for path in self._call("find", below)]

        none: list[str] = []
        for path in self._asked("list", None, act, absent=none):
            if self._local and path.endswith(".partial"):
                continue
            if path.startswith(f"{below}/") or not below:
                yield path[cut:]

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        below = self._at(check_prefix(prefix)).rstrip("/")
        filesystem = self._here()
        cut = len(self._path) + 1 if self._path else 0

        def act() -> list[dict[str, Any]]:
            _forget(filesystem, below)
            return list(self._call("ls", below, detail=True))

        keys: list[str] = []
        prefixes: list[str] = []
        none: list[dict[str, Any]] = []
        for entry in self._asked("list", None, act, absent=none):
            name = str(entry["name"]).rstrip("/")
            if below and not name.startswith(f"{below}/"):
                continue  # the folder itself, which some file systems list
            if self._local and name.endswith(".partial"):
                continue
            if entry.get("type") != "directory":
                keys.append(name[cut:])
            elif next(iter(self.list_prefix(f"{name[cut:]}/")), None) is not None:  # an empty folder has no keys
                prefixes.append(f"{name[cut:]}/")
        return sorted(keys), sorted(prefixes)


def _asynchronous(filesystem: Any) -> bool:
    """Whether a file system, and the one that it wraps, are asynchronous: a wrapper always claims to be."""
    return getattr(filesystem, "async_impl", False) and (not hasattr(filesystem, "fs") or _asynchronous(filesystem.fs))


def _passing(error: Exception) -> bool:
    """Whether a retry may help."""
    name = type(error).__name__
    return (
        getattr(error, "status", None) in (429, 500, 502, 503, 504)
        or isinstance(error, (ConnectionError, TimeoutError))
        or "Payload" in name
        or "Disconnected" in name
    )


def _forget(filesystem: Any, path: str) -> None:
    """Drop the cached listing, which may be outdated."""
    filesystem.invalidate_cache(path)


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else bytes(value)
