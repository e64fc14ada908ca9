"""Keys, native paths and `file:` URLs, turned into each other without touching a file system."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from omnizarr._fork import import_library
from omnizarr.errors import InvalidKeyError, LocationError
from omnizarr.store.contract import check_key
from omnizarr.store.local.temp_names import is_temporary

__all__ = ["check_native", "key_to_path", "path_to_url", "url_to_path"]

if TYPE_CHECKING:
    from pathlib import PurePath  # lazy import: it takes 3 ms, and few programs give a URL

P = TypeVar("P", bound="PurePath")

_WINDOWS_CHARACTERS = r'[<>:"|?*\\\x00-\x1f]'
# Devices, whatever follows the first dot, and whether or not spaces stand before it.
_WINDOWS_DEVICES = r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9¹²³]) *(?:\..*)?"


def check_native(key: str, *, windows: bool) -> None:
    """Rejects well-formed keys that the file system could not hold, or would hold under another name."""
    for segment in key.split("/"):
        if is_temporary(segment):
            reason = "is kept for files that are being written"
        elif not windows:
            continue
        elif re.search(_WINDOWS_CHARACTERS, segment):
            reason = "has a character that Windows forbids in file names"
        elif re.fullmatch(_WINDOWS_DEVICES, segment, re.IGNORECASE):
            reason = "is the name of a device on Windows"
        elif segment.endswith((".", " ")):
            reason = "ends in a dot or a space, which Windows drops"
        else:
            continue
        raise InvalidKeyError(f"`{key}` cannot be a file: `{segment}` {reason}", key=key)


def key_to_path(key: str, root: P) -> P:
    """The path of `key` under `root`, by the rules of the kind of path that `root` is (R118)."""
    check_key(key)
    check_native(key, windows=isinstance(root, import_library("pathlib").PureWindowsPath))
    return root.joinpath(*key.split("/"))


def path_to_url(path: PurePath) -> str:
    """The `file:` URL of an absolute path (RFC 8089, R117)."""
    quote = import_library("urllib.parse").quote
    text = quote(path.as_posix().encode("utf-8", "surrogateescape"), safe="/:" if path.drive else "/")
    if text.startswith("//") and path.drive:
        return f"file:{text}"  # a share: its host is the URL's
    return f"file:///{text.lstrip('/')}"


def url_to_path(url: str, kind: type[P]) -> P:
    """The path that a `file:` URL names (RFC 8089, R117)."""
    library = import_library("urllib.parse")
    try:
        parts = library.urlsplit(url)
    except ValueError as error:
        raise LocationError(f"cannot use the URL `{url}`: {error}", url=url) from None
    windows = issubclass(kind, import_library("pathlib").PureWindowsPath)
    host = "" if parts.netloc == "localhost" else parts.netloc
    if "@" in host:  # which is not repeated
        raise LocationError("cannot use this `file://` address: a file has no user and no password")
    text = library.unquote_to_bytes(parts.path).decode("utf-8", "surrogateescape")
    if parts.scheme != "file":
        reason = "expected a URL that starts with `file:`"
    elif parts.query or parts.fragment:
        reason = "a file URL has no query and no fragment; write `?` as `%3F` and `#` as `%23`"
    elif not text.startswith("/") or "\0" in text:
        reason = "expected an absolute path"
    elif host and not windows:
        reason = f"`{host}` is another host; a file of this one is written `file:///path`"
    else:
        if windows and re.match(r"/[A-Za-z]:", text):
            text = text[1:]
        return kind(f"//{host}{text}" if host else text)
    raise LocationError(f"cannot use the URL `{url}`: {reason}", url=url)
