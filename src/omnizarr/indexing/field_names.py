"""Field names of a structured data type in a key."""

from __future__ import annotations

from typing import Any

__all__ = ["split_fields"]


def split_fields(key: Any) -> tuple[str | list[str] | None, Any]:
    """Separate field names from the rest of a key: `z["a"]`, `z["a", 0:5]` and `z[["a", "b"]]` name fields."""
    if isinstance(key, str):
        return key, ...
    if _is_field_list(key):
        return list(key), ...
    if isinstance(key, tuple):
        fields = [item for item in key if isinstance(item, str) or _is_field_list(item)]
        if fields:
            names = fields[0] if len(fields) == 1 else [name for item in fields for name in _as_list(item)]
            return names, tuple(item for item in key if not isinstance(item, str) and not _is_field_list(item))
    return None, key


def _is_field_list(item: Any) -> bool:
    return isinstance(item, list) and bool(item) and all(isinstance(name, str) for name in item)


def _as_list(item: str | list[str]) -> list[str]:
    return [item] if isinstance(item, str) else item
