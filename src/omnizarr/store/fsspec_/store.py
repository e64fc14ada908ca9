"""A store on any fsspec file system: FTP, SSH, HDFS, GitHub, Hugging Face, archives, caches and more."""

from __future__ import annotations

import builtins
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

from omnizarr.errors import ArgumentError, OmnizarrError, StoreError
from omnizarr.store.contract import Buffer, ByteRange, Request, Store, check_key, check_prefix, cut, extent_of, flat
from omnizarr.store.fsspec_.filesystem import ABSENT, Filesystem, may_pass
from omnizarr.store.fsspec_.library import open_filesystem
from omnizarr.store.object.error_mapping import without_secrets
from omnizarr.store.object.options import deobfuscate, describe_options, obfuscate, secrets
from omnizarr.store.requests.reads import ConcurrentRequests, PendingRequest
from omnizarr.store.requests.window import Window

__all__ = ["FsspecStore"]

R = TypeVar("R")

_MOST_TRIES = 10  # attempts to read a part of a value that other writers keep replacing


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
        """`forbidden_is_absent` treats a rejected access as an absent key. `max_concurrency` limits the requests in
        flight, `timeout` the seconds that a request to an asynchronous file system may take, and `max_retries` how
        often a failed read is repeated."""
        if not hasattr(filesystem, "protocol") or not hasattr(filesystem, "_strip_protocol"):
            raise ArgumentError(
                f"`filesystem`: expected a file system of fsspec, found {type(filesystem).__name__}",
                argument="filesystem",
                hint="`FsspecStore.from_url` takes a URL",
            )
        self._filesystem = Filesystem(filesystem, max_concurrency, timeout, max_retries)
        self._path = str(filesystem._strip_protocol(path)).rstrip("/") if path else ""
        self._read_only = read_only
        self._forbidden_is_absent = forbidden_is_absent
        self._serves_ranges = not self._filesystem.web  # not yet known of a web server, which may send whole values

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
        filesystem, path = open_filesystem(url, storage_options)
        return cls(
            filesystem,
            path,
            read_only=read_only,
            forbidden_is_absent=forbidden_is_absent,
            max_concurrency=max_concurrency,
            timeout=timeout,
            max_retries=max_retries,
        )

    @property
    def window(self) -> Window:
        """Flow control for requests to this file system."""
        return self._filesystem.window

    @property
    def location(self) -> str:
        protocol = self._filesystem.instance.protocol
        name = protocol if isinstance(protocol, str) else protocol[0]
        path = without_secrets(self._path, self._secrets)
        if "://" in path:
            return path
        host = self._options.get("host")  # not a part of the path on FTP, SSH and others
        start = f"{name}://{host}/" if isinstance(host, str) else f"{name}://"
        return start + (path.lstrip("/") if name != "file" else path)

    @property
    def full_location(self) -> str:
        return " ".join([self.location, *describe_options(self._options)])

    @property
    def _options(self) -> Mapping[str, Any]:
        return getattr(self._filesystem.instance, "storage_options", None) or {}

    @property
    def _secrets(self) -> list[str]:
        return secrets(self._options)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FsspecStore)
            and type(other) is type(self)
            and other._path == self._path
            and bool(other._filesystem.instance == self._filesystem.instance)
        )

    def __hash__(self) -> int:
        return hash((type(self._filesystem.instance), self._path))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_path": obfuscate({"path": self._path}), "_process": os.getpid()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        process = state.pop("_process")
        self.__dict__.update(state)
        self._path = deobfuscate(state["_path"])["path"]
        if self._filesystem.in_memory and process != os.getpid():  # it is empty here, and writes would be lost
            self.writable = False
            self.read_only_hint = "its files lie in the memory of another process: use a folder or a bucket instead"

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

    def _path_of(self, key: str) -> str:
        if self._filesystem.web:
            key = quote(key)
        return f"{self._path}/{key}" if self._path else key

    def _attempt(self, action: str, key: str | None, act: Callable[[], R], *, absent: R) -> R:
        """The result of `act`, which may be repeated; `absent` if there is no such key. `action` names it in errors."""
        try:
            return self._filesystem.run(act, retries=True)
        except ABSENT:
            return absent
        except PermissionError as error:
            if self._forbidden_is_absent and action == "read":
                return absent
            raise self._error(error, action, key) from None
        except OmnizarrError:
            raise
        except Exception as error:
            if getattr(error, "status", None) == 403 and self._forbidden_is_absent and action == "read":
                return absent
            raise self._error(error, action, key) from None

    def _error(self, error: BaseException, action: str, key: str | None) -> StoreError:
        text = without_secrets(str(error) or type(error).__name__, self._secrets)
        value = f"`{key}` in {self!r}" if key is not None else repr(self)
        hint = "check the address and the credentials, or try again later"
        if isinstance(error, NotImplementedError):
            text, hint = "the file system does not support this", "copy the data to another store"
        return StoreError(
            f"cannot {action} {value}: {' '.join(text.split())[:400]}", hint=hint, store=repr(self), key=key
        )

    # -- reading

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        check_key(key)
        path = self._path_of(key)

        def act() -> Buffer | None:
            if range is None:
                return _bytes(self._filesystem.call("cat_file", path))
            start, length = range
            if start < 0 and self._filesystem.counts_from_end:
                return _bytes(self._filesystem.call("cat_file", path, start=start))
            if start < 0 or (length is not None and length <= 0):
                size = self._size(path)
                if size is None:
                    return None
                start, length = extent_of(range, size)
                if not length:
                    return b""
            end = None if length is None else start + length
            for _ in builtins.range(_MOST_TRIES):
                part, fits = self._part(path, start, end)
                if fits:
                    return part
            raise StoreError(
                f"cannot read bytes {start} to {end} of `{key}` in {self!r}: gave up after {_MOST_TRIES} attempts, "
                "because the length of the answer does not fit the size of the value",
                store=repr(self),
                key=key,
            )

        return self._attempt("read", key, act, absent=None)

    def _part(self, path: str, start: int, end: int | None) -> tuple[Buffer | None, bool]:
        """A part of a value, and whether its length fits the size of the value, which a writer may have replaced in
        between. File systems differ in how they treat a range beyond the end, and a server may send the whole value."""
        try:
            data = _bytes(self._filesystem.call("cat_file", path, start=start, end=end))
        except ABSENT:
            raise
        except Exception as error:
            if may_pass(error):
                raise
            size = self._size(path)
            if size is None:
                return None, True
            if start >= size:
                return b"", True
            if end is not None and end <= size:
                raise
            data = _bytes(self._filesystem.call("cat_file", path, start=start, end=size))
            end = size
        if end is not None and (len(data) == end - start if self._serves_ranges else not start and len(data) <= end):
            return data, True
        size = self._size(path)
        if size is None:
            return None, True
        length = extent_of((start, None if end is None else end - start), size)[1]
        if len(data) == length:
            self._serves_ranges = self._serves_ranges or 0 < length < size
            return data, True
        return cut(data, (start, length)), len(data) == size

    def _size(self, path: str) -> int | None:
        info = self._filesystem.call("info", path)
        if info.get("type") == "directory":
            return None
        size = info.get("size")
        return len(self._filesystem.call("cat_file", path)) if size is None else int(size)

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        window = self.window
        pending = (
            PendingRequest(index, partial(self.get, key, range), window.expected_of(range))
            for index, (key, range) in enumerate(requests)
        )
        return ConcurrentRequests(window, pending, lambda value: 0 if value is None else len(value))

    def exists(self, key: str) -> bool:
        return self.size(key) is not None

    def size(self, key: str) -> int | None:
        check_key(key)
        return self._attempt("read", key, lambda: self._size(self._path_of(key)), absent=None)

    # -- writing

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        check_key(key)
        path, data = self._path_of(key), bytes(flat(value))

        def act() -> None:
            # A local file is written under a temporary name and renamed; others depend on the file system.
            target = f"{path}.{os.getpid()}-{threading.get_ident()}.partial" if self._filesystem.local else path
            try:
                self._filesystem.call("pipe_file", target, data)
            except FileNotFoundError:  # the file system requires existing folders
                self._filesystem.call("makedirs", path.rpartition("/")[0], exist_ok=True)
                self._filesystem.call("pipe_file", target, data)
            if self._filesystem.local:
                os.replace(target, path)

        self._write("write", key, act)

    def _write(self, action: str, key: str | None, act: Callable[[], None]) -> None:
        """Run `act` once: a repeated write could undo the write of another process."""
        try:
            self._filesystem.run(act, retries=False)
        except OmnizarrError:
            raise
        except Exception as error:
            raise self._error(error, action, key) from None

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()
        pending = (PendingRequest(key, partial(self.set, key, value), len(flat(value))) for key, value in items)
        for _ in ConcurrentRequests(self.window, pending):
            pass

    def erase(self, key: str) -> None:
        self.check_writable()
        check_key(key)
        path = self._path_of(key)

        def act() -> None:
            if self._filesystem.call("isfile", path):
                self._filesystem.call("rm_file", path)

        self._attempt("erase", key, act, absent=None)

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()
        for _ in ConcurrentRequests(self.window, (PendingRequest(key, partial(self.erase, key), 0) for key in keys)):
            pass

    # -- listing

    def list_prefix(self, prefix: str) -> Iterator[str]:
        below = self._path_of(check_prefix(prefix)).rstrip("/")
        cut = len(self._path) + 1 if self._path else 0

        def act() -> list[str]:
            _forget(self._filesystem.instance, below)
            return [str(path) for path in self._filesystem.call("find", below)]

        none: list[str] = []
        for path in self._attempt("list", None, act, absent=none):
            if self._filesystem.local and path.endswith(".partial"):
                continue
            if path.startswith(f"{below}/") or not below:
                yield path[cut:]

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        below = self._path_of(check_prefix(prefix)).rstrip("/")
        cut = len(self._path) + 1 if self._path else 0

        def act() -> list[dict[str, Any]]:
            _forget(self._filesystem.instance, below)
            return list(self._filesystem.call("ls", below, detail=True))

        keys: list[str] = []
        prefixes: list[str] = []
        none: list[dict[str, Any]] = []
        for entry in self._attempt("list", None, act, absent=none):
            name = str(entry["name"]).rstrip("/")
            if below and not name.startswith(f"{below}/"):
                continue  # the folder itself, which some file systems list
            if self._filesystem.local and name.endswith(".partial"):
                continue
            if entry.get("type") != "directory":
                keys.append(name[cut:])
            elif next(iter(self.list_prefix(f"{name[cut:]}/")), None) is not None:  # an empty folder has no keys
                prefixes.append(f"{name[cut:]}/")
        return sorted(keys), sorted(prefixes)


def _forget(filesystem: Any, path: str) -> None:
    """Drop the cached listing, which may be outdated."""
    filesystem.invalidate_cache(path)


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else bytes(value)
