"""Properties of the v3 dialect: models and canonical documents survive a round trip, and arbitrary documents give a
node or our own error."""

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
from tests.formats.documents import LITTLE, array_document, dumped, group_document, parsed, sharding

import omnizarr
from omnizarr.errors import OmnizarrError, OmnizarrWarning
from omnizarr.model import ArrayModel, GroupModel

often = settings(max_examples=max(100, settings().max_examples))

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, 3, -1, 2**63, 2**64, 10**400, 1e308])
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["array", "group", "regular", "default", "bytes", "gzip", "NaN", "0x7fc00000", "int8", "struct"])
)
NAMES = st.text(max_size=4) | st.sampled_from(
    [*array_document(), "name", "configuration", "must_understand", "chunk_shape", "codecs", "index_codecs", "order"]
)
JSON = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES, below, max_size=4), max_leaves=10
)

ATTRIBUTES = st.dictionaries(
    st.text(max_size=4),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=4),
        lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)
EXTRA = st.dictionaries(
    st.sampled_from(["x-one", "x-two"]), st.builds(lambda a: {"must_understand": False, **a}, ATTRIBUTES)
)

DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float64", "complex64", "r24"]


@st.composite
def array_models(draw: Any) -> ArrayModel:
    """Arrays that a user can create."""
    shape = tuple(draw(st.lists(st.integers(0, 9), max_size=3)))
    chunks = tuple(draw(st.integers(1, 4)) for _ in shape)
    shards = tuple(size * draw(st.integers(1, 3)) for size in chunks) if draw(st.booleans()) else None
    dtype: Any = draw(st.sampled_from([*DTYPES, [("a", ">i2"), ("b", "f8"), ("c", [("d", "?")])]]))
    fill = None
    if isinstance(dtype, str) and dtype.startswith(("float", "complex")):
        fill = draw(st.floats(width=16)) if dtype != "complex64" else complex(draw(st.floats(width=16)), 1)
    z = omnizarr.create_array(
        shape=shape,
        dtype=dtype,
        chunks=chunks,
        shards=shards,
        fill_value=fill,
        order=draw(st.sampled_from("CF")),
        compressors=draw(st.sampled_from(["auto", None, "gzip", ["zstd", "crc32c"]])),
        chunk_key_encoding=draw(st.sampled_from(["/", ".", "v2", {"name": "v2", "separator": "/"}])),
        dimension_names=draw(st.none() | st.tuples(*[st.none() | st.text(max_size=3) for _ in shape])),
        attributes=draw(ATTRIBUTES),
    )
    return ArrayModel(**{**fields(z.metadata), "extra": draw(EXTRA)})


def fields(model: Any) -> dict[str, Any]:
    return {name: getattr(model, name) for name, field in model.__dataclass_fields__.items() if field.init}


def through_json(document: Any) -> Any:
    return omnizarr._json.parse(omnizarr._json.dump(document), "it", limit=10**7)


@often
@given(array_models())
def test_round_trip_of_array_models(model: ArrayModel) -> None:
    document = through_json(dumped(model))
    node, problems = parsed(document)
    assert node == model
    assert not problems.warnings
    assert through_json(dumped(node)) == document


KEYS = st.sampled_from(["a/zarr.json", "a/b/zarr.json", "c/zarr.json"])


@given(ATTRIBUTES, EXTRA, st.none() | st.dictionaries(KEYS, st.just(group_document())))
def test_round_trip_of_group_models(attributes: Any, extra: Any, consolidated: Any) -> None:
    model = GroupModel(attributes=attributes, extra=extra, consolidated=consolidated)
    node, problems = parsed(through_json(dumped(model)))
    assert node == model
    assert not problems.warnings


