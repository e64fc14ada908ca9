"""A bucket, or a part of one, as a store: values are objects. obstore sends many requests at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from omnizarr.errors import StoreError
from omnizarr.store.capabilities import provides
from omnizarr.store.contract import (
    Buffer,
    ByteRange,
    Request,
    State,
    Store,
    check_key,
    check_prefix,
    flat,
    reject_start,
)
from omnizarr.store.object import error_mapping
from omnizarr.store.object.capabilities import LastKnownValues, ObjectSnapshots, ObjectVersionedReads
from omnizarr.store.object.client import ClientFactory, GivenClientFactory, UrlClientFactory, parse_url
from omnizarr.store.object.reader import ObjectReader
from omnizarr.store.object.updates import ObjectUpdates
from omnizarr.store.requests.reads import ConcurrentRequests, PendingRequest
from omnizarr.store.requests.window import Window

__all__ = ["ObjectStore"]

_SINGLE_PUT = 2**25  # bytes that are sent in one request; larger values are sent in several, concurrently
_CONDITIONAL = ("s3", "gs", "az", "MemoryStore")  # kinds of servers that compare ETags before they write


class ObjectStore(Store):
    """The objects under a prefix of a bucket or a web server.

    `ObjectStore.from_url("s3://bucket/path")` creates one from a URL; `ObjectStore(client, prefix="path")` from a store
    object of obstore, or of the obspec protocol.
    """

    remote = True
    snapshots = provides(lambda store: ObjectSnapshots(store._reader))
    versioned_reads = provides(lambda store: ObjectVersionedReads(store._reader))
    updates = provides(
        lambda store: (
            ObjectUpdates(store._reader, store._send, store._last_known, store._check_conditions)
            if store._last_known is not None
            else None
        )
    )
    _copyable = True

    def __init__(
        self,
        client: Any,
        *,
        prefix: str = "",
        read_only: bool = False,
        forbidden_is_absent: bool = False,
        max_concurrency: int = 256,
        conditional: str = "verify",
    ) -> None:
        """`forbidden_is_absent` treats status 403 as an absent key, as public buckets without listing answer it.
        `max_concurrency` limits the requests in flight. `conditional` says whether to use conditional writes:
        `"verify"` checks first that a server other than Amazon's honours the conditions, `"trust"` does not, and
        `"off"` writes without conditions, which is safe for a single process."""
        self._factory: ClientFactory = (
            client
            if isinstance(client, ClientFactory)
            else GivenClientFactory(client, max_concurrency, forbidden_is_absent, conditional)
        )
        self._prefix = check_prefix(prefix.strip("/") + "/" if prefix.strip("/") else "")
        self._read_only = read_only
        self._begin()

    @classmethod
    def from_url(cls, url: str, *, read_only: bool = False, **storage_options: Any) -> ObjectStore:
        """The store at a URL: `s3://`, `gs://`, `az://`, `abfs://`, `http://`, `https://`."""
        kind, root, path, url_options = parse_url(url)
        return cls(UrlClientFactory(kind, root, {**url_options, **storage_options}), prefix=path, read_only=read_only)

    def _begin(self) -> None:
        kind = self._factory.kind
        self.writable = self.listable = kind != "http"
        self._reader = ObjectReader(self._factory, self._prefix, repr(self))
        conditional = kind in _CONDITIONAL and self._factory.conditional != "off"
        self._last_known = LastKnownValues() if conditional else None

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
        state = self._reader.read(key, range)
        return None if state is None else state.data

    def get_into(self, key: str, start: int, target: memoryview) -> int | None:
        if start < 0:
            reject_start(key, start, repr(self))
        state = self._reader.read_into(key, start, target)
        return state if state is None or state >= 0 else super().get_into(key, start, target)

    def get_each(self, requests: Sequence[Request]) -> Iterator[tuple[int, Buffer | None]]:
        window = self.window
        pending = (
            PendingRequest(index, partial(self.get, key, range), window.expected_of(range))
            for index, (key, range) in enumerate(requests)
        )
        return ConcurrentRequests(window, pending, _length, hedge=True)

    def get_partial_values(self, requests: Sequence[Request]) -> list[Buffer | None]:
        """The answers, in order. Whole values are remembered with their versions, for `updates.last_known`."""
        window = self.window
        pending = (
            PendingRequest(index, partial(self._reader.read, key, range), window.expected_of(range))
            for index, (key, range) in enumerate(requests)
        )
        answers: list[Buffer | None] = [None] * len(requests)
        known = self._last_known
        for index, state in ConcurrentRequests(window, pending, _state_length, hedge=True):
            key = requests[index][0]
            if state is not None:
                answers[index] = state.data
            if known is not None:
                if state is None:
                    known.remember(key, None, None)
                elif state.data is not None and state.size == len(state.data):
                    known.remember(key, state.data, state.version)
        return answers

    def exists(self, key: str) -> bool:
        return self._reader.head(key) is not None

    def size(self, key: str) -> int | None:
        head = self._reader.head(key)
        return None if head is None else int(head["size"])

    # -- writing

    def set(self, key: str, value: Buffer) -> None:
        data = flat(value)
        try:
            self._send(key, data, "overwrite", None)
        except Exception as error:
            raise self._reader.error(error, "write", key) from None

    def _check_conditions(self) -> None:
        if self._factory.conditional == "verify":
            from omnizarr.store.object.probe import check_conditions  # lazy import: only for writers

            self.check_writable()
            check_conditions(self._factory, self._prefix, self._reader)

    def _forget(self, key: str) -> None:
        if self._last_known is not None:
            self._last_known.forget(key)

    def _send(self, key: str, value: Buffer, mode: Any, attributes: dict[str, str] | None) -> Any:
        """The metadata of the new object. Raises the errors of the client."""
        self.check_writable()
        check_key(key)
        data = (
            bytes(flat(value)) if self._factory.kind == "MemoryStore" else flat(value)
        )  # a MemoryStore would keep the caller's memory
        self._forget(key)
        options: dict[str, Any] = {} if attributes is None else {"attributes": attributes}
        if mode != "overwrite" or len(data) <= _SINGLE_PUT:
            options["use_multipart"] = False
        with error_mapping.no_panic():
            return self._factory.process_client().client.put(self._prefix + key, data, mode=mode, **options)

    def set_each(self, items: Iterable[tuple[str, Buffer]]) -> None:
        self.check_writable()
        pending = (PendingRequest(key, partial(self.set, key, value), len(flat(value))) for key, value in items)
        for _ in ConcurrentRequests(self.window, pending):
            pass

    def erase(self, key: str) -> None:
        self.check_writable()
        check_key(key)
        self._forget(key)
        try:
            with error_mapping.no_panic():
                self._factory.process_client().client.delete(self._prefix + key)
        except FileNotFoundError:
            pass
        except Exception as error:
            raise self._reader.error(error, "erase", key) from None

    def erase_values(self, keys: Iterable[str]) -> None:
        self.check_writable()
        if self._factory.kind != "s3":  # the others fail if one of the keys is absent
            for _ in ConcurrentRequests(
                self.window, (PendingRequest(key, partial(self.erase, key), 0) for key in keys)
            ):
                pass
            return
        all_keys = list(keys)
        for key in all_keys:
            check_key(key)
            self._forget(key)
        if len(all_keys) == 1:
            self.erase(all_keys[0])
        elif all_keys:
            self._erase_many(all_keys)

    def _erase_many(self, keys: list[str]) -> None:
        """Erase keys in one request."""
        try:
            with error_mapping.no_panic():
                self._factory.process_client().client.delete([self._prefix + key for key in keys])
        except Exception as error:
            raise self._reader.error(error, "erase keys in", None) from None

    # -- listing

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return (key for key, _ in self._list_sizes(prefix))

    def _list_sizes(self, prefix: str) -> Iterator[tuple[str, int]]:
        """For `omnizarr.store.sizes`."""
        below = self._prefix + check_prefix(prefix)
        self._check_listable()
        return self._list(below)

    def _list(self, below: str) -> Iterator[tuple[str, int]]:
        cut = len(self._prefix)
        try:
            with error_mapping.no_panic():
                for page in self._factory.process_client().client.list(below or None, chunk_size=1000):
                    for meta in page:
                        if meta["path"].startswith(below):  # some servers count a key as below itself
                            yield meta["path"][cut:], meta["size"]
        except FileNotFoundError:
            return
        except Exception as error:
            raise self._reader.error(error, "list", None) from None

    def list_dir(self, prefix: str) -> tuple[Sequence[str], Sequence[str]]:
        below = self._prefix + check_prefix(prefix)
        self._check_listable()
        try:
            with error_mapping.no_panic():
                listing = self._factory.process_client().client.list_with_delimiter(below or None)
        except FileNotFoundError:
            return [], []
        except Exception as error:
            raise self._reader.error(error, "list", None) from None
        cut = len(self._prefix)
        keys = [meta["path"][cut:] for meta in listing["objects"] if meta["path"].startswith(below)]
        prefixes = [f"{path.rstrip('/')}/"[cut:] for path in listing["common_prefixes"]]
        return sorted(keys), sorted(prefixes)

    def _check_listable(self) -> None:
        if not self.listable:
            raise StoreError(
                f"{self!r} cannot be listed: web servers have no listing",
                hint="name the array, or open a group whose metadata is consolidated",
                store=repr(self),
            )


def _length(value: Buffer | None) -> int:
    return 0 if value is None else len(value)


def _state_length(state: State | None) -> int:
    return 0 if state is None else _length(state.data)
