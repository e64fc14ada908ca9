"""Exchange of arrays with a peer: a test fails unless the arrays are equal or the difference is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import omnizarr
from tests.interop.cases import Case, document, same
from tests.interop.known_differences import DIFFERS, Action, KnownDifference, known_difference
from tests.peers import Peer, PeerError, Unsupported

__all__ = ["judge", "need", "peer_reads", "we_read"]


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


def we_read(peer: Peer, library: str, root: Path, cases: Iterable[Case], *, few: int | None = None) -> None:
    """Checks that we read what the library writes below `root`; `few` as in `judge`."""
    need(peer, library)

    def exchange(case: Case) -> bool:
        place = root / case.name.replace("/", "slash")
        peer.write(library, place, case.data, document=document(case))
        array = omnizarr.open_array(place, mode="r")
        part = (*(slice(length // 3, length, 2) for length in case.data.shape), ...)
        return same(array[...], case.data) and same(array[part], case.data[part])

    judge(library, "write", cases, exchange, few=few)


def peer_reads(
    peer: Peer, library: str, place_of: Callable[[Case], Path], cases: Iterable[Case], *, few: int | None = None
) -> None:
    """Checks that the library reads what we write; `place_of` writes the array of a case and returns its path."""
    need(peer, library)
    judge(library, "read", cases, lambda case: same(peer.read(library, place_of(case)), case.data), few=few)
