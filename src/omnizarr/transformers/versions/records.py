"""The stored records of a versioned array: the head, commits and pages, as JSON, and the names of stored values.

Everything lies below `__versions__/` in the array's prefix. Only the head changes; all other values are written once,
under a name that no other writer uses, and never replaced.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from omnizarr import _json
from omnizarr._json import Json, Problems, is_integer
from omnizarr.errors import InvalidKeyError, MetadataError
from omnizarr.store import Buffer, check_key

__all__ = [
    "AREA",
    "EMPTY",
    "HEAD",
    "KINDS",
    "ArrayVersion",
    "Changes",
    "Commit",
    "Head",
    "PageRef",
    "ValueRef",
    "dump_commit",
    "dump_head",
    "dump_page",
    "new_name",
    "new_session",
    "parse_commit",
    "parse_head",
    "parse_page",
    "session_time",
    "stamp",
    "stamp_time",
]

AREA = "__versions__/"
"""The prefix of all records, below the array's own prefix."""
HEAD = f"{AREA}head.json"
"""The only key whose value changes."""
KINDS = ("values", "pages", "commits")
"""What a name may name: a chunk or a document, a page of the table, a commit."""

_FORMAT = 1
_NAME = re.compile(r"[0-9]{8}T[0-9]{12}Z-[0-9a-f]{16}/[0-9a-f]{24}")
_STAMP = re.compile(r"[0-9]{8}T[0-9]{12}Z")
_LARGEST = 2**63


class ValueRef(NamedTuple):
    """A stored value: its name and its length in bytes."""

    name: str
    size: int


Changes: TypeAlias = "Mapping[str, ValueRef | None]"
"""New values by key; None erases the key."""


class PageRef(NamedTuple):
    """A page of the table: its first key, its name, and how many keys it has."""

    first: str
    name: str
    length: int


@dataclass(frozen=True, slots=True)
class ArrayVersion:
    """One version of an array."""

    number: int
    """0 for the new array, and one more with each commit."""
    message: str
    """The text that was given to `commit`."""
    time: datetime | None
    """The time of the commit by the clock of the writer; None for version 0."""


@dataclass(frozen=True, slots=True)
class Commit:
    """The record of a version."""

    number: int
    name: str
    """Empty for version 0, which has no record."""
    parent: str | None = None
    """The name of the previous commit; None if that is version 0."""
    jump: tuple[int, str] | None = None
    """The number and the name of an earlier commit, so that finding one takes few requests."""
    message: str = ""
    time: str = ""
    document: ValueRef | None = None
    """None for version 0, whose document is the one that lies outside the records."""
    pages: tuple[PageRef, ...] = ()

    @property
    def version(self) -> ArrayVersion:
        """What users see of it."""
        return ArrayVersion(self.number, self.message, stamp_time(self.time) if self.time else None)


EMPTY = Commit(0, "", message="created")
"""Version 0: the array as it was created."""


@dataclass(frozen=True, slots=True)
class Head:
    """What the head says: the newest version, the oldest one that is kept, and the fence of the last pruning."""

    number: int = 0
    commit: str = ""
    oldest: int = 0
    fence: str = ""
    """A time. A session that started before it may not commit, because its values may have been erased."""


# -- times and names


def stamp(time: datetime) -> str:
    """A time as text of fixed length, so that texts sort as times do."""
    return f"{time.astimezone(UTC):%Y%m%dT%H%M%S%f}Z"


def stamp_time(text: str) -> datetime:
    """The time of a stamp."""
    return datetime.strptime(text, "%Y%m%dT%H%M%S%fZ").replace(tzinfo=UTC)


def new_session() -> str:
    """The name of a new session: the current time, and a random number."""
    return f"{stamp(datetime.now(UTC))}-{secrets.token_hex(8)}"


def session_time(name: str) -> str:
    """The stamp in the name of a session, or of a value that it wrote."""
    return name.partition("-")[0]


def new_name(session: str) -> str:
    """The name of a new value of a session. It is random, so that copies of a session in other processes differ."""
    return f"{session}/{secrets.token_hex(12)}"


# -- JSON


def dump_head(head: Head) -> bytes:
    return _json.dump(
        {
            "format": _FORMAT,
            "number": head.number,
            "commit": head.commit or None,
            "oldest": head.oldest,
            "fence": head.fence or None,
        }
    )


def parse_head(data: Buffer, what: str, limit: int) -> Head:
    """The head; MetadataError if it is invalid."""
    problems = Problems()
    document = _object(data, what, limit, problems)
    number = _number(document, "number", problems)
    oldest = _number(document, "oldest", problems)
    commit = _name(document.get("commit"), "$.commit", problems, optional=True)
    fence = document.get("fence")
    if fence is not None and not _is_stamp(fence):
        problems.expected("$.fence", "a time such as 20260101T000000000000Z, or null", fence)
    if oldest > number:
        problems.add("$.oldest", f"is {oldest}, but the newest version is {number}")
    if (commit is None) != (number == 0):
        problems.add("$.commit", "must be null for version 0, and the name of a commit for all others")
    _raise(problems, what)
    return Head(number, commit or "", oldest, fence or "")


