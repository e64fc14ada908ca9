"""We read the stored corpus of the draft of 2022, and the oracle written from its text alone reads our arrays; and the
reverse."""

from __future__ import annotations

import warnings
from typing import Any

import hypothesis.extra.numpy as arrays_of
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles import draft_2022 as oracle
from tests.oracles import draft_2022_corpus as corpus

import omnizarr
from omnizarr import MemoryStore
from omnizarr.errors import OmnizarrError, OmnizarrWarning
from omnizarr.transformers import ShardingTransformer


def memory(values: dict[str, bytes]) -> MemoryStore:
    store = MemoryStore()
    for key, value in values.items():
        if key and not any(part in ("", ".", "..") for part in key.split("/")):  # no store can hold other names
            store.set(key, value)
    return store


def nodes(store: MemoryStore) -> dict[str, Any]:
    """All nodes by path, as the corpus names them."""
    root = omnizarr.open(store, mode="r")
    found: dict[str, Any] = {"/": root}
    if isinstance(root, omnizarr.Group):
        found |= {f"/{path}": node for path, node in root.members(max_depth=None)}
    return found


def checked(store: MemoryStore, path: str | None) -> Any:
    """The node at a path; without a path, every node. All of them must be readable."""
    if path is not None:
        return omnizarr.open_array(store, path=path, mode="r")
    for node in nodes(store).values():
        if isinstance(node, omnizarr.UnreadableNode):
            raise node.error
    return None


@pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")  # fallbacks, and members of a later minor version
@pytest.mark.parametrize("name", corpus.valid_names())
def test_valid_hierarchies(name: str) -> None:
    store, expected = memory(corpus.load(name)), corpus.expected(name)
    found = nodes(store)
    kinds = {path: "array" if isinstance(node, omnizarr.Array) else "group" for path, node in found.items()}
    assert kinds == {path: node["kind"] for path, node in expected.items()}
    for path, node in expected.items():
        handle = found[path]
        assert handle.zarr_format == "3-draft-2022"
        assert handle.attrs.asdict() == node["attributes"]
        if node["kind"] == "group":
            assert handle.metadata.implicit == (not node["explicit"])
            continue
        sizes = [max(1, size) for size in node["chunk_shape"]]  # A35
        assert (list(handle.shape), list(handle.chunks)) == (node["shape"], sizes)
        assert handle.dtype == node["dtype"]
        assert np.asarray(handle.metadata.fill).tobytes() == node["fill_element"].tobytes(), path
        if node["elements"] is not None:
            assert np.asarray(handle[...], handle.dtype).tobytes() == node["elements"].tobytes(), path


@pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")
@pytest.mark.parametrize("name", corpus.valid_names())
def test_the_oracle_reads_valid_hierarchies_that_we_changed(name: str) -> None:
    """A new attribute for every node, new elements for every array; everything else stays unchanged."""
    before = corpus.load(name)
    store, expected = memory(before), corpus.expected(name)
    for path, node in expected.items():
        handle = omnizarr.open(store, path=path, mode="r+")
        handle.attrs["changed"] = [1, {"b": None}]
        if isinstance(handle, omnizarr.Array) and node["elements"] is not None:
            turned = handle[(slice(None, None, -1),) * handle.ndim]
            handle[...] = turned if handle.ndim else handle[...]
    stored = {key: bytes(store.get(key) or b"") for key in store.list()}
    assert stored["zarr.json"] == before["zarr.json"]
    found = oracle.read_hierarchy(stored)
    for path, node in expected.items():
        assert found[path].attributes == node["attributes"] | {"changed": [1, {"b": None}]}
        if node["kind"] == "array" and node["elements"] is not None:
            elements = node["elements"][(slice(None, None, -1),) * node["elements"].ndim]
            written = oracle.read_array(stored, path)
            assert written.astype(elements.dtype).tobytes() == elements.tobytes(), path
            assert oracle.describe(stored, path).fill_element.tobytes() == _little(node["fill_element"]), path


def _little(element: np.ndarray[Any, Any]) -> bytes:
    return element.astype(element.dtype.newbyteorder("<")).tobytes()


