"""Writes the tables at the end of `extensions.md`: every extension that this package or the upstream registry knows.

`python docs/make_extensions.py` writes the tables. With `--check` it only reports whether the page is up to date.
"""

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

UPSTREAM = {
    "chunk grid": "rectilinear regular",
    "chunk key encoding": "default v2",
    "codec": """
        bitround blosc bytes cast_value conditional crc32c gzip n5_default packbits reshape scale_offset
        sharding_indexed transpose vlen-bytes vlen-utf8 zfp zstd
    """,
    "data type": """
        bfloat16 bool bytes complex128 complex64 complex_bfloat16 complex_float16 complex_float32 complex_float4_e2m1fn
        complex_float64 complex_float6_e2m3fn complex_float6_e3m2fn complex_float8_e3m4 complex_float8_e4m3
        complex_float8_e4m3b11fnuz complex_float8_e4m3fnuz complex_float8_e5m2 complex_float8_e5m2fnuz
        complex_float8_e8m0fnu fixed_length_utf32 float16 float32 float4_e2m1fn float64 float6_e2m3fn float6_e3m2fn
        float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int16 int2
        int32 int4 int64 int8 numpy.datetime64 numpy.timedelta64 r string struct structured uint16 uint2 uint32 uint4
        uint64 uint8
    """,
}
"""The names in the zarr-extensions registry: the names of its folders."""

REGISTRIES: dict[str, Registry[Any]] = {
    "codec": codecs,
    "data type": data_types,
    "chunk grid": chunk_grids,
    "chunk key encoding": chunk_key_encodings,
    "storage transformer": storage_transformers,
    "store": stores,
    "container": containers,
}

SECTIONS = {
    "Codecs": ("codec",),
    "Data types": ("data type",),
    "Chunk grids and chunk keys": ("chunk grid", "chunk key encoding"),
    "Storage transformers": ("storage transformer",),
    "Stores": ("store", "container"),
}
"""The kinds of extensions in each section."""

NOTES = {
    "Codecs": """
`sharding_indexed` may be nested, with its index at either end. Only v2 documents use the names at the end of
the table.
""",
    "Data types": """
`r*` stands for raw bits: `r8`, `r16`, `r24` and so on. v2 documents may also have records with gaps and
sub-arrays, long doubles (`<f16`, `<c32`), and Python objects.
""",
    "Chunk grids and chunk keys": """
`default` makes keys such as `c/0/1`, `v2` makes keys such as `0.1`. `fanout` is
[proposed](https://github.com/zarr-developers/zarr-extensions/pull/31) for the registry; it makes keys such as
`c/1/001/234`, so that [no directory has many entries](transformers.md#fanout).
""",
    "Storage transformers": """
The sharding of the drafts of v3, under the three names that writers use, and
[transformers of omnizarr](transformers.md), each with a name for v3 and a URI for the drafts.
""",
    "Stores": """
These names select a store in an [address](stores.md). Paths, dicts and store objects need no name.
""",
}
"""The text above each table."""

RAW = {"r": "r*", "raw_bytes": "raw_bytes"}
"""The names of raw bits, and how the table shows them. No registry holds them because they have no fixed number."""

ADDRESS_SUFFIX = {"store": "://", "container": "::"}
"""What follows a name in an address."""

WITHOUT_EXTRA = ("file", "memory")
"""The schemes of stores that need no extra. Buckets and web addresses need one."""


class Row(NamedTuple):
    """One line of a table."""

    name: str
    kind: str
    registered: str
    read: str
    write: str
    needs: str


def rows(kind: str) -> Iterator[Row]:
    """The rows of all extensions of one kind."""
    registry = REGISTRIES[kind]
    upstream = set(UPSTREAM.get(kind, "").split())
    own = {*registry.names(), *registry.aliases()}  # before any lookup, which could load entry points of packages
    own |= set(RAW) if kind == "data type" else set()
    for name in sorted({*own, *upstream}):
        known = name in own
        shown = RAW.get(name, name) if kind == "data type" else name + ADDRESS_SUFFIX.get(kind, "")
        yield Row(
            f"`{shown}`",
            described(kind, name) if known else kind,
            "yes" if name in upstream else "",
            "yes" if known else "no",
            written(kind, name) if known else "no",
            needs(kind, name) if known else "",
        )
    if kind == "codec":
        yield from v2_codecs()


def v2_codecs() -> Iterator[Row]:
    """The codecs that only v2 documents name."""
    for id in sorted(PRIVATE):
        codec = class_of(id)
        assert codec is not None
        trusted = "if allowed" if id == "pickle" else "yes"
        yield Row(f"`{id}`", "codec of v2", "", trusted, trusted, extra(codec.needs))


def described(kind: str, name: str) -> str:
    """The kind of an extension; for a codec, also its input and output."""
    if kind != "codec":
        return kind
    codec = codecs.get(name)
    assert codec is not None
    source = "array" if issubclass(codec, (ArrayCodec, Serializer)) else "bytes"
    return f"codec, {source} → {'array' if issubclass(codec, ArrayCodec) else 'bytes'}"


def canonical(kind: str, name: str) -> str:
    """The name that new documents get in place of this one."""
    if kind == "data type" and name in RAW:
        return "r"
    codec = codecs.get(name) if kind == "codec" else None
    return REGISTRIES[kind].aliases().get(name, name) if codec is None else codec.name


def written(kind: str, name: str) -> str:
    """Whether new arrays can use the extension; under which name, if this one is only read."""
    usual = canonical(kind, name)
    if usual != name:
        return f"as `{RAW.get(usual, usual)}`"
    if kind == "codec":
        codec = codecs.get(name)
        return "yes" if codec is None or codec.only_decodes is None else "no"
    if kind == "store":
        return "no" if name in ("http", "https") else "yes"
    if kind == "container":
        return "no" if name == "reference" else "yes"
    data_type = data_type_named(name) if kind == "data type" else None
    return "no" if data_type is not None and data_type.only_read else "yes"


def data_type_named(name: str) -> DataType | None:
    """The data type, or None if it needs a configuration. No small number does."""
    return parse_data_type(name, "$", Problems())


def needs(kind: str, name: str) -> str:
    """The extra that must be installed."""
    if kind == "codec":
        codec = codecs.get(name)
        return extra(None if codec is None else codec.needs)
    if kind == "store":
        return extra(None if name in WITHOUT_EXTRA else "obstore")
    data_type = data_type_named(name) if kind == "data type" else None
    small = data_type is not None and any(is_ml_dtype(leaf) for _, leaf in leaf_types(data_type.dtype))
    return extra("ml_dtypes" if small else None)


def extra(package: str | None) -> str:
    """The cell that names the extra of a package."""
    return f"`omnizarr[{package}]`" if package else ""


def page() -> str:
    """The page with new tables."""
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(START)
    titles = ("name", "kind", "registered", "read", "write", "needs")
    parts = [head + START]
    for title, kinds in SECTIONS.items():
        lines = [titles, ("---",) * len(titles), *(row for kind in kinds for row in rows(kind))]
        parts.append(f"\n### {title}\n{NOTES[title]}\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines))
    return "".join(parts)


if __name__ == "__main__":
    made = page()
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if made == PAGE.read_text(encoding="utf-8") else f"{PAGE.name} is out of date: run {__file__}")
    PAGE.write_text(made, encoding="utf-8")
