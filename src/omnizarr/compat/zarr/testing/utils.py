"""Marks and comparisons for tests."""

from __future__ import annotations

from typing import Any

__all__ = ["assert_bytes_equal", "gpu_test"]


def assert_bytes_equal(b1: Any, b2: Any) -> None:
    """Raises unless both hold the same bytes."""
    first, second = (value.to_bytes() if hasattr(value, "to_bytes") else value for value in (b1, b2))
    assert first == second


def gpu_test(func: Any) -> Any:
    """Skips a test, because omnizarr has no GPU support."""
    import pytest

    return pytest.mark.skip(reason="omnizarr has no GPU support")(func)