# Hierarchies that the text forbids but omnizarr reads, with a warning where users should know.
READ_ALL_THE_SAME = {
    "zarr-format-of-the-protocol": "A5: the address does not tell the draft, but the other members do",
    "metadata-encoding-string": "A5: as Arraylake wrote it; such a hierarchy has the members of 2020",
    "entry-point-unknown-name": "A8: the text also allows to ignore it",
    "array-without-chunk_memory_layout": "§1.7: from January 2023 on a codec said it; `C`, with a warning",
    "array-unknown-name": "A8: `dimension_names`, which version 3 has",
    "group-with-extensions": "A8, A65: an empty list asks for nothing",
    "attributes-null": "A65: null counts as none",
    "fill-value-float-infinity": "A9: how all other generations spell it",
    "fill-value-nan-literal": "A60: how Python spells it",
    "name-empty": "the key is that of no node, and is passed over like any other",
    "name-empty-below": "no store can hold the key",
    "array-with-child": "S1: it is not found by any listing, and to look for it would cost one for every array",
    "root-array-with-child": "as before",
}

# Questions that the text leaves open, and for which the oracle and omnizarr chose different answers.
ANSWERED_OTHERWISE = {
    "datetime-null": "A6: an example in the text has it: the default fill value, with a warning",
    "datetime-nat": "as version 3 has it",
    "separator-missing": "A17: `/`, with a warning",
    "complex-fill-pair": "A62: all other generations have it; we write bits, for which there is a rule",
    "integer-fill-hex": "A63: the bits of any type",
    "bool-fill-hex": "A63",
    "complex-extension": "zarr-python 2 wrote complex numbers so in the draft before",
    "bool-2": "every generation reads bytes that are not zero as true",
    "metadata-key-suffix": "S9: the text does not say what else the suffix would be for",
    "array-and-group": "A18: the array counts, with a warning",
}


@pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")
@pytest.mark.parametrize("case", corpus.cases("invalid"), ids=lambda case: case.name)
def test_invalid_hierarchies(case: corpus.Case) -> None:
    rejected(case, read=case.name in READ_ALL_THE_SAME)


def rejected(case: corpus.Case, *, read: bool) -> None:
    store = memory(case.store)
    if read:
        array = checked(store, case.path)
        if array is not None:
            array[...]
    elif case.stage == "open":
        with pytest.raises(OmnizarrError):
            checked(store, case.path)
    else:
        array = checked(store, case.path)
        with pytest.raises(OmnizarrError):
            array[...]


@pytest.mark.filterwarnings("ignore::omnizarr.OmnizarrWarning")
@pytest.mark.parametrize("case", corpus.cases("open"), ids=lambda case: case.name)
def test_open_questions(case: corpus.Case) -> None:
    if case.outcome == "fail":
        rejected(case, read=case.name in ANSWERED_OTHERWISE)
        return
    array = checked(memory(case.store), case.path)
    if case.path is not None:
        assert case.elements is not None
        assert array.dtype == case.elements.dtype
        assert array[...].tobytes() == case.elements.tobytes()


def test_the_exceptions_name_existing_cases() -> None:
    assert READ_ALL_THE_SAME.keys() <= {case.name for case in corpus.cases("invalid")}
    assert ANSWERED_OTHERWISE.keys() <= {case.name for case in corpus.cases("open") if case.outcome == "fail"}


# -- the oracle reads what we write, and the reverse

FIXED = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
    *("V3", "S4", "U3", "M8[ns]", "m8[s]", "M8[D]"),
    [("x", "i2"), ("y", "f4"), ("z", "S2")],
    [("when", "M8[us]"), ("what", "U2"), ("raw", "V2")],
]


@st.composite
def written(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
    """Elements, and options of an array for them."""
    shape = draw(arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7))
    dtype = np.dtype(draw(st.sampled_from(FIXED)))
    count = int(np.prod(shape)) * dtype.itemsize
    data = draw(st.binary(min_size=count, max_size=count))
    if dtype.kind == "b":
        data = bytes(byte % 2 for byte in data)
    elif dtype.kind in "SU" or dtype.names is not None:
        data = bytes(count) if dtype.names is None else _plain(data, dtype)
    elements = np.frombuffer(data, dtype).reshape(shape)
    if dtype.kind in "SU":
        texts = draw(st.lists(st.text("ab\x7f", max_size=3), min_size=elements.size, max_size=elements.size))
        elements = np.array(texts, dtype).reshape(shape)
    chunks = [draw(st.integers(1, max(1, length + 1))) for length in shape]
    options: dict[str, Any] = {"chunks": chunks, "order": draw(st.sampled_from("CF"))}
    options["chunk_key_encoding"] = draw(st.sampled_from("/."))
    options["shards"] = draw(
        st.none() if not shape else st.none() | st.tuples(*(st.integers(1, 3).map(size.__mul__) for size in chunks))
    )
    return elements, options


