"""Measures all libraries in turns, and prints lines of tables."""

from __future__ import annotations

from typing import Any

from benchmarks.peer import Peer, PeerError

OWN = "omnizarr"
HEADER = "| ms | omnizarr | best peer | best peer / omnizarr | floor |\n|---|---:|---:|---:|---:|"


def measure_all(peers: dict[str, Peer], rounds: int, action: str, **arguments: Any) -> dict[str, float]:
    """The best seconds of each library; those that fail are left out, and all must agree on the result."""
    best: dict[str, float] = {}
    results: dict[str, int] = {}
    for _ in range(rounds):
        for name, peer in peers.items():
            try:
                answer = peer.ask(action, **arguments)
            except PeerError as error:
                print(f"  {name}: {error}")
                continue
            if answer is not None:
                seconds, results[name] = answer
                best[name] = min(best.get(name, float("inf")), seconds)
    if len(set(results.values())) > 1:
        raise SystemExit(f"the libraries disagree: {results}")
    return best


def table_line(label: str, best: dict[str, float], floor: float | None = None) -> str:
    own = best.get(OWN, float("nan"))
    others = sorted((seconds, name) for name, seconds in best.items() if name != OWN)
    peer, name = others[0] if others else (float("nan"), "–")
    floor_text = "–" if floor is None else f"{floor * 1e3:.1f}"
    return f"| {label} | {own * 1e3:.1f} | {peer * 1e3:.1f} ({name}) | {peer / own:.2f} | {floor_text} |"
