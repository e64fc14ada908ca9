"""Reads objects: ranges, versions and retries, also from servers that lack one of them."""

from __future__ import annotations

import random
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from omnizarr.errors import OmnizarrError, StoreError, TimedOutError, warn
from omnizarr.store.capabilities import StartedRead
from omnizarr.store.contract import Buffer, ByteRange, State, Version, check_key, cut, extent_of
from omnizarr.store.deadline import current_deadline
from omnizarr.store.object import error_mapping
from omnizarr.store.object.client import ClientFactory
from omnizarr.store.object.timed_get import get_before
from omnizarr.store.object.web_client import StartedRequest, WebClient
from omnizarr.store.values import Extent

__all__ = ["WRITES", "ObjectReader", "version_of"]

WRITES = "omnizarrwrites"
"""The user metadata of an object that names its last conditional writes, newest first. Azure allows letters only."""

_MOST_REMEMBERED = 256  # values whose writes are remembered
_TRIES = 4  # attempts to read an answer that breaks off; obstore itself repeats requests that fail before


class ObjectReader:
    """Reads the objects under a prefix, and remembers which kinds of ranges the server supports."""

    def __init__(self, factory: ClientFactory, prefix: str, store: str) -> None:
        """`store` names the store in errors."""
        self._factory = factory
        self._prefix = prefix
        self.store = store
        self.kind = factory.kind
        self.suffixes = factory.kind != "az"  # Azure has no ranges that count from the end
        self._ranges = True
        self._warned = False
        self._writes: OrderedDict[tuple[str, Version], tuple[str, ...]] = OrderedDict()

    # -- the names of conditional writes

    def names_of_writes(self, key: str, version: Version) -> tuple[str, ...] | None:
        """The names of the writes that led to this version, newest first; None if they are not known."""
        return self._writes.get((key, version))

    def remember_writes(self, key: str, version: Version, names: tuple[str, ...]) -> None:
        writes = self._writes
        writes[key, version] = names
        while len(writes) > _MOST_REMEMBERED:
            try:
                writes.popitem(last=False)
            except KeyError:  # another thread did it
                break

    def stored_writes(self, key: str) -> tuple[tuple[str, ...], Version]:
        """The names of the last writes of the stored value, newest first, and its version; None if it is absent."""
        get = self._factory.process_client().client.get
        for attempt in _attempts(self._factory.retry_timeout):
            try:
                with error_mapping.no_panic():
                    try:
                        answer = get(self._prefix + key, options={"range": (0, 1)})
                    except Exception as error:
                        if not (error_mapping.out_of_range(error) or error_mapping.ignores_ranges(error)):
                            raise
                        answer = get(self._prefix + key)
                return _names(answer), version_of(answer.meta)
            except FileNotFoundError:
                return (), None
            except Exception as error:
                if not (error_mapping.lost_answer(error) and attempt()):
                    raise self.error(error, "read", key) from None
        raise AssertionError("the last attempt raises")

    # -- reading

    def read(self, key: str, range: ByteRange | None = None, version: Version = None) -> State | None:
        """The value or a part of it, as `VersionedReads.get` returns it."""
        check_key(key)
        if range is not None:
            start, length = range
            if start < 0 and not (self.suffixes and self._ranges):
                return self._from_the_end(key, -start, version)
            if length is not None and length <= 0:
                return self._empty_part(key, version)
        tag = version[0] if isinstance(version, tuple) else None
        for attempt in _attempts(self._factory.retry_timeout):
            try:
                return self._request(key, range, tag)
            except FileNotFoundError:
                return None
            except TimedOutError as error:
                raise error.add_context(f"cannot read `{key}` in {self.store}") from None
            except Exception as error:
                if type(error).__name__ == "PreconditionError":
                    return State(None, None, None)
                if error_mapping.is_forbidden(error) and self._factory.forbidden_is_absent:
                    return None
                if range is not None:
                    if error_mapping.out_of_range(error):
                        return self._empty_part(key, version)
                    if error_mapping.lacks_suffix_ranges(error):
                        self.suffixes = False
                        return self._from_the_end(key, -range[0], version)
                    if error_mapping.ignores_ranges(error):
                        return self._cut(key, range, tag)
                if not (error_mapping.may_pass(error) and self._may_retry() and attempt()):
                    raise self.error(error, "read", key) from None
        raise AssertionError("the last attempt raises")

    def _may_retry(self) -> bool:
        """Whether the budget of retries allows another one: if most requests fail, retries only add load."""
        return self._factory.process_client().window.retries.spend()

    def read_into(self, key: str, start: int, target: memoryview) -> int | None:
        """Fill `target` with the bytes from `start` on. Returns how many there were; None if the value is absent; -1 if
        the client cannot do that, or this answer needs `read`."""
        check_key(key)
        client = self._factory.process_client().client
        if not isinstance(client, WebClient) or not self._ranges:
            return -1
        try:
            answer = client.get_into(self._prefix + key, start, target)
        except FileNotFoundError:
            return None
        except TimedOutError as error:
            raise error.add_context(f"cannot read `{key}` in {self.store}") from None
        return -1 if answer is None else len(answer.buffer())

    @property
    def begins(self) -> bool:
        """Whether `begin` sends requests."""
        return isinstance(self._factory.process_client().client, WebClient) and self._ranges

    def begin(self, key: str, range: Extent, version: Version) -> StartedRead | None:
        """`VersionedReads.begin`."""
        check_key(key)
        client = self._factory.process_client().client
        if not isinstance(client, WebClient) or not self._ranges or range[1] <= 0:
            return None
        tag = version[0] if isinstance(version, tuple) else None
        started = client.begin(self._prefix + key, (range[0], range[0] + range[1]), tag)
        return None if started is None else _StartedRead(self, client, started, key, range, version)

    def _request(self, key: str, range: ByteRange | None, tag: str | None) -> State:
        """One request, whose answer is checked against `range` and the ETag `tag`."""
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
        client = self._factory.process_client().client
        deadline = current_deadline.get()
        with error_mapping.no_panic():
            if deadline is None or isinstance(client, WebClient):
                answer = client.get(self._prefix + key, options=options)
            else:
                answer = get_before(deadline, client, self._prefix + key, options)
        meta = answer.meta
        version = version_of(meta)
        size = meta["size"]
        if tag is not None and version is not None and version[0] != tag:
            return State(None, version, size)  # the server ignores conditions
        begin, end = answer.range
        start, length = extent_of(range, size) if self._ranges else (0, size)
        if (begin, end) != (start, start + length) and length:
            raise ValueError(f"the body of the answer holds other bytes than requested: {begin} to {end}")
        if end - begin == size:  # documents are read with a limit, too, and the next write needs all names
            self.remember_writes(key, version, _names(answer))
        data = memoryview(answer.buffer() if hasattr(answer, "buffer") else answer.bytes())
        if len(data) != end - begin:
            raise ValueError(f"the body of the answer has {len(data)} bytes instead of {end - begin}")
        if range is not None and not self._ranges:
            return State(self._part(data, range), version, size)
        return State(data, version, size)

    def _part(self, whole: Buffer, range: ByteRange) -> Buffer:
        """The part of a value that the server sent as a whole. Warns once if most of it is not needed; metadata
        documents are requested with a range that limits their size, and nearly always needed as a whole."""
        part = cut(whole, range)
        if not self._warned and len(part) < len(whole):
            self._warned = True
            warn(f"{self.store}: this server ignores ranges and sends whole values, which takes longer")
        return part

    def _cut(self, key: str, range: ByteRange, tag: str | None) -> State | None:
        """A part of a value, from a server that sends whole values."""
        whole = self.read(key, None, None if tag is None else (tag, None))
        if whole is None or whole.data is None:
            return whole
        if len(whole.data) and self._ranges:  # servers answer requests for parts of an empty value with the whole value
            self._ranges = False
        return State(self._part(whole.data, range), whole.version, whole.size)

    def _from_the_end(self, key: str, count: int, version: Version) -> State | None:
        """The last bytes, from a server without ranges that count from the end: the size is requested first."""
        if not self._ranges:
            return self._cut(key, (-count, None), version[0] if isinstance(version, tuple) else None)
        for _ in range(_TRIES):
            head = self.head(key)
            if head is None:
                return None
            current = version_of(head)
            if version is not None and current != version:
                return State(None, current, head["size"])
            start, length = extent_of((-count, None), head["size"])
            if not length:
                return State(b"", current, head["size"])
            answer = self.read(key, (start, length), current)
            if answer is None or answer.data is not None:
                return answer
        raise StoreError(
            f"cannot read `{key}` in {self.store}: gave up after {_TRIES} attempts, because other writers keep "
            "replacing it",
            store=self.store,
            key=key,
        )

    def _empty_part(self, key: str, version: Version) -> State | None:
        """The answer for a range that holds no bytes, for which servers have none."""
        head = self.head(key)
        if head is None:
            return None
        current = version_of(head)
        return State(b"" if version is None or current == version else None, current, head["size"])

    def head(self, key: str) -> Any:
        """The metadata of an object; None if it is absent."""
        check_key(key)
        try:
            with error_mapping.no_panic():
                return self._factory.process_client().client.head(self._prefix + key)
        except FileNotFoundError:
            return None
        except Exception as error:
            if error_mapping.is_forbidden(error) and self._factory.forbidden_is_absent:
                return None
            raise self.error(error, "look at", key) from None

    def error(self, error: BaseException, action: str, key: str | None) -> OmnizarrError:
        """The error for a failed request: `action` says what failed."""
        if isinstance(error, OmnizarrError):
            return error  # the client cannot be created
        return error_mapping.store_error(error, action, self.store, key, self._factory.secrets)


