"""The configuration of types whose elements have a fixed number of bytes: `{"length_bytes": 12}`."""

from __future__ import annotations

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, is_integer
from omnizarr.dtypes.contract import LARGEST_ITEM

__all__ = ["read_length"]


def read_length(configuration: dict[str, Json], path: str, problems: Problems, *, unit: int = 1) -> int | None:
    """How many bytes, a multiple of `unit`; None, and what is wrong."""
    before = len(problems.found)
    check_members(configuration, ("length_bytes",), f"{path}.configuration", problems)
    size = configuration.get("length_bytes")
    if not is_integer(size) or not 0 < size <= LARGEST_ITEM or size % unit:
        number = f"a multiple of {unit}" if unit > 1 else "an integer"
        problems.expected(f"{path}.configuration.length_bytes", f"{number} from {unit} to {LARGEST_ITEM}", size)
        return None
    return size if len(problems.found) == before else None
