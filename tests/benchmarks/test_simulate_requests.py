"""The simulation of requests: counts and orders of magnitude."""

from __future__ import annotations

from benchmarks.simulate_requests import PRICE, Service, simulate


def test_every_chunk_is_requested_once_without_faults() -> None:
    calm = Service(sigma=0.0, stragglers=0.0, rate=1e12)
    found = simulate(1000, 1, hedge=True, in_flight=10, service=calm)
    assert (found.requests, found.rejected) == (1000, 0)
    each = calm.median + 2**20 / calm.bandwidth
    assert abs(found.seconds - 100 * each) < each
    assert abs(found.dollars - 1000 * PRICE) < 1e-12


def test_hedging_shortens_the_tail() -> None:
    slow, hedged = (simulate(5000, 1, hedge=hedge) for hedge in (False, True))
    assert hedged.seconds < slow.seconds
    assert hedged.requests < 1.05 * slow.requests


def test_a_store_that_rejects_requests_costs_retries() -> None:
    throttled = simulate(5000, 8, hedge=False, service=Service(rate=1000.0))
    assert throttled.rejected > 0
    assert throttled.seconds > 4.5
