"""A store on any mapping from keys to bytes: a database client, an fsspec mapper, a store of zarr-python 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, NoReturn

from omnizarr.errors import InvalidKeyError, StoreError
from omnizarr.store.contract import Buffer, ByteRange, Store, check_key, check_prefix, cut

__all__ = ["MappingStore"]


class MappingStore(Store):
    """The items of a mapping from strings to bytes; writable if the mapping is.

    The mapping must allow use by many threads at once. Two stores are equal if they show the same mapping.
    """

    def __init__(self, mapping: Mapping[str, Any], *, name: str | None = None, read_only: bool = False) -> None:
        self._mapping = mapping
        self.writable = isinstance(mapping, MutableMapping)
        self._read_only = read_only
        self._name = name

    @property
    def location(self) -> str:
        if self._name is not None:
            return self._name
        root = getattr(self._mapping, "root", None)  # an fsspec mapper has its location there
        kind = type(self._mapping).__name__
        return f"{kind}:{root}" if isinstance(root, str) else f"{kind}-{id(self._mapping):x}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MappingStore) and other._mapping is self._mapping

    def __hash__(self) -> int:
        return id(self._mapping)

    def _fail(self, action: str, key: str, error: Exception) -> NoReturn:
        if isinstance(error, StoreError):
            raise error
        raise StoreError(
            f"cannot {action} `{key}` in {self!r}: {type(error).__name__}: {error}", store=repr(self), key=key
        ) from error

    def get(self, key: str, range: ByteRange | None = None) -> Buffer | None:
        check_key(key)
        try:
            value = self._mapping[key]
        except KeyError:
            return None
        except Exception as error:  # the mapping may raise anything
            self._fail("read", key, error)
        if not isinstance(value, (bytes, bytearray, memoryview)):
            try:
                value = memoryview(value).cast("B")
            except TypeError as error:
                self._fail("read", key, error)
        return cut(value, range)

    def exists(self, key: str) -> bool:
        check_key(key)
        try:
            return key in self._mapping
        except Exception as error:
            self._fail("look at", key, error)

    def set(self, key: str, value: Buffer) -> None:
        self.check_writable()
        check_key(key)
        assert isinstance(self._mapping, MutableMapping)
        copied = bytes(memoryview(value))  # the caller may reuse its memory
        try:
            self._mapping[key] = copied
        except Exception as error:
            self._fail("write", key, error)

    def erase(self, key: str) -> None:
        self.check_writable()
        check_key(key)
        assert isinstance(self._mapping, MutableMapping)
        try:
            del self._mapping[key]
        except KeyError:
            pass
        except Exception as error:
            if self.exists(key):  # otherwise the key was absent, and the mapping raises its own kind of error
                self._fail("erase", key, error)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        prefix = check_prefix(prefix)
        try:
            keys = list(self._mapping)
        except Exception as error:
            self._fail("list", prefix, error)
        return iter([key for key in keys if isinstance(key, str) and key.startswith(prefix) and _is_key(key)])


def _is_key(key: str) -> bool:
    """Whether it is a valid key: a mapping may hold other items, too."""
    try:
        check_key(key)
    except InvalidKeyError:
        return False
    return True