@pytest.mark.parametrize(
    "document",
    [
        array_document(),
        array_document(dimension_names=["x", None], fill_value=-1),
        array_document(data_type="float32", fill_value="0x7fc00001"),
        array_document(data_type="complex64", fill_value=["NaN", "-Infinity"]),
        array_document(data_type="bool", fill_value=True, codecs=[{"name": "bytes"}]),
        array_document(data_type="r16", fill_value=[1, 255], codecs=[{"name": "bytes"}]),
        array_document(codecs=[{"name": "transpose", "configuration": {"order": [1, 0]}}, LITTLE, {"name": "crc32c"}]),
        array_document(codecs=[sharding(index_location="start")]),
        array_document(codecs=[sharding(codecs=[sharding(chunk_shape=[1, 3])])]),
        array_document(chunk_key_encoding={"name": "v2", "configuration": {"separator": "/"}}),
        group_document(),
    ],
)
def test_canonical_documents_are_written_back_unchanged(document: Any) -> None:
    node, problems = parsed(copy.deepcopy(document))
    assert node is not None, problems.found
    assert not problems.warnings
    assert dumped(node) == document


def opened(data: bytes) -> None:
    """Opens the node that `data` describes and reads all its properties."""
    store = omnizarr.MemoryStore()
    store.set("zarr.json", data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OmnizarrWarning)
            node = omnizarr.open(store, mode="r")
            if isinstance(node, omnizarr.Group):
                list(node.members(max_depth=None))
                str(node.tree())
                return
            str(node.info)
            str(node.info_complete())
            repr(node)
            node[(slice(0, 1),) * node.ndim]
            assert node[(slice(0, 0),) * node.ndim].dtype == node.dtype
    except OmnizarrError as error:
        str(error)


@often
@given(JSON)
def test_arbitrary_json_gives_a_node_or_our_error(value: Any) -> None:
    opened(json.dumps(value).encode())


@often
@given(st.fixed_dictionaries({"zarr_format": st.just(3), "node_type": st.sampled_from(["array", "group"])}), JSON)
def test_arbitrary_members_give_a_node_or_our_error(start: Any, value: Any) -> None:
    opened(json.dumps({**start, **(value if isinstance(value, dict) else {"attributes": value})}).encode())


@given(st.binary(max_size=60))
def test_arbitrary_bytes_give_a_node_or_our_error(data: bytes) -> None:
    opened(data)


VALID = [
    array_document(dimension_names=["x", "y"]),
    array_document(data_type="float64", fill_value="NaN"),
    array_document(codecs=[{"name": "transpose", "configuration": {"order": [1, 0]}}, sharding(chunk_shape=[3, 2])]),
    array_document(
        data_type={"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "int16"}]}},
        fill_value={"a": 1},
    ),
    group_document(
        consolidated_metadata={
            "kind": "inline",
            "must_understand": False,
            "metadata": {"a": array_document(), "b/c": 1},
        }
    ),
]


@often
@given(st.sampled_from(VALID), st.randoms(use_true_random=False), st.lists(JSON, min_size=1, max_size=3))
def test_mutated_documents_give_a_node_or_our_error(document: Any, chance: random.Random, values: list[Any]) -> None:
    document = copy.deepcopy(document)
    for value in values:
        mutate(document, chance, value)
    opened(json.dumps(document).encode())


def mutate(document: Any, chance: random.Random, value: Any) -> None:
    """Sets a random member or item of the document to `value`, or removes it."""
    places = [(document, key) for key in document]
    for holder, key in places:
        below = holder[key]
        if isinstance(below, dict):
            places.extend((below, name) for name in below)
        elif isinstance(below, list):
            places.extend((below, index) for index in range(len(below)))
    holder, key = chance.choice(places)
    if chance.random() < 0.2:
        del holder[key]
    else:
        holder[key] = value


def test_lengths_beyond_floats_have_a_repr() -> None:
    rank = 32
    document = array_document(
        shape=[2**62] * rank, chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2**62] * rank}}
    )
    opened(json.dumps(document).encode())


def test_a_chunk_larger_than_memory_is_rejected_before_allocation() -> None:
    document = array_document(
        shape=[2**62, 6], chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2**62, 6]}}
    )
    store = omnizarr.MemoryStore()
    store.set("zarr.json", json.dumps(document).encode())
    z = omnizarr.open_array(store)
    with pytest.raises(OmnizarrError, match="more than the limit"):
        z[0, 0] = 1
    assert np.asarray(z.fill_value) == 7
