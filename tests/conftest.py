"""Shared setup: hypothesis profiles, the handler of Ctrl-C, and fixtures for peers."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.peers import Peer
from tests.peers.environments import find

# "quick" runs the same few examples every time, so failures are reproducible and the suite stays fast.
# `HYPOTHESIS_PROFILE=long` searches for new examples. Neither has a deadline, because machines differ in speed.
settings.register_profile("quick", max_examples=25, derandomize=True, deadline=None, database=None)
settings.register_profile(
    "long",
    max_examples=1000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

# On a busy machine the workers of a cluster of dask need longer than its 30 seconds to start.
os.environ.setdefault("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "120s")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # set by shells for background jobs
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _peer(name: str) -> Iterator[Peer]:
    environment = find(name)
    if environment is None:
        pytest.skip(f"the environment `{name}` of other implementations is not installed; run `make peers`")
    with Peer(environment) as peer:
        if not peer.libraries:
            pytest.skip("; ".join(f"{library}: {reason}" for library, reason in environment.missing.items()))
        yield peer


@pytest.fixture(scope="session")
def zarr3_peer() -> Iterator[Peer]:
    """Those of zarr-python 3, zarrs, TensorStore and zarrista that are installed."""
    yield from _peer("zarr3")


@pytest.fixture(scope="session")
def zarr2_peer() -> Iterator[Peer]:
    """zarr-python 2."""
    yield from _peer("zarr2")


@pytest.fixture(scope="session")
def z5_peer() -> Iterator[Peer]:
    """z5py, for N5."""
    yield from _peer("z5")


@pytest.fixture(scope="session")
def zarr1_peer() -> Iterator[Peer]:
    """zarr-python 1."""
    yield from _peer("zarr1")
