"""Values and keys: the types that stores and their callers share, and the functions on bytes, ranges and keys."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterable
from typing import NamedTuple, NoReturn, TypeAlias

from omnizarr.errors import InvalidKeyError, StoreError

__all__ = [
    "Buffer",
    "ByteRange",
    "Extent",
    "Patch",
    "Request",
    "State",
    "Version",
    "check_key",
    "check_prefix",
    "cut",
    "extent_of",
    "flat",
    "is_text",
    "patched",
    "patches_by_key",
    "reject_start",
]

Buffer: TypeAlias = bytes | bytearray | memoryview
"""The bytes of a value. Treat as read-only."""

ByteRange: TypeAlias = tuple[int, int | None]
"""`(start, length)`, `(start, None)` for all from `start`, `(-n, None)` for the last n bytes. As in a slice, bytes
beyond the end of the value are left out (S52, R112)."""

Extent: TypeAlias = tuple[int, int]
"""The start and the length of a part of a value."""

Patch: TypeAlias = tuple[int, Buffer]
"""New bytes for a part of a value: where they start, and the bytes."""

Request: TypeAlias = tuple[str, ByteRange | None]
"""A key and a part of its value; None is the whole value."""

Version: TypeAlias = Hashable
"""A token that tells one state of a key from another; None is the state of an absent key."""


class State(NamedTuple):
    """A value or a part of it, with its version."""

    data: Buffer | None
    """None if the value no longer has the requested version."""
    version: Version
    """Of the whole value; None if the store cannot tell. The same as that of `updates.read`, if the store has it."""
    size: int | None
    """Length of the whole value; None if unknown."""


_MALFORMED = re.compile(r"(?:\A|/)\.{0,2}(?:/|\Z)|\0").search


def check_key(key: str) -> None:
    """Reject keys that no store may accept: empty, absolute, ending in `/`, with empty, `.` or `..` segments, with a
    NUL character, or with an unpaired surrogate, which UTF-8 cannot encode (R108, R118)."""
    try:
        if not _MALFORMED(key) and (key.isascii() or is_text(key)):
            return
    except TypeError:
        reject_key_type(key)
    raise InvalidKeyError(f"{key!r} is not a valid store key", key=key)


def reject_key_type(key: object) -> NoReturn:
    """Raise for a key or a prefix that is no text."""
    raise InvalidKeyError(f"expected a store key as text, found {type(key).__name__}", key=key)


def is_text(key: str) -> bool:
    """Whether UTF-8 can encode every character; an unpaired surrogate it cannot."""
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_path(text: object) -> bool:
    """Whether the system can have a file of this name: a text without NUL that its encoding can express."""
    if not isinstance(text, str) or not text or "\0" in text:
        return False
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def check_prefix(prefix: str) -> str:
    """The prefix as stores use it: empty, or a key followed by `/`. A `/` in front, as in the drafts (A16), is removed.
    A prefix without `/` at the end is rejected, because the specifications do not define it (R115)."""
    if not isinstance(prefix, str):
        reject_key_type(prefix)
    prefix = prefix.removeprefix("/")
    if prefix:
        if not prefix.endswith("/"):
            raise InvalidKeyError(f"{prefix!r} is not a valid prefix: it must end in `/`", key=prefix)
        check_key(prefix[:-1])
    return prefix


def extent_of(range: ByteRange | None, size: int) -> Extent:
    """The start and the length of `range` in a value of `size` bytes."""
    if range is None:
        return 0, size
    start, length = range
    start = min(start, size) if start >= 0 else max(0, size + start)
    rest = size - start
    return start, rest if length is None else max(0, min(length, rest))


def cut(value: Buffer, range: ByteRange | None) -> Buffer:
    """The part `range` of `value`, without a copy."""
    if range is None:
        return value
    start, length = extent_of(range, len(value))
    return memoryview(value)[start : start + length]


def reject_start(key: str, start: int, store: str) -> NoReturn:
    """Raise for a negative `start` of `get_into`: only ranges count from the end."""
    raise StoreError(f"cannot read `{key}` from byte {start}: expected at least 0", store=store, key=key)


def flat(value: Buffer) -> bytes | memoryview:
    """`value` as single bytes (`len` of a view of numbers counts numbers), copied only if it is not contiguous."""
    if type(value) is bytes:
        return value
    view = memoryview(value)
    if view.itemsize == 1 and view.ndim == 1 and view.c_contiguous and view.format == "B":
        return view
    return view.cast("B") if view.c_contiguous and view.nbytes else bytes(view)


def patches_by_key(items: Iterable[tuple[str, int, Buffer]], store: str) -> dict[str, list[Patch]]:
    """The patches of each key, in order. Rejected if two of them overlap or one starts before 0 (R110, S54).
    `store` is its name in the error."""
    by_key: dict[str, list[Patch]] = {}
    for key, start, value in items:
        by_key.setdefault(key, []).append((start, flat(value)))
    for key, patches in by_key.items():
        patches.sort(key=lambda patch: (patch[0], len(patch[1])))
        end = 0
        for start, value in patches:
            if start < end:
                raise StoreError(f"parts of `{key}` overlap or start before 0", store=store, key=key)
            end = start + len(value)
    return by_key


def patched(value: Buffer | None, patches: Iterable[Patch]) -> bytes:
    """`value` with some parts replaced. An absent value counts as empty; a gap is filled with zeros."""
    whole = bytearray(b"" if value is None else value)
    for start, data in patches:
        if start > len(whole):
            whole.extend(bytes(start - len(whole)))
        whole[start : start + len(data)] = data
    return bytes(whole)
