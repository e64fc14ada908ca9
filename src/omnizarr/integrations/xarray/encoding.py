"""The `encoding` of a variable that was read: how its array is stored, in a form that writing it again accepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnizarr.codecs import Bytes, Transpose
from omnizarr.nodes import Array

__all__ = ["Encodings"]


class Encodings:
    """The encodings of the arrays of a group. Many arrays have the same, which is made once."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[Array, dict[str, Any]]] = {}

    def of(self, array: Array, dimensions: tuple[str, ...]) -> dict[str, Any]:
        """The chunks, shards and codecs of an array."""
        model = array.metadata
        # Parsed documents share their codecs; the array in the entry keeps the tuple, and so its identity, alive.
        key = (id(model.codecs), model.shape, dimensions, model.data_type)
        known = self._known.get(key)
        if known is None or known[0].metadata.grid != model.grid:
            known = self._known[key] = (array, _encoding_of(array, dimensions))
        encoding = known[1].copy()
        encoding["preferred_chunks"] = encoding["preferred_chunks"].copy()
        return encoding


def _encoding_of(array: Array, dimensions: Sequence[str]) -> dict[str, Any]:
    """The chunks, shards and codecs of an array. Codecs are JSON objects, which zarr-python accepts as well.

    `preferred_chunks` are the shards, if there are any: a task that reads a part of a shard fetches its index, too.
    """
    dialect = array._context.dialect
    shards = array.shards
    chunks = array.chunks
    stored = chunks if shards is None else shards
    in_order = dialect.has_order_member and array.order == "F"
    encoding: dict[str, Any] = {
        "chunks": _compact(chunks),
        "preferred_chunks": dict(zip(dimensions, _compact(stored), strict=True)),
        "shards": None if shards is None else _compact(shards),
        "compressors": tuple(dialect.codec_json(codec) for codec in array.compressors),
        "filters": tuple(
            dialect.codec_json(codec) for codec in array.filters if not (in_order and isinstance(codec, Transpose))
        ),
    }
    serializer = array.serializer
    if dialect.allows_any_filter:  # documents do not tell serializers from filters
        implied = isinstance(serializer, Bytes) or serializer.name == array.data_type.serializer
        if not implied and not serializer.private:
            encoding["filters"] = (*encoding["filters"], dialect.codec_json(serializer))
        if isinstance(serializer, Bytes) and serializer.endian == "big" and array.dtype.kind in "iufc":
            encoding["dtype"] = array.dtype.newbyteorder(">")  # in these documents the type tells the byte order
    elif not serializer.private:
        encoding["serializer"] = serializer.to_json()
    if in_order:
        encoding["order"] = "F"
    if array.dtype.kind == "T":
        encoding["dtype"] = array.dtype
    return encoding


def _compact(chunks: tuple[Any, ...]) -> tuple[Any, ...]:
    """The chunk lengths, with a single number for an axis on which all chunks but the last have the same length."""
    compact: list[Any] = []
    for lengths in chunks:
        if isinstance(lengths, int):
            compact.append(lengths)
        elif not lengths:
            compact.append(1)
        elif len(set(lengths[:-1])) <= 1 and lengths[-1] <= lengths[0]:
            compact.append(lengths[0])
        else:
            compact.append(tuple(lengths))
    return tuple(compact)
