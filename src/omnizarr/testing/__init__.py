"""For the tests of people who write extensions or use stores: suites that every store, codec and data type must pass,
and stores that record, dawdle and fail. Nothing in omnizarr imports this package, and only the suites need pytest."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnizarr.testing.faulty import Fault, FaultyStore
from omnizarr.testing.recording import Call, RecordingStore
from omnizarr.testing.requests import RequestStore
from omnizarr.testing.slow import SlowStore

if TYPE_CHECKING:
    from omnizarr.testing.codecs import CodecSuite
    from omnizarr.testing.data_types import DataTypeSuite
    from omnizarr.testing.stores import StoreSuite

__all__ = [
    "Call",
    "CodecSuite",
    "DataTypeSuite",
    "Fault",
    "FaultyStore",
    "RecordingStore",
    "RequestStore",
    "SlowStore",
    "StoreSuite",
]

_SUITES = {
    "CodecSuite": ("codecs", "values", "hostile"),
    "DataTypeSuite": ("data_types", "values", "hostile"),
    "StoreSuite": ("stores", "store_basics"),
}
"""Where each suite is, and what else holds tests of it."""


def __getattr__(name: str) -> Any:
    if name not in _SUITES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import pytest

    modules = [f"{__name__}.{module}" for module in _SUITES[name]]
    new = [module for module in modules if module not in sys.modules]
    pytest.register_assert_rewrite(*new)  # so that a failed test shows the values it compared
    suite = globals()[name] = getattr(import_module(modules[0]), name)
    return suite


def __dir__() -> list[str]:
    return list(__all__)
