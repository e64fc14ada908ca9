"""How documents become bytes: as JSON, or as an extension of the drafts says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from omnizarr import _json
from omnizarr._json import Json
from omnizarr._registry import Registry

__all__ = ["JSON", "LENIENT_JSON", "Encoding", "metadata_encodings"]


class Encoding(ABC):
    """Turns a document into bytes and back: `parse ∘ dump` gives the same value."""

    uri: ClassVar[str]
    """What names it in the entry point of a hierarchy, in `extension`."""
    type: ClassVar[str]
    """What names it there in `type`."""
    suffix: ClassVar[str]
    """How the keys of documents end."""

    @abstractmethod
    def parse(self, data: bytes | bytearray | memoryview, what: str, *, limit: int) -> Json:
        """The document in `data`; MetadataError, which names it as `what`, if there is none, or one of more than
        `limit` bytes."""

    @abstractmethod
    def dump(self, document: Json) -> bytes:
        """The document as bytes."""


class JsonEncoding(Encoding):
    """What all generations use."""

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
    """JSON that may hold `NaN`: attributes that a writer stored so keep it when others are changed (A60). A user's own
    attributes are checked before they come here. It is ASCII, because zarr-python 1, and 2 in its first years, reads
    nothing else."""

    def dump(self, document: Json) -> bytes:
        return _json.dump(document, allow_nan=True, ascii=True)

    def __reduce__(self) -> str:
        return "LENIENT_JSON"


JSON = JsonEncoding()
LENIENT_JSON = _LenientEncoding()


def _as_encoding(found: Any) -> Encoding:
    """An encoding, also if its class is given."""
    if isinstance(found, type) and issubclass(found, Encoding):
        found = found()
    if not isinstance(found, Encoding):
        raise TypeError(f"expected an `Encoding`, found {found!r}")
    return found


metadata_encodings: Registry[Encoding] = Registry("metadata encoding", "omnizarr.metadata_encodings", _as_encoding)
"""Other encodings, by the URI that names them in the entry point of a draft's hierarchy."""
