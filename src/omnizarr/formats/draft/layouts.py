"""The member `chunk_memory_layout` of the drafts of v3: C, F, or an extension with a URI (S23, T11)."""

from __future__ import annotations

from collections.abc import Sequence

from omnizarr._extension import call_extension
from omnizarr._json import Json, Problems
from omnizarr._registry import Registry, subclass_of
from omnizarr.codecs import ArrayCodec, Codec, Transpose
from omnizarr.formats.v1_v2_parse import order_codecs

__all__ = ["chunk_memory_layouts", "parse_layout", "split_layout"]

chunk_memory_layouts: Registry[type[ArrayCodec]] = Registry(
    "chunk memory layout", "omnizarr.chunk_memory_layouts", subclass_of(ArrayCodec)
)
"""Element orders other than C and F, by the URI of their specification. Each is an array → array codec; its `parse`
receives the members `type` and `configuration`."""


def parse_layout(layout: Json, shape: tuple[int, ...] | None, problems: Problems) -> tuple[Codec, ...] | None:
    """The codecs for the element order: none for C, otherwise one."""
    if layout in ("C", "F"):
        return order_codecs(layout, len(shape or ()))
    uri = layout.get("extension") if isinstance(layout, dict) else None
    if not isinstance(uri, str):
        problems.expected("$.chunk_memory_layout", '"C", "F" or an object with an `extension`', layout, rule="S23")
        return None
    known = chunk_memory_layouts.get(uri)
    if known is None:  # S23: must be understood
        problems.unknown(
            "$.chunk_memory_layout.extension", "chunk memory layout", uri, chunk_memory_layouts.names(), rule="S23"
        )
        return None
    configuration = {name: value for name, value in layout.items() if name in ("type", "configuration")}
    codec = call_extension("chunk memory layout", uri, "$.chunk_memory_layout", problems, known.parse, configuration)
    return None if codec is None else (codec,)


def split_layout(codecs: Sequence[Codec]) -> tuple[Json, tuple[Codec, ...]]:
    """The member `chunk_memory_layout`, and the codecs that it does not express. A third-party codec is a layout only
    if it is registered as one: the member `codecs` can hold array → array codecs, too."""
    first, rest = codecs[0], tuple(codecs[1:])
    if type(first) is Transpose and first.order in ("F", tuple(reversed(range(len(first.order))))):
        return "F", rest
    if isinstance(first, ArrayCodec) and chunk_memory_layouts.get(first.name) is type(first):
        return {"extension": first.name, **first.configuration()}, rest
    return "C", tuple(codecs)
