"""What comes of handing arrays to a peer: nothing but equal arrays and known gaps, or the test fails."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import pytest

from tests.interop.cases import Cell, same
from tests.interop.known_differences import DIFFERS, Action, Gap, gap
from tests.peers import Peer, PeerError, Unsupported

__all__ = ["judge", "need", "reads"]


def need(peer: Peer, library: str) -> None:
    """Skips the test where the library is not installed."""
    if library not in peer.libraries:
        pytest.skip(f"{library} is not installed: {peer.environment.missing[library]}")


def judge(
    library: str, action: Action, cells: Iterable[Cell], handed: Callable[[Cell], bool], *, few: int | None = None
) -> None:
    """Fails if anything goes wrong that is no known gap of the library; skips if it can do nothing of all that, or of
    the first `few`.

    `handed` hands over one array, says whether it arrived as it was, and lets the complaints of the peer pass.
    """
    unknown: list[str] = []
    known: list[Gap] = []
    done = 0
    for cell in cells:
        if len(known) == few and not done and not unknown:
            break
        try:
            complaint = None if handed(cell) else DIFFERS
        except (Unsupported, PeerError) as error:
            complaint = str(error)
        if complaint is None:
            done += 1
        elif (found := gap(library, action, cell, complaint)) is not None:
            known.append(found)
        else:
            unknown.append(f"{cell.name}: {complaint}")
    assert not unknown, f"{library} cannot {action} {len(unknown)} arrays\n\n" + "\n".join(unknown)
    if not done:
        pytest.skip("; ".join(sorted({found.reason for found in known})))


def reads(peer: Peer, library: str, place: str | os.PathLike[str], cell: Cell) -> bool:
    """Whether the library reads the array at `place` as it should be."""
    return same(peer.read(library, place), cell.data)