def dump_commit(commit: Commit) -> bytes:
    return _json.dump(
        {
            "format": _FORMAT,
            "number": commit.number,
            "parent": commit.parent,
            "jump": None if commit.jump is None else list(commit.jump),
            "message": commit.message,
            "time": commit.time,
            "document": None if commit.document is None else list(commit.document),
            "pages": [list(page) for page in commit.pages],
        },
        indent=None,
    )


def parse_commit(data: Buffer, name: str, what: str, limit: int) -> Commit:
    """The commit of this name; MetadataError if it is invalid."""
    problems = Problems()
    document = _object(data, what, limit, problems)
    number = _number(document, "number", problems)
    parent = _name(document.get("parent"), "$.parent", problems, optional=True)
    if number == 0 or (parent is None) != (number == 1):
        problems.add(
            "$.parent", f"must be null for version 1, and the name of a commit for later ones (this: {number})"
        )
    jump = document.get("jump")
    if jump is not None and not (
        isinstance(jump, list) and len(jump) == 2 and is_integer(jump[0]) and 0 < jump[0] < number and _is_name(jump[1])
    ):
        problems.expected("$.jump", "the number and the name of an earlier commit, or null", jump)
    message, time = document.get("message"), document.get("time")
    if not isinstance(message, str):
        problems.expected("$.message", "text", message)
    if not _is_stamp(time):
        problems.expected("$.time", "a time such as 20260101T000000000000Z", time)
    _raise(problems, what)
    value = document.get("document")
    if value is not None and not _is_entry(value):
        problems.expected("$.document", "the name and the length of a value, or null", value)
    pages = _parse_pages(document.get("pages"), problems)
    _raise(problems, what)
    return Commit(
        number,
        name,
        parent,
        None if jump is None else (jump[0], jump[1]),
        str(message),
        str(time),
        None if value is None else ValueRef(*value),
        pages,
    )


def _parse_pages(items: Json, problems: Problems) -> tuple[PageRef, ...]:
    if not isinstance(items, list):
        problems.expected("$.pages", "a list", items)
        return ()
    pages: list[PageRef] = []
    for index, item in enumerate(items):
        if not (
            isinstance(item, list)
            and len(item) == 3
            and isinstance(item[0], str)
            and _is_name(item[1])
            and is_integer(item[2])
            and 0 < item[2] < _LARGEST
        ):
            problems.expected(f"$.pages[{index}]", "a first key, a name and a count", item)
            return ()
        if pages and pages[-1].first >= item[0]:
            problems.add(f"$.pages[{index}]", "the pages are not in the order of their keys")
            return ()
        pages.append(PageRef(*item))
    return tuple(pages)


def dump_page(entries: Mapping[str, ValueRef]) -> bytes:
    """A page of the table; its keys must be in order."""
    return _json.dump([[key, entry.name, entry.size] for key, entry in entries.items()], indent=None)


def parse_page(data: Buffer, page: PageRef, what: str, limit: int) -> dict[str, ValueRef]:
    """The entries of a page, in the order of their keys; MetadataError if it is invalid."""
    items = _json.parse(data, what, limit=limit)
    if not isinstance(items, list) or len(items) != page.length:
        raise MetadataError(f"{what}: expected a list of {page.length} entries")
    entries: dict[str, ValueRef] = {}
    last = ""
    for index, item in enumerate(items):
        if not (isinstance(item, list) and len(item) == 3 and isinstance(item[0], str) and _is_entry(item[1:])):
            raise MetadataError(f"{what}: entry {index}: expected a key, a name and a length")
        key = item[0]
        try:
            check_key(key)
        except InvalidKeyError:
            raise MetadataError(f"{what}: entry {index}: {key!r} is not a valid key") from None
        if (key <= last if index else key != page.first) or key.startswith(AREA):
            raise MetadataError(f"{what}: entry {index}: the key {key!r} is out of order")
        entries[key] = ValueRef(item[1], item[2])
        last = key
    return entries


def _object(data: Buffer, what: str, limit: int, problems: Problems) -> dict[str, Json]:
    document = _json.parse(data, what, limit=limit)
    if not isinstance(document, dict):
        raise MetadataError(f"{what}: expected an object, found {_json.describe(document)}")
    if document.get("format") != _FORMAT or not is_integer(document["format"]):
        problems.expected("$.format", f"{_FORMAT}", document.get("format"))
    return document


def _number(document: dict[str, Json], member: str, problems: Problems) -> int:
    value = document.get(member)
    if is_integer(value) and 0 <= value < _LARGEST:
        return value
    problems.expected(f"$.{member}", "an integer of at least 0", value)
    return 0


def _name(value: Json, path: str, problems: Problems, *, optional: bool) -> str | None:
    if _is_name(value):
        return str(value)
    if value is not None or not optional:
        problems.expected(path, "the name of a stored record", value)
    return None


def _is_name(value: Json) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _is_stamp(value: Json) -> bool:
    if not isinstance(value, str) or not _STAMP.fullmatch(value):
        return False
    try:
        stamp_time(value)
    except ValueError:
        return False
    return True


def _is_entry(value: Json) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and _is_name(value[0])
        and is_integer(value[1])
        and 0 <= value[1] < _LARGEST
    )


def _raise(problems: Problems, what: str) -> None:
    if problems:
        raise MetadataError(f"{what} is invalid", problems.found)
