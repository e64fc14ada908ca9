"""Encodings of documents: JSON, and those that extensions of the drafts define."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from omnizarr import _json
from omnizarr._json import Json
from omnizarr._registry import Registry

__all__ = ["JSON", "LENIENT_JSON", "Encoding", "metadata_encodings"]


class Encoding(ABC):
    """Converts documents to bytes and back. `parse(dump(document))` equals `document`."""

    uri: ClassVar[str]
    """The member `extension` that names it in an entry point."""
    type: ClassVar[str]
    """The member `type` that names it in an entry point."""
    suffix: ClassVar[str]
    """The suffix of the keys of documents."""

    @abstractmethod
    def parse(self, data: bytes | bytearray | memoryview, what: str, *, limit: int) -> Json:
        """The document in `data`. Raises MetadataError, which calls the document `what`, if `data` is invalid or the
        document is larger than `limit` bytes."""

    @abstractmethod
    def dump(self, document: Json) -> bytes:
        """The document as bytes."""


class JsonEncoding(Encoding):
    """The default encoding of all generations."""

    uri = ""
    type = "json"
    suffix = ".json"

    def parse(self, data: bytes | bytearray | memoryview, what: str, *, limit: int) -> Json:
        return _json.parse(data, what, limit=limit)

    def dump(self, document: Json) -> bytes:
        return _json.dump(document)

    def __reduce__(self) -> str:
        return "JSON"


class _LenientEncoding(JsonEncoding):
    """JSON that may contain `NaN`: changing one attribute keeps a `NaN` that another writer stored (A60). Attributes
    that the user sets are checked earlier. The output is ASCII, because zarr-python 1 and early versions of 2 read
    nothing else."""

    def dump(self, document: Json) -> bytes:
        return _json.dump(document, allow_nan=True, ascii=True)

    def __reduce__(self) -> str:
        return "LENIENT_JSON"


JSON = JsonEncoding()
LENIENT_JSON = _LenientEncoding()


def _as_encoding(value: Any) -> Encoding:
    """Accepts an encoding or its class."""
    if isinstance(value, type) and issubclass(value, Encoding):
        value = value()
    if not isinstance(value, Encoding):
        raise TypeError(f"expected an `Encoding`, found {value!r}")
    return value


metadata_encodings: Registry[Encoding] = Registry("metadata encoding", "omnizarr.metadata_encodings", _as_encoding)
"""Encodings other than JSON, by the URI that names them in the entry point of a draft's hierarchy."""
