"""Exchanges arrays with a peer: a test fails unless the arrays are equal or the difference is known."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import pytest

from tests.interop.cases import Case, same
from tests.interop.known_differences import DIFFERS, Action, KnownDifference, known_difference
from tests.peers import Peer, PeerError, Unsupported

__all__ = ["judge", "need", "reads"]


def need(peer: Peer, library: str) -> None:
    """Skips the test if the library is not installed."""
    if library not in peer.libraries:
        pytest.skip(f"{library} is not installed: {peer.environment.missing[library]}")


def judge(
    library: str, action: Action, cases: Iterable[Case], exchange: Callable[[Case], bool], *, few: int | None = None
) -> None:
    """Fails on any error that is not a known difference of the library; skips if the library supports none of the
    cases, or none of the first `few`.

    `exchange` hands over one array, and returns whether it arrived unchanged; errors of the peer pass through.
    """
    unknown: list[str] = []
    known: list[KnownDifference] = []
    done = 0
    for case in cases:
        if len(known) == few and not done and not unknown:
            break
        try:
            complaint = None if exchange(case) else DIFFERS
        except (Unsupported, PeerError) as error:
            complaint = str(error)
        if complaint is None:
            done += 1
        elif (difference := known_difference(library, action, case, complaint)) is not None:
            known.append(difference)
        else:
            unknown.append(f"{case.name}: {complaint}")
    assert not unknown, f"{library} cannot {action} {len(unknown)} arrays\n\n" + "\n".join(unknown)
    if not done:
        pytest.skip("; ".join(sorted({difference.reason for difference in known})))


def reads(peer: Peer, library: str, path: str | os.PathLike[str], case: Case) -> bool:
    """Whether the library reads the array at `path` correctly."""
    return same(peer.read(library, path), case.data)
