"""A bucket, or a part of one, as a store: values are objects. obstore sends many requests at once."""

from __future__ import annotations

import random
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from omnizarr.errors import OmnizarrError, StoreError, warn
from omnizarr.store.capabilities import Snapshots, Updates, Versioned, VersionedReads, provides
from omnizarr.store.contract import (
    Buffer,
    ByteRange,
    Request,
    State,
    Store,
    Version,
    check_key,
    check_prefix,
    cut,
    flat,
    refuse_start,
    span,
)
from omnizarr.store.object import error_mapping
from omnizarr.store.object.client import ClientFactory, GivenClientFactory, UrlClientFactory, parsed
from omnizarr.store.requests.reads import ConcurrentRequests, PendingRequest
from omnizarr.store.requests.window import Window
from omnizarr.store.snapshot import Snapshot

__all__ = ["ObjectStore"]

R = TypeVar("R")

_TRIES = 4  # attempts to read an answer that breaks off; obstore itself repeats requests that fail before
_SINGLE_PUT = 2**25  # bytes that are sent in one request; larger values are sent in several, concurrently
_CONDITIONAL = ("s3", "gs", "az", "MemoryStore")
_MOST_RECALLED = 256  # values that are remembered with their versions
_LONGEST_RECALLED = 2**15  # bytes of such a value