class _StartedRead(StartedRead):
    """A request of a `WebClient`."""

    __slots__ = ("_client", "_key", "_range", "_reader", "_started", "_version")

    def __init__(
        self,
        reader: ObjectReader,
        client: WebClient,
        started: StartedRequest,
        key: str,
        range: Extent,
        version: Version,
    ) -> None:
        self._reader = reader
        self._client = client
        self._started = started
        self._key = key
        self._range = range
        self._version = version

    @property
    def waited(self) -> bool:  # type: ignore[override]
        return self._started.waited

    def finish(self, memory: memoryview | None = None) -> State | None:
        length = self._range[1]
        room = memory[:length] if memory is not None and len(memory) >= length else None
        try:
            answer = self._client.finish(self._started, room)
        except FileNotFoundError:
            return None
        except TimedOutError as error:
            raise error.add_context(f"cannot read `{self._key}` in {self._reader.store}") from None
        if answer is None:
            return self._reader.read(self._key, self._range, self._version)
        meta: Any = answer.meta
        current, size = version_of(meta), meta["size"]
        if isinstance(self._version, tuple) and current is not None and current[0] != self._version[0]:
            return State(None, current, size)  # the server ignores conditions
        return State(answer.buffer(), current, size)

    def abandon(self) -> None:
        self._started.abandon()


def _names(answer: Any) -> tuple[str, ...]:
    text = (getattr(answer, "attributes", None) or {}).get(WRITES, "")
    return tuple(text.split(",")) if text else ()


def version_of(meta: Any) -> tuple[str, str | None] | None:
    """The version of an object: its ETag, unless that is weak and does not identify the bytes."""
    tag = meta.get("e_tag")
    return None if not tag or tag.startswith("W/") else (tag, meta.get("version"))


def _attempts(seconds: float) -> Iterator[Callable[[], bool]]:
    """Attempts, each as a function that waits and returns whether another attempt may follow."""
    deadline, limit = time.monotonic() + seconds, current_deadline.get()
    for number in range(1, _TRIES + 1):

        def again(number: int = number) -> bool:
            if number == _TRIES or time.monotonic() > deadline:
                return False
            if limit is not None:
                limit.check()
            time.sleep(random.uniform(0.5, 1.0) * 0.1 * 2**number)
            return True

        yield again
