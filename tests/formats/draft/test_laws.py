"""Properties of the drafts' dialect: models and documents survive a round trip, and arbitrary input gives problems."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.draft.documents import dumped, parsed, read

from omnizarr._json import Problems
from omnizarr.codecs import Blosc, Codec, Sharding
from omnizarr.errors import OmnizarrError
from omnizarr.formats import ReadOptions, dialect_for
from omnizarr.formats.draft.hierarchy import parse_entry_point
from omnizarr.model import ArrayModel
from omnizarr.nodes.create.options import array_model

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)

TYPES: list[Any] = [
    *("bool", "int8", "uint8", "<i2", ">i4", "<u8", "<f2", ">f4", "<f8", "<c8", ">c16"),
    *("V3", "S4", "<U3", ">U3", "<M8[ns]", ">m8[s]"),
    np.dtype([("x", "<i2"), ("y", ">f4"), ("z", "S2")]),
    np.dtype([("x", "<i2"), ("y", "<f4")], align=True),
    np.dtype([("x", "<i2", (2,)), ("y", "u1")]),
]


@st.composite
def models(draw: st.DrawFn, year: int) -> ArrayModel:
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    shape = draw(st.lists(st.integers(0, 20), max_size=3))
    chunks = [draw(st.integers(1, 8)) for _ in shape]
    shards = draw(st.none() | st.just(tuple(size * draw(st.integers(1, 3)) for size in chunks))) if shape else None
    fill = np.zeros((), dtype)[()]
    if dtype.names is None and dtype.kind not in "SUV":
        bits = draw(st.binary(min_size=dtype.itemsize, max_size=dtype.itemsize))
        fill = np.frombuffer(bytes(bits[:1][0] % 2 for _ in "x") if dtype.kind == "b" else bits, dtype)[0]
    compressors: Any = [None, "gzip", "blosc", "auto"] + (["zstd", ["gzip", "zstd"]] if year == 2020 else [])
    model, _ = array_model(
        dialect_for(f"3-draft-{year}"),
        shape=shape,
        dtype=dtype,
        chunks=chunks,
        shards=shards,
        fill_value=fill,
        compressors=draw(st.sampled_from(compressors)),
        order=draw(st.sampled_from(["C", "F"])),
        chunk_key_encoding=draw(st.sampled_from("/.")),
        attributes=draw(
            st.dictionaries(st.text(max_size=5).filter(lambda name: name != "filters"), json_values, max_size=3).filter(
                lambda value: "Infinity" not in json.dumps(value)
            )
        ),
        extensions=draw(st.sampled_from([None, [{"extension": "x:y", "must_understand": False}]])),
        fallback=draw(st.sampled_from([None, f"r{8 * dtype.itemsize}"])) if dtype.kind in "SUM" else None,
    )
    return model


def _plain(model: ArrayModel) -> ArrayModel:
    """The model without the element size of blosc, which documents of the drafts do not have (S84), and with the chunk
    key of the text for arrays without dimensions."""
    codecs = [
        replace(codec, codecs=tuple(map(_untyped, codec.codecs))) if isinstance(codec, Sharding) else _untyped(codec)
        for codec in model.codecs
    ]
    keys = replace(model.chunk_keys, scalar="c")  # type: ignore[type-var]
    return replace(model, codecs=tuple(codecs), chunk_keys=keys, verbatim={}, guessed_keys=False)


def _untyped(codec: Codec) -> Codec:
    return replace(codec, typesize=None) if isinstance(codec, Blosc) else codec


@pytest.mark.parametrize("year", [2020, 2022])
@given(data=st.data())
def test_round_trip_of_models(year: Any, data: st.DataObject) -> None:
    model = data.draw(models(year))
    dialect = dialect_for(f"3-draft-{year}")
    dialect = dialect if dialect.conventions_of(model) is None else dialect.with_conventions("zarr-python-2")
    assert dialect.losses("a", model) == []
    document = dumped(model, year)
    again = read(document, year)
    assert _plain(again) == _plain(model)
    assert dumped(again, year) == document
    assert dumped(replace(again, verbatim={}), year) == document


@pytest.mark.parametrize("year", [2020, 2022])
@given(document=st.dictionaries(
    st.sampled_from(
        ["shape", "data_type", "chunk_grid", "chunk_memory_layout", "fill_value", "extensions", "attributes",
         "codecs", "compressor", "storage_transformers", "x"]
    ),
    json_values
    | st.sampled_from(["C", "<i2", "int16", [4], {"type": "regular", "chunk_shape": [2]}, [{"type": "gzip"}],
                       {"extension": "x:y", "type": 1, "fallback": "r8"}, {"codec": "gzip"},
                       [{"extension": "storage_transformers/sharding", "type": "indexed", "configuration": {}}]]),
))  # fmt: skip
def test_arbitrary_documents_give_an_array_or_problems(year: Any, document: Any) -> None:
    node, problems = parsed(document, year)
    assert (node is None) == bool(problems)
    if node is not None:
        assert parsed(dumped(node, year), year)[0] is not None


@given(document=json_values | st.dictionaries(
    st.sampled_from(["zarr_format", "metadata_encoding", "metadata_key_suffix", "extensions"]),
    json_values | st.just({"type": "json"}),
))  # fmt: skip
def test_arbitrary_entry_points_give_a_dialect_or_problems(document: Any) -> None:
    problems = Problems()
    document = (document if isinstance(document, dict) else {}) | {"zarr_format": "https://purl.org/zarr/spec/core/3.0"}
    dialect = parse_entry_point(document, ReadOptions(), problems)
    assert (dialect is None) == bool(problems)
    if dialect is not None:
        assert dialect.hierarchy_documents() == {"zarr.json": document}


@pytest.mark.parametrize("year", [2020, 2022])
@given(listing=st.lists(st.text("ab./grouparyjson", max_size=12), max_size=6))
def test_arbitrary_listings_give_named_children(year: Any, listing: list[str]) -> None:
    draft = dialect_for(f"3-draft-{year}")
    prefix = draft.listing_prefix("g")
    children = draft.children("g", ([prefix + key for key in listing], []))
    assert all(child.name and child.kind is not None for child in children)


@given(value=json_values)
@pytest.mark.parametrize("year", [2020, 2022])
@pytest.mark.parametrize("kind", ["bool", "<i4", "<f8", "<c8", "r16", "struct", "S3", "M8"])
def test_arbitrary_fill_values_are_read_or_rejected(year: Any, kind: str, value: Any) -> None:
    types: dict[str, Any] = {
        "struct": {
            "extension": "https://purl.org/zarr/spec/extensions/data-types/struct/1.0",
            "type": [["x", "<i2"], ["y", "S2"]],
        },
        "S3": {"extension": "https://purl.org/zarr/spec/extensions/data-types/string/1.0", "type": "S3"},
        "M8": {"extension": "https://purl.org/zarr/spec/extensions/data-types/datetime/1.0", "type": "<M8[s]"},
    }
    document = {
        "shape": [4], "data_type": types.get(kind, kind), "chunk_memory_layout": "C", "fill_value": value,
        "chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "/"}, "extensions": [], "attributes": {},
    }  # fmt: skip
    try:
        node, problems = parsed(document, year)
    except OmnizarrError:
        raise AssertionError("problems are collected, not raised") from None
    if node is None:
        assert {problem.path.split("[")[0] for problem in problems.found} == {"$.fill_value"}
    else:
        assert isinstance(node, ArrayModel)
        assert read(dumped(replace(node, verbatim={}), year), year).fill is not None or node.fill is None
