"""Writes the table at the end of `extensions.md`: every extension that is registered here or upstream, and what becomes
of it. `python docs/make_extensions.py` writes it anew; with `--check` it only says whether the page is up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from omnizarr._json import Problems
from omnizarr._registry import Registry
from omnizarr.chunk_keys import chunk_key_encodings
from omnizarr.codecs import ArrayCodec, Serializer, codecs
from omnizarr.codecs.numcodecs_ import PRIVATE
from omnizarr.codecs.numcodecs_.v2_ids import class_of
from omnizarr.dtypes import DataType, data_types, parse_data_type
from omnizarr.dtypes.numbers.ml_dtypes_ import is_ml_dtype
from omnizarr.dtypes.record_padding import leaf_types
from omnizarr.grids import chunk_grids
from omnizarr.store.address.containers import containers
from omnizarr.store.address.schemes import stores
from omnizarr.transformers import storage_transformers

PAGE = Path(__file__).with_name("extensions.md")
START = "<!-- made by docs/make_extensions.py -->\n"

REGISTERED = {
    "chunk-grids": "rectilinear regular",
    "chunk-key-encodings": "default v2",
    "codecs": """
        bitround blosc bytes cast_value conditional crc32c gzip n5_default packbits reshape scale_offset
        sharding_indexed transpose vlen-bytes vlen-utf8 zfp zstd
    """,
    "data-types": """
        bfloat16 bool bytes complex128 complex64 complex_bfloat16 complex_float16 complex_float32 complex_float4_e2m1fn
        complex_float64 complex_float6_e2m3fn complex_float6_e3m2fn complex_float8_e3m4 complex_float8_e4m3
        complex_float8_e4m3b11fnuz complex_float8_e4m3fnuz complex_float8_e5m2 complex_float8_e5m2fnuz
        complex_float8_e8m0fnu fixed_length_utf32 float16 float32 float4_e2m1fn float64 float6_e2m3fn float6_e3m2fn
        float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int16 int2
        int32 int4 int64 int8 numpy.datetime64 numpy.timedelta64 r string struct structured uint16 uint2 uint32 uint4
        uint64 uint8
    """,
    "storage-transformers": "",
}
"""The names of the registry of extensions, which are those of its folders."""

RAW = {"r": "r*", "raw_bytes": "raw_bytes"}
"""The names of raw bits, which no registry holds because there are so many, and how they are shown."""


ENDS = {"store": "://", "container": "::"}
"""How names end in an address."""

WITHOUT_EXTRA = ("file", "memory")
"""The schemes of stores that need no library; buckets and web addresses do."""


class Row(NamedTuple):
    """What the table says of one name."""

    name: str
    kind: str
    registered: str
    read: str
    write: str
    needs: str


def rows() -> Iterator[Row]:
    """The whole table, kind by kind."""
    kinds: tuple[tuple[str, str, Registry[Any]], ...] = (
        ("codec", "codecs", codecs),
        ("data type", "data-types", data_types),
        ("chunk grid", "chunk-grids", chunk_grids),
        ("chunk key encoding", "chunk-key-encodings", chunk_key_encodings),
        ("storage transformer", "storage-transformers", storage_transformers),
        ("store", "", stores),
        ("container", "", containers),
    )
    for what, folder, registry in kinds:
        upstream = set(REGISTERED.get(folder, "").split())
        own = {*registry.names(), *registry.aliases()}  # before anything is asked for that packages might offer
        own |= set(RAW) if what == "data type" else set()
        for name in sorted({*own, *upstream}):
            known = name in own
            shown = RAW.get(name, name) if what == "data type" else name + ENDS.get(what, "")
            yield Row(
                f"`{shown}`",
                kind(what, name) if known else what,
                "yes" if name in upstream else "",
                "yes" if known else "no",
                written(registry, what, name) if known else "no",
                needs(what, name) if known else "",
            )
        if what == "codec":
            yield from old_codecs()


def old_codecs() -> Iterator[Row]:
    """The codecs that only documents of version 2 name."""
    for id in sorted(PRIVATE):
        codec = class_of(id)
        assert codec is not None
        trusted = "if allowed" if id == "pickle" else "yes"
        yield Row(f"`{id}`", "codec of version 2", "", trusted, trusted, extra(codec.needs))


def kind(what: str, name: str) -> str:
    """What it is; of a codec, also what it takes and gives."""
    if what != "codec":
        return what
    found = codecs.get(name)
    assert found is not None
    takes = "array" if issubclass(found, (ArrayCodec, Serializer)) else "bytes"
    return f"codec, {takes} → {'array' if issubclass(found, ArrayCodec) else 'bytes'}"


def canonical(registry: Registry[Any], what: str, name: str) -> str:
    """The name that is written for what this one stands for."""
    if what == "data type" and name in RAW:
        return "r"
    codec = codecs.get(name) if what == "codec" else None
    return registry.aliases().get(name, name) if codec is None else codec.name


def written(registry: Registry[Any], what: str, name: str) -> str:
    """Whether it is written into new arrays; under which name, if this one is only read."""
    usual = canonical(registry, what, name)
    if usual != name:
        return f"as `{RAW.get(usual, usual)}`"
    if what == "codec":
        codec = codecs.get(name)
        return "yes" if codec is None or codec.only_decodes is None else "no"
    if what == "store":
        return "no" if name in ("http", "https") else "yes"
    if what == "container":
        return "no" if name == "reference" else "yes"
    found = made_of(name) if what == "data type" else None
    return "no" if found is not None and found.only_read else "yes"


def made_of(name: str) -> DataType | None:
    """The data type; None if it needs a configuration, and so is none of the small numbers."""
    return parse_data_type(name, "$", Problems())


def needs(what: str, name: str) -> str:
    """The extra that must be installed."""
    if what == "codec":
        codec = codecs.get(name)
        return extra(None if codec is None else codec.needs)
    if what == "store":
        return extra(None if name in WITHOUT_EXTRA else "obstore")
    found = made_of(name) if what == "data type" else None
    small = found is not None and any(is_ml_dtype(leaf) for _, leaf in leaf_types(found.dtype))
    return extra("ml_dtypes" if small else None)


def extra(package: str | None) -> str:
    """As the table shows what brings a package."""
    return f"`omnizarr[{package}]`" if package else ""


def page() -> str:
    """The page with a new table."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(START)
    titles = ("name", "kind", "registered", "read", "write", "needs")
    lines = [titles, ("---",) * len(titles), *rows()]
    return head + START + "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    made = page()
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if made == PAGE.read_text(encoding="utf-8") else f"{PAGE.name} is out of date: run {__file__}")
    PAGE.write_text(made, encoding="utf-8")
