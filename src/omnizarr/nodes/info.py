"""`ArrayInfo`: the printable summary of an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omnizarr.nodes.array_properties import ArrayProperties

__all__ = ["ArrayInfo", "human_bytes"]


_MOST_LENGTHS = 12  # listed chunk lengths to show per dimension
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def human_bytes(count: int) -> str:
    """1536 → `1.5 KiB`"""
    unit = min(max(0, count.bit_length() - 1) // 10, len(_UNITS) - 1)
    if unit == 0:
        return f"{count} B"
    # Integer arithmetic, because sizes in metadata can exceed the range of floats.
    tenths = (10 * count + 2 ** (10 * unit - 1)) >> 10 * unit
    return f"{tenths // 10}.{tenths % 10} {_UNITS[unit]}"


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """The names and values of a summary, in display order."""

    items: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, array: ArrayProperties, stored: tuple[int, int] | None = None) -> ArrayInfo:
        """The summary of an array, with its number of stored bytes and of stored chunks if given."""
        sharded = array.metadata.sharding is not None
        stored_shape = _shape_text(array.metadata.grid.chunks)
        items: list[tuple[str, Any]] = [
            ("Name", array.name),
            ("Type", "Array"),
            ("Zarr format", array.zarr_format),
            ("Data type", array.data_type.to_json()),
            ("Shape", array.metadata.shape),
            ("Chunk shape", array.chunks if sharded else stored_shape),
        ]
        if sharded:
            items.append(("Shard shape", stored_shape))
        items.append(("Order", array.order))
        if array.dimension_names is not None:
            items.append(("Dimensions", ", ".join(str(name) for name in array.dimension_names)))
        items.append(("Fill value", "undefined" if array.metadata.fill is None else array.fill_value))
        items.append(("Read-only", array.read_only))
        items.append(("Store", repr(array.store)))
        for title, codecs in (("Filters", array.filters), ("Compressors", array.compressors)):
            if codecs:
                items.append((title, ", ".join(_codec_text(codec) for codec in codecs)))
        items.append(("Serializer", _codec_text(array.serializer)))
        items.append(("Size", f"{human_bytes(array.nbytes)} ({array.nbytes} bytes)"))
        if stored is not None:
            stored_bytes, stored_chunks = stored
            items.append(("Stored", f"{human_bytes(stored_bytes)} ({stored_bytes} bytes)"))
            if stored_bytes:
                tenths = 10 * array.nbytes // stored_bytes
                items.append(("Storage ratio", f"{tenths // 10}.{tenths % 10}"))
            items.append(("Chunks stored", f"{stored_chunks} of {array.nchunks}"))
        return cls(tuple(items))

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.items)
        return "\n".join(f"{name:<{width}} : {value}" for name, value in self.items)

    __repr__ = __str__


def _shape_text(chunks: tuple[Any, ...]) -> Any:
    """The chunk lengths, with `3×10` for three chunks of length 10, and `…` after the first 12 of a dimension."""
    if all(isinstance(lengths, int) for lengths in chunks):
        return chunks
    return f"({', '.join(map(_lengths_text, chunks))}{',' * (len(chunks) == 1)})"


def _lengths_text(lengths: int | tuple[Any, ...]) -> str:
    if isinstance(lengths, int):
        return str(lengths)
    shown = [str(item) if isinstance(item, int) else f"{item[1]}×{item[0]}" for item in lengths[:_MOST_LENGTHS]]
    rest = ["…"] * (len(lengths) > _MOST_LENGTHS)
    return f"({', '.join([*shown, *rest])})"


def _codec_text(codec: Any) -> str:
    options = ", ".join(f"{name}={value!r}" for name, value in codec.configuration().items())
    return f"{codec.name}({options})" if options else str(codec.name)
