"""Properties of the v1 and v2 dialects: models and canonical documents survive a round trip, and arbitrary documents
give a node or our own error."""

from __future__ import annotations

import copy
import json
import random
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.formats.old_documents import array_v1, array_v2, parse

import omnizarr
from omnizarr._json import Problems
from omnizarr.errors import OmnizarrError, OmnizarrWarning
from omnizarr.formats import dialect_for
from omnizarr.model import ArrayModel, GroupModel

often = settings(max_examples=max(100, settings().max_examples))

NUMBERS = ["|b1", "|i1", "<u2", ">i4", "<i8", "<f2", ">f4", "<f8", "<c8", ">c16", "<M8[s]", ">m8[10us]"]
OTHERS: list[Any] = ["|S3", "<U3", ">U2", "|V3", [("a", "<i2"), ("b", "S2")], [("a", ">i2"), ("b", "<f4")]]
NESTED: list[Any] = [
    [("a", "<i2", (2,)), ("b", [("c", ">f4"), ("d", "?")])],
    np.dtype([("a", "i1"), ("b", "<i4")], align=True),
]
FILTERS: dict[str, list[Any]] = {
    "<u2": [
        None,
        [{"id": "delta", "dtype": "<u2"}],
        [{"id": "shuffle", "elementsize": 2}],
        [{"id": "delta", "dtype": "<u2"}, {"id": "shuffle", "elementsize": 2}, "crc32"],
    ],
    ">i4": [None, [{"id": "delta", "dtype": ">i4"}], [{"id": "delta", "dtype": ">i4", "astype": "<i8"}]],
    "<f8": [
        None,
        [{"id": "fixedscaleoffset", "offset": 0, "scale": 10, "dtype": "<f8", "astype": ">i2"}],
        [{"id": "bitround", "keepbits": 5}],
        [{"id": "quantize", "digits": 3, "dtype": "<f8"}],
    ],
    "|b1": [None, ["packbits"]],
}
ATTRIBUTES = st.dictionaries(
    st.text(max_size=4), st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.lists(st.integers())
)
SHAPES = st.lists(st.integers(0, 9), max_size=3).map(tuple)


def finite(draw: Any, dtype: np.dtype[Any]) -> Any:
    """A fill value of a type, or None."""
    if dtype.kind in "fc":
        value = draw(st.sampled_from([0.5, -0.0, np.nan, np.inf, -np.inf, 3]))
        return complex(value, 1.5) if dtype.kind == "c" and draw(st.booleans()) else value
    if dtype.kind in "iu":
        return draw(st.integers(0, 100))
    raw = draw(st.binary(min_size=dtype.itemsize, max_size=dtype.itemsize)) if dtype.kind in "SV" else None
    if raw is not None and dtype.names is None:
        return np.frombuffer(raw, dtype)[0]
    return {"b": True, "U": "ü", "M": np.datetime64("NaT", "s"), "m": np.timedelta64(-30, "us")}.get(dtype.kind)


@st.composite
def models_v2(draw: Any) -> ArrayModel:
    """Arrays that a user can create."""
    dtype = draw(st.sampled_from([*NUMBERS, *OTHERS, *NESTED]))
    shape = draw(SHAPES)
    options: dict[str, Any] = {}
    if isinstance(dtype, str) and dtype in FILTERS:
        options["filters"] = draw(st.sampled_from(FILTERS[dtype]))
    if draw(st.booleans()):
        options["fill_value"] = finite(draw, np.dtype(dtype))
    return omnizarr.create_array(
        shape=shape,
        dtype=dtype,
        chunks=tuple(draw(st.integers(1, 4)) for _ in shape),
        order=draw(st.sampled_from("CF")),
        compressors=draw(st.sampled_from(["auto", None, "gzip", "zlib", "bz2", "lz4", "zstd", {"id": "lzma"}])),
        chunk_key_encoding=draw(st.sampled_from([None, ".", "/"])),
        attributes=draw(ATTRIBUTES),
        zarr_format=2,
        **options,
    ).metadata


@st.composite
def models_v1(draw: Any) -> ArrayModel:
    dtype = draw(st.sampled_from([*NUMBERS, *OTHERS]))
    shape = draw(SHAPES.filter(bool))
    fill = None
    if np.dtype(dtype).kind in "biufmMU":
        fill = finite(draw, np.dtype(dtype))
    order = draw(st.sampled_from("C" if np.dtype(dtype).kind in "mM" else "CF"))
    compressors = ["auto"] if order == "F" else ["auto", None, "zlib", "bz2", {"id": "lzma", "preset": 1}]
    return omnizarr.create_array(
        shape=shape,
        dtype=dtype,
        chunks=tuple(draw(st.integers(1, 4)) for _ in shape),
        order=order,
        fill_value=fill,
        compressors=draw(st.sampled_from(compressors)),
        attributes=draw(ATTRIBUTES),
        zarr_format=1,
    ).metadata


def check_law(model: ArrayModel) -> None:
    dialect = dialect_for(model.zarr_format)
    documents = json.loads(json.dumps(dialect.dump("", model), allow_nan=False))
    problems = Problems()
    reparsed = dialect.parse("", documents, problems)
    assert isinstance(reparsed, ArrayModel), problems.found
    assert not problems.warnings
    assert dialect.dump("", reparsed) == documents
    assert reparsed.verbatim.items() <= documents[dialect.identifying_keys("")[0]].items()
    assert ArrayModel.__eq__(reparsed, _with(model, reparsed)), (model, reparsed)