class ObjectStore(Store):
    """The objects under a prefix of a bucket or a web server.

    `ObjectStore.from_url("s3://bucket/path")` creates one from a URL; `ObjectStore(client, prefix="path")` from a store
    object of obstore, or of the obspec protocol.
    """

    remote = True
    snapshots = provides(lambda store: _ObjectSnapshots(store))
    versioned_reads = provides(lambda store: _ObjectReads(store))
    updates = provides(lambda store: _ObjectUpdates(store) if store._conditional else None)
    _copyable = True

    def __init__(
        self,
        client: Any,
        *,
        prefix: str = "",
        read_only: bool = False,
        forbidden_is_absent: bool = False,
        max_concurrency: int = 256,
    ) -> None:
        """`forbidden_is_absent` treats status 403 as an absent key, as public buckets without listing answer it.
        `max_concurrency` limits the requests in flight."""
        self._factory: ClientFactory = (
            client
            if isinstance(client, ClientFactory)
            else GivenClientFactory(client, max_concurrency, forbidden_is_absent)
        )
        self._prefix = check_prefix(prefix.strip("/") + "/" if prefix.strip("/") else "")
        self._read_only = read_only
        self._begin()

    @classmethod
    def from_url(cls, url: str, *, read_only: bool = False, **storage_options: Any) -> ObjectStore:
        """The store at a URL: `s3://`, `gs://`, `az://`, `abfs://`, `http://`, `https://`."""
        kind, root, path, said = parsed(url)
        return cls(UrlClientFactory(kind, root, {**said, **storage_options}), prefix=path, read_only=read_only)

    def _begin(self) -> None:
        kind = self._factory.kind
        self._conditional = kind in _CONDITIONAL  # whether the server compares ETags before it writes
        self.writable = self.listable = kind != "http"
        self._suffixes = kind != "az"  # Azure has no ranges that count from the end
        self._ranges = True
        self._recalled: OrderedDict[str, tuple[bytes | None, Version]] = OrderedDict()

    @property
    def location(self) -> str:
        return f"{self._factory.location}/{self._prefix}".rstrip("/")

    @property
    def full_location(self) -> str:
        return f"{self._factory.server} {self.location}"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ObjectStore)
            and type(other) is type(self)
            and (other._factory, other._prefix) == (self._factory, self._prefix)
        )

    def __hash__(self) -> int:
        return hash((self._factory, self._prefix))

    def __getstate__(self) -> dict[str, Any]:
        return {"_factory": self._factory, "_prefix": self._prefix, "_read_only": self._read_only}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def parent(self) -> tuple[Store, str] | None:
        if not self._prefix:
            return None
        above, _, name = self._prefix[:-1].rpartition("/")
        return type(self)(self._factory, prefix=above, read_only=self._read_only), name

    @property
    def window(self) -> Window:
        """Flow control for requests to this bucket or server."""
        return self._factory.process_client().window

    # -- reading

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        found = self._read(key, range)
        return None if found is None else found.data

    def _read(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        check_key(key)
        if range is not None:
            start, length = range
            if start < 0 and not (self._suffixes and self._ranges):
                return self._from_the_end(key, -start, version)
            if length is not None and length <= 0:
                return self._nothing_of(key, version)
        tag = version[0] if isinstance(version, tuple) else None
        for attempt in _attempts(self._factory.retry_timeout):
            try:
                return self._asked(key, range, tag)
            except FileNotFoundError:
                return None
            except Exception as error:
                if type(error).__name__ == "PreconditionError":
                    return State(None, None, None)
                if error_mapping.refused(error) and self._factory.forbidden_is_absent:
                    return None
                if range is not None:
                    if error_mapping.out_of_range(error):
                        return self._nothing_of(key, version)
                    if error_mapping.no_suffix(error):
                        self._suffixes = False
                        return self._from_the_end(key, -range[0], version)
                    if error_mapping.ignores_ranges(error):
                        return self._cut(key, range, tag)
                if not (error_mapping.passing(error) and attempt()):
                    raise self._error(error, "read", key) from None
        raise AssertionError("the last attempt raises")

    def _asked(self, key: str, range: ByteRange | None, tag: str | None) -> State:
        options: dict[str, Any] = {}
        if range is not None and self._ranges:
            start, length = range
            if start < 0:
                options["range"] = {"suffix": -start}
            elif length is None:
                options["range"] = {"offset": start}
            else:
                options["range"] = (start, start + length)
        if tag is not None:
            options["if_match"] = tag
        with error_mapping.no_panic():
            answer = self._factory.process_client().client.get(self._prefix + key, options=options)
        meta = answer.meta
        found = _version(meta)
        size = meta["size"]
        if tag is not None and found is not None and found[0] != tag:
            return State(None, found, size)  # the server ignores conditions
        begin, end = answer.range
        wanted, length = span(range, size) if self._ranges else (0, size)
        if (begin, end) != (wanted, wanted + length) and length:
            raise ValueError(f"the body of the answer holds other bytes than requested: {begin} to {end}")
        data = memoryview(answer.buffer() if hasattr(answer, "buffer") else answer.bytes())
        if len(data) != end - begin:
            raise ValueError(f"the body of the answer has {len(data)} bytes instead of {end - begin}")
        if range is not None and not self._ranges:
            return State(cut(data, range), found, size)
        return State(data, found, size)

    def _cut(self, key: str, range: ByteRange, tag: str | None) -> State | None:
        """A part of a value, from a server that sends whole values."""
        whole = self._read(key, None, None if tag is None else (tag, None))
        if whole is None or whole.data is None:
            return whole
        if len(whole.data) and self._ranges:  # servers answer requests for parts of an empty value with the whole value
            self._ranges = False
            warn(f"{self!r}: this server ignores ranges and sends whole values, which takes longer")
        return State(cut(whole.data, range), whole.version, whole.size)

    def _from_the_end(self, key: str, count: int, version: Version) -> State | None:
        """The last bytes, from a server without ranges that count from the end: the size is requested first."""
        if not self._ranges:
            return self._cut(key, (-count, None), version[0] if isinstance(version, tuple) else None)
        for _ in range(_TRIES):
            head = self._head(key)
            if head is None:
                return None
            found = _version(head)
            if version is not None and found != version:
                return State(None, found, head["size"])
            start, length = span((-count, None), head["size"])
            if not length:
                return State(b"", found, head["size"])
            answer = self._read(key, (start, length), found)
            if answer is None or answer.data is not None:
                return answer
        raise StoreError(
            f"cannot read `{key}` in {self!r}: gave up after {_TRIES} attempts, because other writers keep replacing "
            "it",
            store=repr(self),
            key=key,
        )

    def _nothing_of(self, key: str, version: Version) -> State | None:
        head = self._head(key)
        if head is None:
            return None
        found = _version(head)
        return State(b"" if version is None or found == version else None, found, head["size"])

    def _head(self, key: str) -> Any:
        check_key(key)
        try:
            with error_mapping.no_panic():
                return self._factory.process_client().client.head(self._prefix + key)
        except FileNotFoundError:
            return None
        except Exception as error:
            if error_mapping.refused(error) and self._factory.forbidden_is_absent:
                return None
            raise self._error(error, "look at", key) from None

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        if start < 0:
            refuse_start(key, start, repr(self))
        return super().get_into(key, start, target)

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        window = self.window
        pending = (
            PendingRequest(index, partial(self.get, key, range), window.expected_of(range))
            for index, (key, range) in enumerate(requests)
        )
        return ConcurrentRequests(window, pending, _length)

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        """The answers, in order. Whole values are remembered with their versions, for `updates.last_known`."""
        window = self.window
        pending = (
            PendingRequest(index, partial(self._read, key, range), window.expected_of(range))
            for index, (key, range) in enumerate(requests)
        )
        answers: list[Buffer | None] = [None] * len(requests)
        for index, state in ConcurrentRequests(
            window, pending, lambda found: 0 if found is None else _length(found.data)
        ):
            key = requests[index][0]
            if state is None:
                self._remember(key, None, None)
            else:
                answers[index] = state.data
                if state.data is not None and state.size == len(state.data):
                    self._remember(key, state.data, state.version)
        return answers

    def exists(self, key: str) -> bool:
        return self._head(key) is not None

    def size(self, key: str) -> int | None:
        head = self._head(key)
        return None if head is None else int(head["size"])

    # -- writing

    def set(self, key: str, value: Buffer) -> None:
        self._put(key, value, "overwrite")

    def _put(self, key: str, value: Buffer, mode: Any) -> Any:
        """The metadata of the new object; None if the condition is not met."""
        self.check_writable()
        check_key(key)
        data = (
            bytes(flat(value)) if self._factory.kind == "MemoryStore" else flat(value)
        )  # a MemoryStore would keep the caller's memory
        self._recalled.pop(key, None)
        several = mode == "overwrite" and len(data) > _SINGLE_PUT
        try:
            with error_mapping.no_panic():
                return self._factory.process_client().client.put(
                    self._prefix + key, data, mode=mode, **({} if several else {"use_multipart": False})
                )
        except Exception as error:
            if mode != "overwrite" and type(error).__name__ in ("AlreadyExistsError", "PreconditionError"):
                return None
            raise self._error(error, "write", key) from None

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()
        pending = (PendingRequest(key, partial(self.set, key, value), len(flat(value))) for key, value in items)
        for _ in ConcurrentRequests(self.window, pending):
            pass

    def erase(self, key: str) -> None:
        self.check_writable()
        check_key(key)
        self._recalled.pop(key, None)
        try:
            with error_mapping.no_panic():
                self._factory.process_client().client.delete(self._prefix + key)
        except FileNotFoundError:
            pass
        except Exception as error:
            raise self._error(error, "erase", key) from None

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()
        if self._factory.kind != "s3":  # the others fail if one of the keys is absent
            for _ in ConcurrentRequests(
                self.window, (PendingRequest(key, partial(self.erase, key), 0) for key in keys)
            ):
                pass
            return
        wanted = list(keys)
        for key in wanted:
            check_key(key)
            self._recalled.pop(key, None)
        if len(wanted) == 1:
            self.erase(wanted[0])
        elif wanted:
            self._bulk(wanted)

    def _bulk(self, keys: list[str]) -> None:
        try:
            with error_mapping.no_panic():
                self._factory.process_client().client.delete([self._prefix + key for key in keys])
        except Exception as error:
            raise self._error(error, "erase keys in", None) from None

    # -- listing

    def list_prefix(self, prefix: str) -> Iterator[str]:
        below = self._prefix + check_prefix(prefix)
        self._check_listable()
        return self._listed(below)

    def _listed(self, below: str) -> Iterator[str]:
        cut = len(self._prefix)
        try:
            with error_mapping.no_panic():
                for page in self._factory.process_client().client.list(below or None, chunk_size=1000):
                    for meta in page:
                        if meta["path"].startswith(below):  # some servers count a key as below itself
                            yield meta["path"][cut:]
        except FileNotFoundError:
            return
        except Exception as error:
            raise self._error(error, "list", None) from None

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        below = self._prefix + check_prefix(prefix)
        self._check_listable()
        try:
            with error_mapping.no_panic():
                found = self._factory.process_client().client.list_with_delimiter(below or None)
        except FileNotFoundError:
            return [], []
        except Exception as error:
            raise self._error(error, "list", None) from None
        cut = len(self._prefix)
        keys = [meta["path"][cut:] for meta in found["objects"] if meta["path"].startswith(below)]
        prefixes = [f"{path.rstrip('/')}/"[cut:] for path in found["common_prefixes"]]
        return sorted(keys), sorted(prefixes)

    def _check_listable(self) -> None:
        if not self.listable:
            raise StoreError(
                f"{self!r} cannot be listed: web servers have no listing",
                hint="name the array, or open a group whose metadata is consolidated",
                store=repr(self),
            )

    def _remember(self, key: str, value: Buffer | None, version: Version) -> None:
        """Remember a small value with its version, or that the key is absent; drops the oldest."""
        recalled = self._recalled
        recalled.pop(key, None)
        if not self._conditional or (version is None) != (value is None) or _length(value) > _LONGEST_RECALLED:
            return
        recalled[key] = None if value is None else bytes(value), version
        if len(recalled) > _MOST_RECALLED:
            try:
                recalled.popitem(last=False)
            except KeyError:  # another thread did it
                pass

    def _error(self, error: BaseException, what: str, key: str | None) -> OmnizarrError:
        if isinstance(error, OmnizarrError):
            return error  # the client cannot be created
        return error_mapping.store_error(error, what, repr(self), key, self._factory.secrets)


class _ObjectSnapshots(Snapshots):
    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def open(self, key: str) -> Snapshot | None:
        head = self._store._head(key)
        return None if head is None else _ObjectSnapshot(self._store, key, head["size"], _version(head))


class _ObjectReads(VersionedReads):
    """The version of a value is its ETag, and its version in a bucket that keeps old ones."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def get(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        return self._store._read(key, range, version)


class _ObjectUpdates(Updates):
    """Conditional requests: the server compares the ETag."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def read(self, key: str, limit: int | None = None) -> Versioned:
        found = self._store._read(key)  # to ask for the length first would cost as much as a small value
        if found is None or found.data is None:
            self._store._remember(key, None, None)
            return None, None
        self._store._remember(key, found.data, found.version)
        return found.data, found.version

    def last_known(self, key: str) -> Versioned | None:
        return self._store._recalled.get(key)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        if isinstance(version, tuple):
            names = ("e_tag", "version")
            mode: Any = {name: part for name, part in zip(names, version, strict=True) if part is not None}
        else:
            mode = "create"
        written = self._store._put(key, value, mode)
        if written is None:
            return False
        self._store._remember(key, bytes(flat(value)), _version(written))
        return True


class _ObjectSnapshot(Snapshot):
    """One version of an object. If a writer replaces the object, reading raises an error."""

    def __init__(self, store: ObjectStore, key: str, size: int, version: Version) -> None:
        self._store = store
        self._key = key
        self.size = size
        self._version = version

    @property
    def version(self) -> object:
        return self._version

    def get(self, range: ByteRange) -> Buffer:
        found = self._store._read(self._key, range, self._version)
        if found is None or found.data is None or (self._version is None and found.size != self.size):
            raise StoreError(
                f"`{self._key}` in {self._store!r} was replaced while it was read",
                hint="read it again",
                store=repr(self._store),
                key=self._key,
            )
        return found.data

    def close(self) -> None:
        pass  # it holds no resources


def _version(meta: Any) -> tuple[str, str | None] | None:
    """The version of an object: its ETag, unless that is weak and does not identify the bytes."""
    tag = meta.get("e_tag")
    return None if not tag or tag.startswith("W/") else (tag, meta.get("version"))


def _length(value: Buffer | None) -> int:
    return 0 if value is None else len(value)


def _attempts(seconds: float) -> Iterator[Callable[[], bool]]:
    """Attempts, each as a function that waits and returns whether another attempt may follow."""
    deadline = time.monotonic() + seconds
    for number in range(1, _TRIES + 1):

        def again(number: int = number) -> bool:
            if number == _TRIES or time.monotonic() > deadline:
                return False
            time.sleep(random.uniform(0.5, 1.0) * 0.1 * 2**number)
            return True

        yield again
