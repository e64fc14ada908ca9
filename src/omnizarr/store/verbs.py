"""Verbs of a contract, and methods that forward them to another object of the same contract.

A contract marks its methods with `verb`. The class decorator `forwards` makes a wrapper from these marks: each verb
calls the same verb of `inner`, with the prefix of the wrapper in front of every key. A new verb of the contract is
forwarded without a line in the wrapper.
"""

from __future__ import annotations

from abc import update_abstractmethods
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Literal, NamedTuple, TypeVar

from omnizarr.store.values import check_prefix

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
    answers: Literal["keys", "children"] | None
    """What it returns, if that contains keys: keys, or the keys and the prefixes directly below one."""


def verb(
    *, writes: bool = False, fallback: str | None = None, answers: Literal["keys", "children"] | None = None
) -> Callable[[F], F]:
    """Mark a method of a contract as a verb. The name of its first parameter says how it passes keys."""

    def mark(method: F) -> F:
        code = method.__code__
        argument = code.co_varnames[1] if code.co_argcount > 1 else ""
        if argument not in _UNDER:
            raise TypeError(f"`{method.__name__}`: a verb has no parameter or one of {', '.join(_UNDER)} first")
        setattr(method, _MARK, Verb(argument, writes, fallback, answers))
        return method

    return mark


def verbs(contract: type) -> dict[str, Verb]:
    """The verbs of a contract by name, in the order of their definition."""
    return {name: getattr(method, _MARK) for name, method in vars(contract).items() if hasattr(method, _MARK)}


def forwards(wrapper: type[T]) -> type[T]:
    """Define each verb that the class does not define itself: it calls the same verb of `self.inner`, with
    `self._prefix` in front of each key. A verb that writes calls `self.check_writable` first."""
    for contract in wrapper.__mro__[1:]:
        for name, mark in verbs(contract).items():
            if name not in vars(wrapper):
                setattr(wrapper, name, wraps(getattr(contract, name), updated=())(_forward(name, mark)))
    return update_abstractmethods(wrapper)


def _forward(name: str, mark: Verb) -> Callable[..., Any]:
    argument, writes, _, answers = mark

    def forward_key(self: Any, key: str, *rest: Any, **options: Any) -> Any:
        if writes:
            self.check_writable()
        return getattr(self.inner, name)(self._prefix + key, *rest, **options)

    def forward(self: Any, *given: Any, **options: Any) -> Any:
        if writes:
            self.check_writable()
        prefix = self._prefix
        if not prefix:
            return getattr(self.inner, name)(*given, **options)
        if not argument:
            # Only `list` has keys and no parameter: the keys of the wrapper are those below its prefix.
            return _without(prefix, self.inner.list_prefix(prefix), answers)
        first, *rest = given or (options.pop(argument),)
        answer = getattr(self.inner, name)(_UNDER[argument](prefix, first), *rest, **options)
        return _without(prefix, answer, answers)

    return forward_key if argument == "key" else forward


def _keys_under(prefix: str, keys: Iterable[str]) -> list[str]:
    return [prefix + key for key in keys]


def _items_under(prefix: str, items: Iterable[tuple[Any, ...]]) -> Iterable[tuple[Any, ...]]:
    return ((prefix + key, *rest) for key, *rest in items)  # lazily: an item may be a value of many bytes


def _requests_under(prefix: str, requests: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(prefix + key, *rest) for key, *rest in requests]


# An invalid key stays invalid behind a prefix, so that the inner object refuses it.
_UNDER: dict[str, Callable[[str, Any], Any]] = {
    "": lambda prefix, given: given,
    "key": lambda prefix, key: prefix + key,
    "keys": _keys_under,
    "items": _items_under,
    "requests": _requests_under,
    "rows": _requests_under,
    "prefix": lambda prefix, below: prefix + check_prefix(below),
}
"""By the name of the parameter: how keys get a prefix. A request, an item and a row start with a key."""


def _without(prefix: str, answer: Any, answers: Literal["keys", "children"] | None) -> Any:
    """An answer with the keys of the wrapper."""
    cut = len(prefix)
    if answers == "keys":
        return (key[cut:] for key in answer)
    if answers == "children":
        keys, prefixes = answer
        return [key[cut:] for key in keys], [below[cut:] for below in prefixes]
    return answer
