"""Helpers for the tests of extensions and of programs: test suites that every store, codec, data type and storage
transformer must pass, and stores that record calls, delay them or fail.

Nothing in omnizarr imports this package, and only the suites need pytest.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnizarr.testing.faulty_store import Fault, FaultyStore
from omnizarr.testing.recording_store import Call, RecordingStore
from omnizarr.testing.request_store import RequestStore
from omnizarr.testing.slow_store import SlowStore

if TYPE_CHECKING:
    from omnizarr.testing.codec_suite import CodecSuite
    from omnizarr.testing.data_type_suite import DataTypeSuite
    from omnizarr.testing.store_suite import StoreSuite
    from omnizarr.testing.transformer_suite import TransformerSuite

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
    "TransformerSuite",
]

_SUITES = {
    "CodecSuite": ("codec_suite", "value_checks", "damaged_inputs"),
    "DataTypeSuite": ("data_type_suite", "value_checks", "damaged_inputs"),
    "StoreSuite": ("store_suite", "store_suite_basics"),
    "TransformerSuite": (
        "transformer_suite",
        "transformer_suite_stores",
        "store_suite",
        "store_suite_basics",
        "value_checks",
        "damaged_inputs",
    ),
}
"""The module of each suite, followed by other modules with assertions of the suite."""


def __getattr__(name: str) -> Any:
    if name not in _SUITES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import pytest

    modules = [f"{__name__}.{module}" for module in _SUITES[name]]
    new = [module for module in modules if module not in sys.modules]
    pytest.register_assert_rewrite(*new)  # makes a failed assertion show the compared values
    suite = globals()[name] = getattr(import_module(modules[0]), name)
    return suite


def __dir__() -> list[str]:
    return list(__all__)
