"""Errors of obstore and of servers as StoreError, with a hint and without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from omnizarr.errors import OmnizarrError, StoreError

__all__ = [
    "condition_failed",
    "ignores_ranges",
    "is_forbidden",
    "lacks_suffix_ranges",
    "lost_answer",
    "may_be_stored",
    "may_pass",
    "no_panic",
    "out_of_range",
    "store_error",
    "without_secrets",
]

_STATUS = re.compile(r"status code: (\d{3})")
_QUERY = re.compile(r"\?[^\s\"'>)]*[=&][^\s\"'>)]*")
_USER = re.compile(r"//[^/\s@]*@")
_DEBUG = re.compile(r"\s*Debug source:.*", re.DOTALL)
_NO_RANGES = ("non-partial response", "CONTENT_RANGE", "Content-Range", "Range request not supported")
_CREDENTIALS = ("169.254.", "metadata", "credential", "token")


def _status(error: BaseException) -> int | None:
    match = _STATUS.search(str(error))
    return None if match is None else int(match[1])


def out_of_range(error: BaseException) -> bool:
    """Whether the range starts after the end of an existing value."""
    return _status(error) == 416 or "Wanted range starting at" in str(error)


def ignores_ranges(error: BaseException) -> bool:
    """Whether the server ignored the range, or does not say which part it sent."""
    return any(words in str(error) for words in _NO_RANGES)


def lacks_suffix_ranges(error: BaseException) -> bool:
    """Whether the server has no ranges that count from the end."""
    text = str(error)
    return type(error).__name__ == "NotSupportedError" and "suffix" in text


def is_forbidden(error: BaseException) -> bool:
    """Whether access is forbidden."""
    return type(error).__name__ == "PermissionDeniedError" or _status(error) == 403


def may_pass(error: BaseException) -> bool:
    """Whether a retry may help that obstore does not make itself: the answer broke off."""
    text = str(error)
    return _status(error) is None and any(word in text for word in ("body", "decod", "incomplete", "stream", "closed"))


def condition_failed(error: BaseException, *, created: bool) -> bool:
    """Whether the condition of a write does not hold. `created` says that it was to create the value; for another
    condition, an absent value fails, too."""
    if type(error).__name__ in ("AlreadyExistsError", "PreconditionError") or _status(error) == 412:
        return True
    return not created and isinstance(error, FileNotFoundError)


def may_be_stored(error: BaseException) -> bool:
    """Whether a write that failed may have been stored nevertheless."""
    if isinstance(error, OmnizarrError) or type(error).__name__ not in ("GenericError", "BaseError", "JoinError"):
        return False
    status = _status(error)
    return status is None or status >= 500 or status in (408, 409, 429)


def lost_answer(error: BaseException) -> bool:
    """Whether the connection broke off, or the server was silent: obstore does not repeat such a conditional write."""
    text = str(error)
    return _status(error) is None and not any(word in text for word in ("connect error", "Connect,", "dns error"))


@contextmanager
def no_panic() -> Iterator[None]:
    """Turn a panic in obstore into a RuntimeError. obstore panics on unexpected input, by a BaseException."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RuntimeError(f"the client panicked: {error}") from None


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """`text` without queries and users of URLs and without `secrets`."""
    text = _USER.sub("//", _QUERY.sub("", _DEBUG.sub("", text)))
    for secret in secrets:
        text = text.replace(secret, "…")
    return text


def store_error(error: BaseException, action: str, store: str, key: str | None, secrets: Iterable[str]) -> StoreError:
    """The error for a failed request."""
    text = " ".join(without_secrets(str(error), secrets).split())
    kind, status = type(error).__name__, _status(error)
    hint = None
    if kind == "UnauthenticatedError" or status in (400, 401):
        hint = "check the credentials and the region; `anon=True` in `storage_options` sends none"
    elif is_forbidden(error):
        hint = (
            "check the credentials, or use `anon=True` for public data; if the server answers 403 for absent keys, use "
            "`forbidden_is_absent=True`"
        )
    elif status in (429, 503):
        hint = "the server is overloaded; lower `max_concurrency` in `storage_options`"
    elif "timed out" in text or "timeout" in text.lower():
        hint = "the server is slow or cannot be reached; `timeout` in `storage_options` sets how long to wait"
    elif "allow_http" in text or "scheme is not allowed" in text:
        hint = "`allow_http=True` in `storage_options` allows connections that are not encrypted"
    elif "error sending request" in text and any(word in text for word in _CREDENTIALS):
        hint = "no credentials were found; `anon=True` in `storage_options` sends none"
    elif status is None or status >= 500:
        hint = "the server failed or cannot be reached; check the address, or try again later"
    if len(text) > 400:
        text = text[:400] + "…"
    value = f"`{key}` in {store}" if key is not None else store
    return StoreError(f"cannot {action} {value}: {text}", hint=hint, store=store, key=key)
