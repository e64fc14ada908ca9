"""The engine handles data types that only other generations can store."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omnizarr.chunk_keys import DefaultKeys
from omnizarr.codecs import Codec, Sharding, StoredBytes, Transpose, Zstd, plain_serializer
from omnizarr.dtypes import DataType, Record, data_type_of
from omnizarr.errors import ArgumentError, BroadcastError
from omnizarr.formats import dialect_for
from omnizarr.grids import Regular
from omnizarr.model import ArrayModel
from omnizarr.nodes import Array
from omnizarr.nodes.node import NodeContext
from omnizarr.store import MemoryStore

MIXED = np.dtype([("a", ">i4"), ("b", "<f8", (2,)), ("c", "|S3"), ("d", ">U2")])
GAPS = np.dtype({"names": ["a", "b"], "formats": [">i2", "<f8"], "offsets": [2, 8], "itemsize": 20})


def array_of(data_type: DataType, *codecs: Codec, shape: tuple[int, ...] = (5, 4), fill: Any = None) -> Array:
    model = ArrayModel(
        shape=shape,
        data_type=data_type,
        fill=fill,
        grid=Regular((2, 3)),
        chunk_keys=DefaultKeys(),
        codecs=codecs,
    )
    return Array(NodeContext(MemoryStore(), "", dialect_for(3)), model)


def records(dtype: np.dtype[Any], *shape: int) -> np.ndarray[Any, Any]:
    found = np.zeros(shape, Record(dtype).dtype)
    for name in found.dtype.names or ():
        part = found[name]
        numbers = np.arange(part.size).reshape(part.shape)
        part[...] = numbers.astype(part.dtype)
    return found


@pytest.mark.parametrize("dtype", [MIXED, GAPS])
@pytest.mark.parametrize("around", ["alone", "compressed", "transposed", "sharded"])
def test_records(dtype: np.dtype[Any], around: str) -> None:
    middle = plain_serializer(dtype)
    assert isinstance(middle, StoredBytes)
    chains: dict[str, tuple[Codec, ...]] = {
        "alone": (middle,),
        "compressed": (middle, Zstd()),
        "transposed": (Transpose((1, 0)), middle, Zstd()),
        "sharded": (Sharding((1, 3), (middle, Zstd())),),
    }
    z = array_of(Record(dtype), *chains[around])
    data = records(dtype, 5, 4)
    model = np.zeros((5, 4), z.dtype)
    assert z["a"].tolist() == model["a"].tolist()
    for key in ((slice(1, 4), slice(1, 3)), (0, 0), ..., (slice(None, None, 2), 3)):
        z[key] = data[key]
        model[key] = data[key]
        for name in z.dtype.names or ():
            assert z[...][name].tolist() == model[name].tolist()
    z["a"] = 7
    model["a"] = 7
    assert z[1:3]["a"].tolist() == model[1:3]["a"].tolist()
    assert z["b"].tolist() == model["b"].tolist()


def test_array_fields_can_be_written_alone() -> None:
    z = array_of(Record(MIXED), StoredBytes(MIXED))
    data = records(MIXED, 5, 4)
    z[...] = data
    z["b", 1:3] = np.arange(16.0).reshape(2, 4, 2)
    data["b"][1:3] = np.arange(16.0).reshape(2, 4, 2)
    assert z[...].tobytes() == data.tobytes()
    z["b"] = [1, 2]
    data["b"] = [1, 2]
    assert z[...].tobytes() == data.tobytes()
    z[["b", "a"]] = data[["b", "a"]]
    assert z[...].tobytes() == data.tobytes()
    with pytest.raises(BroadcastError):
        z["b"] = [1, 2, 3]


def test_an_undefined_fill_value_has_the_data_type() -> None:
    """Zero is not an element of bytes or text."""
    from omnizarr.codecs import VlenBytes, VlenUtf8

    assert array_of(data_type_of("bytes"), VlenBytes())[...].tolist() == [[b""] * 4] * 5
    assert array_of(data_type_of("string"), VlenUtf8())[...].tolist() == [[""] * 4] * 5
    z = array_of(data_type_of("bytes"), VlenBytes())
    z[0, 0] = b"x"
    assert z[0].tolist() == [b"x", b"", b"", b""]
    assert z.fill_value is None


def test_v3_rejects_types_without_a_name() -> None:
    z = array_of(Record(MIXED), StoredBytes(MIXED))
    losses = dialect_for(3).losses("", z.metadata)
    assert any("data type" in text for text in losses)
    assert any("`numpy.bytes`" in text for text in losses)
    inside = array_of(Record(MIXED), Sharding((1, 3), (StoredBytes(MIXED),)))
    assert any("`numpy.bytes`" in text for text in dialect_for(3).losses("", inside.metadata))


def test_values_that_are_not_records_are_rejected() -> None:
    z = array_of(Record(MIXED), StoredBytes(MIXED))
    with pytest.raises((TypeError, ValueError, ArgumentError)):
        z[...] = "text"
