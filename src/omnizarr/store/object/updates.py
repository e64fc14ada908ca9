"""Conditional writes to an object store: the server compares the ETag.

An answer may be lost after the server has stored the value; obstore or this module then sends the request again, and
the server rejects it, because the value has changed: by this very write. Each conditional write therefore has a random
name. It is stored beside the value, in the user metadata of the object, with the names of the writes before it. A
rejected write whose name is among them was stored.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Any, TypeAlias

from omnizarr.errors import StoreError, UncertainWriteError
from omnizarr.store.capabilities import Updates, Versioned
from omnizarr.store.contract import Buffer, Version, flat
from omnizarr.store.object import error_mapping
from omnizarr.store.object.capabilities import LastKnownValues
from omnizarr.store.object.reader import WRITES, ObjectReader, version_of

__all__ = ["ObjectUpdates"]

_Put: TypeAlias = Callable[[str, Buffer, Any, dict[str, str]], Any]

_SENDS = 3  # how often a request is sent whose answer is lost; obstore itself repeats those that the server rejects
_MOST_NAMES = 16
"""Names of writes beside a value. So many other writes may follow one whose answer is lost until it is looked up."""


class ObjectUpdates(Updates):
    """Conditional requests: the server compares the ETag."""

    def __init__(
        self, reader: ObjectReader, put: _Put, last_known: LastKnownValues, check_server: Callable[[], None]
    ) -> None:
        """`put(key, value, mode, attributes)` returns the metadata of the new object, and raises the errors of the
        client. `check_server` raises StoreError if the server ignores conditions."""
        self._reader = reader
        self._put = put
        self._last_known = last_known
        self._check_server = check_server

    def read(self, key: str, limit: int | None = None) -> Versioned:
        state = self._reader.read(key)  # to ask for the length first would cost as much as a small value
        if state is None or state.data is None:
            self._last_known.remember(key, None, None)
            return None, None
        if state.version is None:
            raise StoreError(
                f"cannot update `{key}` in {self._reader.store}: the server sends no ETag, which a conditional write "
                "needs",
                hint='`conditional="off"` in `storage_options` writes without conditions, for a single process',
                store=self._reader.store,
                key=key,
            )
        self._last_known.remember(key, state.data, state.version)
        return state.data, state.version

    def last_known(self, key: str) -> Versioned | None:
        return self._last_known.get(key)

    def write(self, key: str, value: Buffer, version: Version) -> bool:
        data = flat(value)
        self._check_server()
        mode: Any = "create"
        earlier: tuple[str, ...] = ()
        if isinstance(version, tuple):
            names = ("e_tag", "version")
            mode = {name: part for name, part in zip(names, version, strict=True) if part is not None}
            names_before = self._names_before(key, version)
            if names_before is None:
                return False
            earlier = names_before
        own = os.urandom(6).hex()
        attributes = {WRITES: ",".join((own, *earlier)[:_MOST_NAMES])}
        for number in range(1, _SENDS + 1):
            try:
                head = self._put(key, data, mode, attributes)
            except Exception as error:
                if error_mapping.condition_failed(error, created=mode == "create"):
                    return self._is_stored(key, data, own)
                if not error_mapping.may_be_stored(error):
                    raise self._reader.error(error, "write", key) from None
                if number == _SENDS or not error_mapping.lost_answer(error):
                    return self._settle(key, data, version, own, error)
                time.sleep(random.uniform(0.05, 0.1) * number)
            else:
                self._remember(key, data, version_of(head), (own, *earlier))
                return True
        raise AssertionError("the last attempt returns or raises")

    def _names_before(self, key: str, version: Version) -> tuple[str, ...] | None:
        """The names of the writes that led to `version`; None if the value has another version now.

        A write that left one out would make its writer believe that its value was never stored.
        """
        names = self._reader.names_of_writes(key, version)
        if names is None:
            names, stored = self._reader.stored_writes(key)
            if stored != version:
                return None
        return names

    def _remember(self, key: str, value: Buffer, version: Version, names: tuple[str, ...]) -> None:
        self._last_known.remember(key, bytes(flat(value)), version)
        self._reader.remember_writes(key, version, names)

    def _is_stored(self, key: str, value: Buffer, own: str) -> bool:
        """Whether a write that the server rejected was stored by an earlier request."""
        names, version = self._reader.stored_writes(key)
        if own not in names:
            return False
        if names[0] == own:
            self._remember(key, value, version, names)
        return True

    def _settle(self, key: str, value: Buffer, version: Version, own: str, error: Exception) -> bool:
        """Whether a write was stored to which no request got an answer; raises if the server cannot tell either."""
        failure = self._reader.error(error, "write", key)
        try:
            names, stored = self._reader.stored_writes(key)
        except StoreError:
            raise UncertainWriteError(str(failure), store=self._reader.store, key=key) from None
        if own in names:
            return self._is_stored(key, value, own)
        if stored == version:  # nothing was stored, but a request may still be on its way
            raise failure from None
        return False