def _with(model: ArrayModel, other: ArrayModel) -> ArrayModel:
    """The same array with the verbatim members of its document."""
    from dataclasses import replace

    return replace(model, verbatim=other.verbatim)


@often
@given(models_v2())
def test_v2_round_trip_of_models(model: ArrayModel) -> None:
    check_law(model)


@often
@given(models_v1())
def test_v1_round_trip_of_models(model: ArrayModel) -> None:
    check_law(model)


@given(ATTRIBUTES, st.dictionaries(st.sampled_from(["x", "y"]), st.integers()))
def test_groups(attributes: dict[str, Any], extra: dict[str, Any]) -> None:
    model = GroupModel(attributes=attributes, zarr_format=2, extra=extra)
    v2 = dialect_for(2)
    assert v2.parse("a/b", v2.dump("a/b", model), Problems()) == model


# -- documents that are written back unchanged


CODECS = [
    {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
    {"id": "blosc", "cname": "zstd", "clevel": 1, "shuffle": -1, "blocksize": 0},
    {"id": "zlib", "level": 1},
    {"id": "zstd", "level": 0},
    {"id": "gzip", "level": 9},
    {"id": "bz2", "level": 1},
    {"id": "lz4", "acceleration": 1},
    {"id": "lzma", "format": 1, "check": -1, "preset": None, "filters": None},
    None,
]


@given(
    st.sampled_from(CODECS),
    st.sampled_from([None, [], [{"id": "shuffle", "elementsize": 2}]]),
    st.sampled_from(["C", "F"]),
    st.sampled_from([".", "/"]),
    st.sampled_from([("<i2", 7), (">f4", "NaN"), ("|S2", "AAA="), ("<U2", "x"), ("|b1", True), ("<M8[ns]", None)]),
    st.dictionaries(st.sampled_from(["x-one", "x-two"]), ATTRIBUTES),
)
def test_v2_documents_are_written_back_unchanged(
    compressor: Any, filters: Any, order: str, separator: str, kind: Any, extra: Any
) -> None:
    document = array_v2(
        compressor=compressor,
        filters=filters,
        order=order,
        dimension_separator=separator,
        dtype=kind[0],
        fill_value=kind[1],
        **extra,
    )
    node, problems = parse(document)
    assert isinstance(node, ArrayModel), problems.found
    assert dialect_for(2).dump("", node)[".zarray"] == document


# -- arbitrary documents


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, 2, -1, 2**63, 2**64, 10**400, 1e308])
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["<i2", "|O", "<M8[ns]", "NaN", "AAAA", "F", "/", "zlib", "blosc", "delta", "vlen-utf8", "|S3"])
)
NAMES = st.text(max_size=4) | st.sampled_from([*array_v2(), "id", "level", "compression", "compression_opts", "astype"])
JSON = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES, below, max_size=4), max_leaves=10
)


def check_anything(document: Any, key: str) -> None:
    store = omnizarr.MemoryStore()
    store.set(key, json.dumps(document).encode())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OmnizarrWarning)
        try:
            omnizarr.open(store)
        except OmnizarrError:
            pass


@often
@given(JSON, st.sampled_from([".zarray", ".zgroup", "meta"]))
def test_arbitrary_documents(document: Any, key: str) -> None:
    check_anything(document, key)


@often
@given(st.sampled_from([*array_v2()]), JSON)
def test_v2_documents_with_arbitrary_members(name: str, value: Any) -> None:
    check_anything(array_v2(**{name: value}), ".zarray")


@often
@given(st.sampled_from([*array_v1()]), JSON)
def test_v1_documents_with_arbitrary_members(name: str, value: Any) -> None:
    check_anything(array_v1(**{name: value}), "meta")


@often
@given(st.sampled_from(["<f8", "|O", "|S3", "|V2", "<U2", "<c8", "<M8[s]", "|b1"]), JSON, JSON)
def test_arbitrary_fill_values_and_configurations(dtype: str, fill: Any, config: Any) -> None:
    filters = [{"id": "json2"}] if dtype == "|O" else None
    check_anything(array_v2(dtype=dtype, fill_value=fill, filters=filters), ".zarray")
    check_anything(array_v1(dtype=dtype, fill_value=fill), "meta")
    if isinstance(config, dict):
        check_anything(array_v2(compressor={"id": "lzma", **config}), ".zarray")
        check_anything(array_v2(filters=[{"id": "delta", **config}]), ".zarray")


@pytest.mark.parametrize("document", [array_v2(), array_v1()])
def test_documents_with_several_mutations(document: dict[str, Any]) -> None:
    chance = random.Random(7)
    values = [None, 0, -1, "x", [], {}, [0], {"id": "x"}, True, 1.5, "NaN", [[]], "|O"]
    for _ in range(300):
        changed = copy.deepcopy(document)
        for name in chance.sample(sorted(changed), 3):
            changed[name] = chance.choice(values)
        check_anything(changed, "meta" if document["zarr_format"] == 1 else ".zarray")
