"""`Numcodec`: the protocol of codecs of numcodecs."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Numcodec"]


@runtime_checkable
class Numcodec(Protocol):
    """A codec of numcodecs."""

    codec_id: Any

    def encode(self, buf: Any) -> Any: ...
    def decode(self, buf: Any, out: Any = None) -> Any: ...
    def get_config(self) -> Any: ...
    @classmethod
    def from_config(cls, config: Any) -> Any: ...


def _is_numcodec(obj: object) -> bool:
    return all(hasattr(obj, name) for name in ("codec_id", "encode", "decode", "get_config"))


def _is_numcodec_cls(obj: object) -> bool:
    return isinstance(obj, type) and _is_numcodec(obj)
