"""Bytes as documents spell them in text."""

from __future__ import annotations

import base64
import binascii

from omnizarr._json import Json

__all__ = ["from_base64"]


def from_base64(value: Json) -> bytes | None:
    """The bytes that a JSON value spells in base64; None if it is no such text."""
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return None
