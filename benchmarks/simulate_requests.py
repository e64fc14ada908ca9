"""Simulates reading 10⁶ chunks from an object store, without a network: `python -m benchmarks.simulate_requests`.

Each worker keeps 256 requests in flight. The time to the first byte is lognormal, and 1 request in 50 is a straggler.
Every connection has its own bandwidth. The store rejects requests above a rate with 503, and the client repeats them
after a pause that doubles. With hedging, a second request is sent for a chunk that is late, and the first answer
counts.
"""

from __future__ import annotations

import argparse
import heapq
from dataclasses import dataclass

import numpy as np

PRICE = 0.4e-6  # dollars per GET request of S3 Standard, us-east-1


@dataclass(frozen=True)
class Service:
    """An object store, as its clients see it."""

    median: float = 0.03  # seconds to the first byte
    sigma: float = 0.5  # of the logarithm
    stragglers: float = 0.02
    late: float = 2.0  # seconds that a straggler takes in addition
    bandwidth: float = 50e6  # bytes per second and connection
    rate: float = 5500.0 * 8  # requests per second: the limit of S3 for eight prefixes
    rejection: float = 0.01  # seconds until a 503


@dataclass(frozen=True)
class Outcome:
    """What reading all chunks took."""

    seconds: float
    requests: int
    rejected: int
    dollars: float
    memory: float
    """Bytes in flight per worker, at most."""


def simulate(
    chunks: int,
    workers: int,
    *,
    hedge: bool,
    nbytes: int = 2**20,
    in_flight: int = 256,
    service: Service | None = None,
    seed: int = 0,
) -> Outcome:
    """Read `chunks` chunks of `nbytes` by `workers` workers."""
    at = service or Service()
    random = np.random.default_rng(seed)
    transfer = nbytes / at.bandwidth

    def times(count: int) -> list[float]:
        drawn = at.median * np.exp(at.sigma * random.standard_normal(count))
        drawn += at.late * (random.random(count) < at.stragglers) + transfer
        return list(drawn.tolist())

    first, second = times(chunks), times(chunks)
    hedge_after = 3 * at.median * float(np.exp(at.sigma)) + transfer  # later than about 99 % of the usual answers
    pauses = random.uniform(0.5, 1.0, 2**12).tolist()
    slots = min(chunks, workers * in_flight)
    # When a slot is free, and the chunk that it then requests again; -1: the next chunk. `tries` counts rejections.
    events = [(number * 1e-6, -1, 0) for number in range(slots)]
    heapq.heapify(events)
    following = requests = rejected = 0
    end = clock = 0.0
    allowed = burst = at.rate / 10
    while events:
        now, chunk, tries = events[0]
        if chunk < 0:
            if following == chunks:
                heapq.heappop(events)
                continue
            chunk = following
            following += 1
        allowed = min(burst, allowed + (now - clock) * at.rate)
        clock = now
        requests += 1
        if allowed < 1:
            rejected += 1
            pause = 0.1 * 2 ** min(tries, 5) * pauses[requests % len(pauses)]
            heapq.heapreplace(events, (now + at.rejection + pause, chunk, tries + 1))
            continue
        allowed -= 1
        seconds = first[chunk]
        if hedge and seconds > hedge_after:
            requests += 1
            allowed -= 1
            seconds = min(seconds, hedge_after + second[chunk])
        end = max(end, now + seconds)
        heapq.heapreplace(events, (now + seconds, -1, 0))
    used = min(in_flight, -(-chunks // workers))
    return Outcome(end, requests, rejected, (requests - rejected) * PRICE, used * nbytes)


def main() -> None:
    """Print the table of docs/scale.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=10**6)
    options = parser.parse_args()
    print("| workers | hedging | seconds | requests | rejected (503) | dollars | MiB in flight per worker |")
    print("|---:|---|---:|---:|---:|---:|---:|")
    for workers in (1, 8, 64):
        for hedge in (False, True):
            found = simulate(options.chunks, workers, hedge=hedge)
            print(
                f"| {workers} | {'yes' if hedge else 'no'} | {found.seconds:,.1f} | {found.requests:,} "
                f"| {found.rejected:,} | {found.dollars:.3f} | {found.memory / 2**20:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