def _plain(data: bytes, dtype: np.dtype[Any]) -> bytes:
    """The same with zeros for text and all other types that do not allow every bit pattern."""
    found = np.frombuffer(data, dtype).copy()
    for name in dtype.names or ():
        if dtype[name].kind in "SU":
            found[name] = b"" if dtype[name].kind == "S" else ""
    return found.tobytes()


COMPRESSORS: list[Any] = [
    None,
    {"name": "gzip", "configuration": {"level": 3}},
    {
        "name": "blosc",
        "configuration": {"cname": "lz4", "clevel": 2, "shuffle": "shuffle", "blocksize": 0, "typesize": 4},
    },
    {"name": "blosc", "configuration": {"cname": "zstd", "clevel": 1, "shuffle": "bitshuffle", "blocksize": 256}},
    "auto",
]


@given(case=written(), compressors=st.sampled_from(COMPRESSORS), big=st.booleans(), more=st.booleans(), data=st.data())
def test_the_oracle_reads_what_we_write(
    case: tuple[np.ndarray[Any, Any], dict[str, Any]], compressors: Any, big: bool, more: bool, data: st.DataObject
) -> None:
    elements, options = case
    if more:
        options |= {"storage_transformers": [ShardingTransformer((2,) * elements.ndim)]}
    if elements.dtype.kind in "SUMm":
        options |= {"fallback": [f"r{8 * elements.dtype.itemsize}"]}
    fill = np.zeros((), elements.dtype)
    if elements.size and data.draw(st.booleans()):
        fill = elements.reshape(-1)[data.draw(st.integers(0, elements.size - 1))]
    store = MemoryStore()
    dtype = elements.dtype.newbyteorder(">") if big else elements.dtype
    array = omnizarr.create_array(
        store,
        name="some/where",
        shape=elements.shape,
        dtype=dtype,
        fill_value=fill if elements.dtype.names is None else np.asarray(fill)[()],
        compressors=compressors,
        zarr_format="3-draft-2022",
        attributes={"a": [1, None, {"b": "ü"}]},
        **options,
    )
    array[...] = elements
    stored = {key: bytes(store.get(key) or b"") for key in store.list()}
    assert oracle.read_hierarchy(stored)["/some/where"].attributes == {"a": [1, None, {"b": "ü"}]}
    found = oracle.read_array(stored, "/some/where")
    assert found.shape == elements.shape
    assert found.astype(elements.dtype).tobytes() == elements.tobytes()
    described = oracle.describe(stored, "/some/where")
    assert described.fill_element.astype(elements.dtype).tobytes() == np.asarray(fill, elements.dtype).tobytes()
    assert omnizarr.open_array(store, path="some/where")[...].tobytes() == elements.tobytes()


CODECS: list[Any] = [
    None,
    [],
    [oracle.gzip_codec(2)],
    [oracle.blosc_codec("zlib", 3, 2, 0)],
    [oracle.endian_codec("big"), oracle.gzip_codec(1)],
    [oracle.blosc_codec(shuffle=-1), oracle.gzip_codec(1)],
    [oracle.endian_codec("little")],
]


@given(
    case=written(),
    codecs=st.sampled_from(CODECS),
    per_shard=st.none() | st.lists(st.integers(1, 3), min_size=3, max_size=3),
    twice=st.booleans(),
    backwards=st.booleans(),
    omit=st.booleans(),
)
def test_we_read_what_the_oracle_writes(
    case: tuple[np.ndarray[Any, Any], dict[str, Any]],
    codecs: Any,
    per_shard: list[int] | None,
    twice: bool,
    backwards: bool,
    omit: bool,
) -> None:
    elements, options = case
    transformers = None if per_shard is None else [oracle.sharding(per_shard[: elements.ndim])] * (1 + twice)
    stored: dict[str, bytes] = {}
    oracle.write_entry_point(stored)
    oracle.write_array(
        stored,
        "/some/where",
        elements,
        chunk_shape=options["chunks"],
        separator=options["chunk_key_encoding"],
        layout=options["order"],
        codecs=codecs,
        storage_transformers=transformers,
        omit_empty_chunks=omit,
        shard_backwards=backwards,
        shard_gap=b"gap" if backwards else b"",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", OmnizarrWarning)
        store = memory(stored)
        array = omnizarr.open_array(store, path="some/where")
        assert np.asarray(array[...], array.dtype).tobytes() == elements.tobytes()
        array[...] = elements[(slice(None, None, -1),) * elements.ndim]
    again = {key: bytes(store.get(key) or b"") for key in store.list()}
    turned = np.asarray(elements[(slice(None, None, -1),) * elements.ndim], elements.dtype)
    assert oracle.read_array(again, "/some/where").astype(elements.dtype).tobytes() == turned.tobytes()
