"""Verbs of a contract, and methods that forward them to another object of the same contract.

A contract marks its methods with `verb`. The class decorator `forwards` makes a wrapper from these marks: each verb
calls the same verb of `inner`, with the keys of `inner`. A new verb of the contract is forwarded without a line in the
wrapper.
"""

from __future__ import annotations

from abc import update_abstractmethods
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar

__all__ = ["Verb", "forwards", "verb", "verbs"]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

_MARK = "_verb"


class Verb(NamedTuple):
    """What a contract says about one of its methods."""

    argument: str
    """The name of the first parameter, which holds the keys; empty if there is none."""
    writes: bool
    """Whether it changes values."""
    fallback: str | None
    """The verb that its default implementation calls."""


def verb(*, writes: bool = False, fallback: str | None = None) -> Callable[[F], F]:
    """Mark a method of a contract as a verb. The name of its first parameter says how it passes keys."""

    def mark(method: F) -> F:
        code = method.__code__
        argument = code.co_varnames[1] if code.co_argcount > 1 else ""
        if argument not in _INNER_KEYS:
            raise TypeError(f"`{method.__name__}`: a verb has no parameter or one of {', '.join(_INNER_KEYS)} first")
        setattr(method, _MARK, Verb(argument, writes, fallback))
        return method

    return mark


def verbs(contract: type) -> dict[str, Verb]:
    """The verbs of a contract by name, in the order of their definition."""
    return {name: getattr(method, _MARK) for name, method in vars(contract).items() if hasattr(method, _MARK)}


def forwards(wrapper: type[T]) -> type[T]:
    """Define each verb that the class does not define itself: it calls the same verb of `self.inner`.

    `self._inner_key` gives the keys of `inner`; None if they are the same. A verb that writes calls
    `self.check_writable` first.
    """
    for contract in wrapper.__mro__[1:]:
        for name, mark in verbs(contract).items():
            if name not in vars(wrapper):
                setattr(wrapper, name, wraps(getattr(contract, name), updated=())(_forward(name, mark)))
    return update_abstractmethods(wrapper)


def _forward(name: str, mark: Verb) -> Callable[..., Any]:
    argument, writes, _ = mark
    with_inner_keys = _INNER_KEYS[argument]

    def forward_key(self: Any, key: str, *rest: Any, **options: Any) -> Any:
        if writes:
            self.check_writable()
        inner_key = self._inner_key
        return getattr(self.inner, name)(key if inner_key is None else inner_key(key), *rest, **options)

    def forward(self: Any, *arguments: Any, **options: Any) -> Any:
        if writes:
            self.check_writable()
        inner_key = self._inner_key
        if inner_key is not None:
            first, *rest = arguments or (options.pop(argument),)
            arguments = (with_inner_keys(inner_key, first), *rest)
        return getattr(self.inner, name)(*arguments, **options)

    return forward_key if argument == "key" else forward


_InnerKey: TypeAlias = Callable[[str], str]


def _of_keys(inner_key: _InnerKey, keys: Iterable[str]) -> list[str]:
    return [inner_key(key) for key in keys]


def _of_items(inner_key: _InnerKey, items: Iterable[tuple[Any, ...]]) -> Iterable[tuple[Any, ...]]:
    return ((inner_key(key), *rest) for key, *rest in items)  # lazily: an item may be a value of many bytes


def _of_requests(inner_key: _InnerKey, requests: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(inner_key(key), *rest) for key, *rest in requests]


def _of_rows(inner_key: _InnerKey, rows: Iterable[tuple[str, Sequence[str]]]) -> list[tuple[str, Sequence[str]]]:
    return [(inner_key(start + end), ("",)) for start, ends in rows for end in ends]


def _not_mapped(inner_key: _InnerKey, keys: object) -> NoReturn:
    raise NotImplementedError  # a wrapper with other keys lists them itself


_INNER_KEYS: dict[str, Callable[[_InnerKey, Any], Any]] = {
    "": _not_mapped,
    "key": lambda inner_key, key: inner_key(key),
    "keys": _of_keys,
    "items": _of_items,
    "requests": _of_requests,
    "rows": _of_rows,
    "prefix": _not_mapped,
}
"""By the name of the parameter: an argument with the keys of the inner object."""
