"""For the tests of people who write or use stores: a suite that every store must pass, and stores that record, dawdle
and fail. Nothing in omnizarr imports this package, and only `StoreSuite` needs pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnizarr.testing.faulty import Fault, FaultyStore
from omnizarr.testing.recording import Call, RecordingStore
from omnizarr.testing.requests import RequestStore
from omnizarr.testing.slow import SlowStore

if TYPE_CHECKING:
    from omnizarr.testing.suite import StoreSuite

__all__ = ["Call", "Fault", "FaultyStore", "RecordingStore", "RequestStore", "SlowStore", "StoreSuite"]


def __getattr__(name: str) -> Any:
    if name == "StoreSuite":
        import pytest

        pytest.register_assert_rewrite("omnizarr.testing.suite")  # so that a failed test shows the values it compared
        from omnizarr.testing.suite import StoreSuite

        return StoreSuite
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
