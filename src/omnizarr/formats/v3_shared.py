"""What the elements and chunks of a v3 array are, which many arrays have in common: parsed once for all that are alike.

A hierarchy may hold thousands of arrays, and their documents differ in shapes and attributes, hardly in the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from omnizarr._extension import call_extension
from omnizarr._json import Json, Problems
from omnizarr._registry import Registry
from omnizarr.chunk_keys import ChunkKeys, parse_chunk_keys
from omnizarr.codecs import ArrayCodec, Bytes, Chain, Codec, parse_codecs
from omnizarr.dtypes import DataType, Scalar, parse_data_type
from omnizarr.formats.zarr_python_types import is_structured, parse_packed_fill, with_byte_order

__all__ = ["Parts", "parse_parts"]

_MEMBERS = ("data_type", "fill_value", "chunk_key_encoding", "codecs")
_MOST_KINDS = 64  # of arrays that are kept; few hierarchies have more than ten
_LONGEST = 4096  # characters; longer ones are seldom met twice


@dataclass(frozen=True, slots=True)
class Parts:
    """Those members of a document; None is one that is missing or wrong."""

    data_type: DataType | None
    fill: Scalar | None
    keys: ChunkKeys | None
    codecs: tuple[Codec, ...] | None
    chains: dict[tuple[int, ...], Chain] = field(default_factory=dict)
    """The codecs, bound to the shapes of chunks that were met."""

    @property
    def lasting(self) -> bool:
        """Whether arrays may share them: nothing is missing, and no user can change the fill value in place."""
        if self.data_type is None or self.fill is None or self.keys is None or self.codecs is None:
            return False
        return self.data_type.dtype.kind in "biufc"


_known: dict[tuple[int | None, int, str], Parts] = {}


def parse_parts(document: dict[str, Json], rank: int | None, problems: Problems) -> Parts:
    """The parts of an array of that rank, perhaps from another document that says the same."""
    spelled = repr([document.get(name) for name in _MEMBERS])  # tells 1, 1.0 and true apart
    if len(spelled) > _LONGEST:
        return _parse(document, rank, problems)
    kind = (rank, Registry.changes, spelled)
    parts = _known.get(kind)
    if parts is None:
        before = len(problems.found), len(problems.warnings)
        parts = _parse(document, rank, problems)
        if parts.lasting and (len(problems.found), len(problems.warnings)) == before:
            if len(_known) >= _MOST_KINDS:
                _known.clear()
            _known[kind] = parts
    return parts


def _parse(document: dict[str, Json], rank: int | None, problems: Problems) -> Parts:
    data_type: DataType | None = None
    keys: ChunkKeys | None = None
    fill: Scalar | None = None
    if "data_type" in document:
        data_type = parse_data_type(document["data_type"], "$.data_type", problems)
    if "chunk_key_encoding" in document:
        keys = parse_chunk_keys(document["chunk_key_encoding"], "$.chunk_key_encoding", problems)
    old = is_structured(document.get("data_type"))
    packed = document.get("fill_value") if old else None
    if "fill_value" in document and data_type is not None and not isinstance(packed, str):
        fill = _parse_fill(document["fill_value"], data_type, problems)
    codecs = _parse_codecs(document.get("codecs"), rank, problems)
    if old and codecs is not None and data_type is not None:
        codecs = with_byte_order(codecs, data_type, problems)
        if isinstance(packed, str):
            fill = parse_packed_fill(packed, codecs, data_type, "$.fill_value", problems)
    return Parts(data_type, fill, keys, codecs)


def _parse_fill(value: Json, data_type: DataType, problems: Problems) -> Scalar | None:
    """Null is what GDAL writes where no value stands for missing data, and zarrita.js where it is not told any; nobody
    can have meant another value by it than readers choose (A6)."""
    if value is None:
        problems.warn("$.fill_value", "null is read as the default fill value")
        return data_type.default_fill()
    return call_extension("data type", data_type.name, "$.fill_value", problems, data_type.parse_fill, value)


def _parse_codecs(found: Json, rank: int | None, problems: Problems) -> tuple[Codec, ...] | None:
    """The codecs; without any, elements lie there as they are. Until July 2023 documents could say so by leaving them
    out (§1.7), and GDAL did."""
    before = len(problems.found)
    if found is None or found == []:
        problems.warn("$.codecs", "there are none: `bytes` is assumed, little-endian")
        found = [Bytes("little").to_json()]
    codecs = parse_codecs(found, "$.codecs", problems)
    if len(problems.found) > before:
        return None
    if rank is None:
        return codecs
    return tuple(codec.resolved(rank) if isinstance(codec, ArrayCodec) else codec for codec in codecs)
