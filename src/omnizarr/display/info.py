"""`NodeInfo`: the printable summary of an array or a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from omnizarr.display.texts import human_bytes, printable, shape_text

__all__ = ["NodeInfo"]


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """The names and values of a summary, in display order."""

    items: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, node: Any) -> NodeInfo:
        """The summary of an array or a group, from what the handle knows."""
        return cls.of_array(node) if hasattr(node, "shape") else cls.of_group(node)

    @classmethod
    def of_array(cls, array: Any, stored: tuple[int, int] | None = None) -> NodeInfo:
        """The summary of an array, with its number of stored bytes and of stored chunks if given."""
        sharded = array.metadata.sharding is not None
        stored_shape = shape_text(array.metadata.grid.chunks)
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

    @classmethod
    def of_group(cls, group: Any, below: Sequence[Any] | None = None) -> NodeInfo:
        """The summary of a group, with what lies below it if `below` gives all its nodes."""
        items: list[tuple[str, Any]] = [
            ("Name", group.name),
            ("Type", "Group"),
            ("Zarr format", group.zarr_format),
            ("Read-only", group.read_only),
            ("Store", repr(group.store)),
            ("Consolidated", group.consolidated),
            ("Attributes", len(group.attrs)),
        ]
        if below is not None:
            arrays = [node for node in below if hasattr(node, "shape")]
            unreadable = sum(hasattr(node, "reason") for node in below)
            size = sum(array.nbytes for array in arrays)
            items.append(("Arrays below", len(arrays)))
            items.append(("Groups below", len(below) - len(arrays) - unreadable))
            if unreadable:
                items.append(("Unreadable", unreadable))
            items.append(("Size", f"{human_bytes(size)} ({size} bytes)"))
        return cls(tuple(items))

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.items)
        return "\n".join(f"{name:<{width}} : {printable(str(value))}" for name, value in self.items)

    __repr__ = __str__

    def __rich__(self) -> Any:
        from omnizarr.display.terminal import summary_table  # lazy import: rich takes 30 ms

        return summary_table(self.items)


def _codec_text(codec: Any) -> str:
    options = ", ".join(f"{name}={value!r}" for name, value in codec.configuration().items())
    return f"{codec.name}({options})" if options else str(codec.name)
