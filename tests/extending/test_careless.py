"""Faulty extensions: errors name the extension and the place of the fault, and other nodes stay usable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.registries import restoring

import omnizarr
from omnizarr.chunk_keys import chunk_key_encodings
from omnizarr.codecs import Conditional, codecs
from omnizarr.dtypes import data_types
from omnizarr.errors import ArgumentError, ChunkError, MetadataError
from omnizarr.extending import (
    ArrayCodec,
    BoundArrayCodec,
    BoundBytesCodec,
    BoundSerializer,
    BytesCodec,
    DataType,
    Serializer,
    register_chunk_grid,
    register_chunk_key_encoding,
    register_codec,
    register_data_type,
)
from omnizarr.grids import Regular, chunk_grids


class Fault:
    """The fault to inject; tests set it after creating an array."""

    at: ClassVar[str] = ""


def result_at(place: str, right: Any) -> Any:
    """The correct result, unless the fault is here: None, any exception, or an OmnizarrError."""
    if Fault.at == f"{place} nothing":
        return None
    if Fault.at == f"{place} fails":
        raise ZeroDivisionError("of the careless")
    if Fault.at == f"{place} rejects":
        raise ArgumentError("a level of its own", argument="level")
    return right


@pytest.fixture(autouse=True)
def _register_extensions() -> Iterator[None]:
    with restoring(codecs), restoring(data_types), restoring(chunk_grids), restoring(chunk_key_encodings):
        for codec in (CarelessBytes, CarelessArrays, CarelessSerializer):
            register_codec(codec)  # type: ignore[type-abstract]
        register_chunk_grid(CarelessGrid)
        register_chunk_key_encoding(CarelessKeys)
        register_data_type("careless.type", read_type)
        yield
    Fault.at = ""


class Careless:
    """The base class of the three codecs."""

    @classmethod
    def parse(cls, configuration: Any, path: Any, problems: Any) -> Any:
        return result_at("parse", cls())

    def configuration(self) -> Any:
        return {}


class CarelessBytes(Careless, BytesCodec):
    name = "careless.bytes"

    def bind(self, spec: Any, path: Any, problems: Any) -> Any:
        return result_at("bind", BoundBytes(spec))


class BoundBytes(BoundBytesCodec):
    def __init__(self, spec: Any) -> None:
        self.encoded = spec

    def encode(self, data: Any) -> Any:
        return result_at("encode", bytes(data))

    def decode(self, data: Any, out: Any = None) -> Any:
        return {"short": bytes(data)[:-1], "something": 3}.get(Fault.at, result_at("decode", bytes(data)))


class CarelessArrays(Careless, ArrayCodec):
    name = "careless.arrays"

    def bind(self, spec: Any, path: Any, problems: Any) -> Any:
        return result_at("bind", BoundArrays(spec))


class BoundArrays(BoundArrayCodec):
    def __init__(self, spec: Any) -> None:
        self.encoded = spec

    def encode(self, array: Any) -> Any:
        return array[:1] if Fault.at == "encode short" else result_at("encode", array)

    def decode(self, array: Any) -> Any:
        right = result_at("decode", array)
        return {"short": array[:1], "something": 3, "of another type": array.astype("f8")}.get(Fault.at, right)


class CarelessSerializer(Careless, Serializer):
    name = "careless.serializer"

    def bind(self, spec: Any, path: Any, problems: Any) -> Any:
        return result_at("bind", Serialized(spec))


class Serialized(BoundSerializer):
    def __init__(self, spec: Any) -> None:
        self._dtype = spec.dtype
        self.encoded = omnizarr.extending.ByteSpec(spec.nbytes, spec.nbytes)

    def encode(self, array: Any) -> Any:
        return result_at("encode", array.tobytes())

    def decode(self, data: Any) -> Any:
        array = np.frombuffer(data, self._dtype)
        right = result_at("decode", array)
        return {"short": array[:1], "something": 3, "of another type": array.astype("f8")}.get(Fault.at, right)


class CarelessGrid(Regular):
    name: ClassVar[str] = "careless.grid"

    @classmethod
    def parse(cls, configuration: Any, shape: Any, path: Any, problems: Any) -> Any:
        return result_at("parse", super().parse(configuration, shape, path, problems))


class CarelessKeys(omnizarr.chunk_keys.DefaultKeys):
    name: ClassVar[str] = "careless.keys"

    @classmethod
    def parse(cls, configuration: Any, path: Any, problems: Any) -> Any:
        return result_at("parse", super().parse(configuration, path, problems))


@dataclass(frozen=True)
class CarelessType(DataType):
    name: str = "careless.type"
    dtype: np.dtype[Any] = field(default=np.dtype("i2"))

    def parse_fill(self, value: Any, path: Any, problems: Any) -> Any:
        return result_at("fill", np.array(value, self.dtype))

    def dump_fill(self, fill: Any) -> Any:
        return int(fill)


def read_type(name: Any, configuration: Any, path: Any, problems: Any) -> Any:
    return result_at("parse", CarelessType())


CODECS: dict[str, dict[str, Any]] = {
    "careless.bytes": {"compressors": "careless.bytes"},
    "careless.bytes in a condition": {"compressors": Conditional((CarelessBytes(),), decision="always_apply")},
    "careless.arrays": {"filters": "careless.arrays", "compressors": None},
    "careless.serializer": {"serializer": "careless.serializer", "compressors": None},
}
USES: dict[str, dict[str, Any]] = {
    **CODECS,
    "careless.grid": {"chunks": CarelessGrid((2,))},
    "careless.keys": {"chunk_key_encoding": "careless.keys"},
    "careless.type": {"dtype": "careless.type"},
}


def make_group(options: dict[str, Any]) -> omnizarr.Group:
    group = omnizarr.create_group({})
    group.create_array("plain", data=[1, 2, 3])
    group.create_array("careless", shape=4, **{"dtype": "int16", "chunks": (4,), **options})[...] = [1, 2, 3, 4]
    return group


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("nothing", "rejected this without giving a reason"),
        ("fails", "failed: ZeroDivisionError: of the careless"),
        ("rejects", "a level of its own"),
    ],
)
@pytest.mark.parametrize("name", USES)
def test_errors_on_open_name_the_extension(name: str, fault: str, message: str) -> None:
    group = make_group(USES[name])
    name = name.partition(" ")[0]
    for place in ("parse", *(["bind"] if name in CODECS else []), *(["fill"] if name == "careless.type" else [])):
        Fault.at = f"{place} {fault}"
        with pytest.raises(MetadataError, match=message) as caught:
            omnizarr.open_array(group.store, path="careless")
        (problem,) = caught.value.problems
        assert problem.path.startswith("$.")
        assert fault == "rejects" or f"`{name}`" in problem.message
        members = dict(omnizarr.open_group(group.store).members())
        assert members["plain"][...].tolist() == [1, 2, 3]
        assert message in str(members["careless"].reason)


@pytest.mark.parametrize("name", CODECS)
def test_errors_on_read_and_write_name_the_chunk_and_codec(name: str) -> None:
    array = make_group(CODECS[name])["careless"]
    name = name.partition(" ")[0]
    assert array[...].tolist() == [1, 2, 3, 4]
    where = rf"chunk \(0,\) of array `careless` \(key `careless/c/0`\): codec `{name}`"
    for fault in ("decode fails", "short", "something", "of another type"):
        if fault == "of another type" and name == "careless.bytes":
            continue
        Fault.at = fault
        with pytest.raises(ChunkError, match=f"cannot read {where}: "):
            array[...]
    for fault in ("encode fails", *(["encode short"] if name == "careless.arrays" else [])):
        Fault.at = fault
        with pytest.raises(ChunkError, match=f"cannot write {where}: "):
            array[...] = 7
    Fault.at = ""
    assert array[...].tolist() == [1, 2, 3, 4]
