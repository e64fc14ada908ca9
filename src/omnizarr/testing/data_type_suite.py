"""`DataTypeSuite`: tests that every data type must pass. Register the data type and subclass the suite::

class TestMyType(DataTypeSuite):
    def make_data_types(self):
        return [MyType()]

    def make_elements(self, data_type):
        return np.array([...], data_type.dtype)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from omnizarr._json import Json, Problems
from omnizarr.codecs import Bytes, Chain, ChunkSpec, Codec, codecs
from omnizarr.dtypes import DataType, Scalar, Struct, data_type_of, from_numpy, is_fill, parse_data_type, same_bits
from omnizarr.dtypes.contract import LARGEST_ITEM
from omnizarr.errors import CodecError
from omnizarr.testing.damaged_inputs import JUNK, invalid_configurations
from omnizarr.testing.value_checks import check_value, same_elements

__all__ = ["DataTypeSuite"]

_PATH = "$.data_type"


class DataTypeSuite:
    """Tests for a data type. It must be registered, because documents refer to it by name."""

    fills: Sequence[Json] = ()
    """JSON forms of fill values that `parse_fill` must accept, in addition to those that `dump_fill` writes."""
    wrong_fills: Sequence[Json] = ()
    """JSON values that `parse_fill` must reject."""
    wrong_configurations: Sequence[dict[str, Json]] = ()
    """Configurations that `parse_data_type` must reject."""

    def make_data_types(self) -> Sequence[DataType]:
        """The data type in each configuration to test."""
        raise NotImplementedError("a subclass of DataTypeSuite must define make_data_types")

    def make_elements(self, data_type: DataType) -> npt.NDArray[Any]:
        """A one-dimensional array of test elements.

        The default is random bits for numbers and times, and the default fill value for all other types. Override it
        for those.
        """
        dtype = data_type.dtype
        if dtype.kind == "b":
            return np.array([True, False])
        if dtype.kind in "iufcmM":
            return np.frombuffer(np.random.default_rng(0).bytes(32 * dtype.itemsize), dtype)
        return data_type.default_fill().reshape(1)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "data_type" in metafunc.fixturenames:
            data_types = self.make_data_types()
            metafunc.parametrize("data_type", data_types, ids=[json.dumps(item.to_json())[:60] for item in data_types])

    # -- metadata

    def test_it_compares_hashes_and_pickles(self, data_type: DataType) -> None:
        check_value(data_type)

    def test_configurations_differ(self) -> None:
        data_types = self.make_data_types()
        assert len(set(data_types)) == len(data_types)

    def test_dtype_is_native(self, data_type: DataType) -> None:
        assert data_type.dtype.isnative
        assert data_type.dtype.itemsize <= LARGEST_ITEM
        assert from_numpy(data_type.dtype) is None or from_numpy(data_type.dtype).dtype == data_type.dtype  # type: ignore[union-attr]

    def test_document_roundtrip(self, data_type: DataType) -> None:
        document = json.loads(json.dumps(data_type.to_json(), allow_nan=False))
        problems = Problems()
        assert parse_data_type(document, _PATH, problems) == data_type
        assert not problems.found
        assert not problems.warnings
        assert data_type_of(document) == data_type_of(data_type) == data_type

    def test_R33_unknown_members_are_rejected(self, data_type: DataType) -> None:
        problems = Problems()
        document = {
            "name": data_type.name,
            "configuration": self.configuration(data_type) | {"surely_unknown": 1},
        }
        assert parse_data_type(document, _PATH, problems) is None
        assert any("surely_unknown" in problem.path + problem.message for problem in problems.found)

    def test_invalid_configurations_never_raise(self, data_type: DataType) -> None:
        for configuration in invalid_configurations(self.configuration(data_type)):
            problems = Problems()
            parsed = parse_data_type({"name": data_type.name, "configuration": configuration}, _PATH, problems)
            assert (parsed is None) == bool(problems), f"{configuration} gives {parsed} and {problems.found}"
            assert all(problem.path.startswith(_PATH) for problem in problems.found)

    def test_wrong_configurations_are_rejected(self, data_type: DataType) -> None:
        for configuration in self.wrong_configurations:
            problems = Problems()
            document = {"name": data_type.name, "configuration": dict(configuration)}
            assert parse_data_type(document, _PATH, problems) is None, configuration
            assert problems, configuration

    def configuration(self, data_type: DataType) -> dict[str, Json]:
        """The member `configuration` of the data type's JSON form."""
        document = data_type.to_json()
        configuration: dict[str, Json] = document.get("configuration", {}) if isinstance(document, dict) else {}
        return configuration

    # -- fill values

    def test_default_fill_value_roundtrip(self, data_type: DataType) -> None:
        self.check_fill(data_type, data_type.default_fill())

    def test_fill_value_roundtrip(self, data_type: DataType) -> None:
        for element in self.scalars(data_type):
            self.check_fill(data_type, element)

    def check_fill(self, data_type: DataType, fill: Scalar) -> None:
        """Assert that a document can contain the fill value and that reading it gives the same bits."""
        assert (fill.shape, fill.dtype) == ((), data_type.dtype)
        problems = Problems()
        parsed = data_type.parse_fill(_json_roundtrip(data_type.dump_fill(fill)), "$.fill_value", problems)
        assert not problems.found
        assert not problems.warnings
        assert parsed is not None
        assert same_bits(parsed, fill), f"{fill!r} became {parsed!r}"

    def test_fill_values_in_other_json_forms(self, data_type: DataType) -> None:
        for value in self.fills:
            problems = Problems()
            fill = data_type.parse_fill(value, "$.fill_value", problems)
            assert fill is not None, problems.found
            assert not problems.found
            self.check_fill(data_type, fill)
        for value in self.wrong_fills:
            problems = Problems()
            assert data_type.parse_fill(value, "$.fill_value", problems) is None, value
            assert problems, value

    def test_invalid_fill_values_never_raise(self, data_type: DataType) -> None:
        for value in JUNK:
            problems = Problems()
            fill = data_type.parse_fill(value, "$.fill_value", problems)
            assert (fill is None) == bool(problems), f"{value!r} gives {fill!r} and {problems.found}"
            assert all(problem.path.startswith("$.fill_value") for problem in problems.found)
            if fill is not None:
                self.check_fill(data_type, fill)

    def test_cast_fill(self, data_type: DataType) -> None:
        for element in self.scalars(data_type):
            for fill in (element, element[()]):
                assert same_bits(data_type.cast_fill(fill), element), f"{fill!r} of {element!r}"
        for value in (*JUNK, object(), {1, 2}, np.zeros(3), lambda: None):
            try:
                fill = data_type.cast_fill(value)
            except (TypeError, ValueError, OverflowError):  # an ArgumentError is one of them
                continue
            self.check_fill(data_type, fill)

    # -- elements

    def scalars(self, data_type: DataType) -> Iterator[Scalar]:
        """The elements one by one, each as a 0-d array."""
        elements = self.make_elements(data_type)
        assert elements.dtype == data_type.dtype
        assert elements.ndim == 1
        assert elements.size
        for index in range(len(elements)):
            yield elements[index : index + 1].reshape(())

    def test_elements_of_arrays_and_lists(self, data_type: DataType) -> None:
        elements = self.make_elements(data_type)
        assert same_elements(data_type.elements(elements).astype(data_type.dtype), elements)
        assert same_elements(data_type.elements(list(elements)).astype(data_type.dtype), elements)

    def test_is_fill(self, data_type: DataType) -> None:
        elements = self.make_elements(data_type)
        fill = data_type.default_fill()
        array = np.full((3, 5), fill, data_type.dtype)
        assert is_fill(array, fill)
        for element in self.scalars(data_type):
            array[1:2, 2:3] = element
            assert is_fill(array, fill) == same_bits(element, fill)
        assert is_fill(np.full(3, elements[0], data_type.dtype), elements[:1].reshape(()))

    def test_encoding_roundtrip(self, data_type: DataType) -> None:
        elements = self.make_elements(data_type)
        for chain in self.chains(data_type, elements):
            assert same_elements(chain.decode(chain.encode(elements)), elements)

    def chains(self, data_type: DataType, elements: npt.NDArray[Any]) -> Iterator[Chain]:
        """The default serializer of the type, bound to chunks of these elements; `bytes` in both byte orders."""
        if data_type.serializer is None:
            return
        serializer: Any = codecs.get(data_type.serializer)
        assert serializer is not None, f"its serializer `{data_type.serializer}` is not registered"
        variants: list[Codec] = [Bytes("little"), Bytes("big")] if serializer is Bytes else [serializer()]
        for codec in variants:
            problems = Problems()
            spec = ChunkSpec(elements.shape, elements.dtype, data_type.default_fill())
            chain = Chain.bind((codec,), spec, "$.codecs", problems)
            assert chain is not None, problems.found
            yield chain

    def test_random_bits_are_rejected_or_decode_to_elements(self, data_type: DataType) -> None:
        """Decoding any bytes raises CodecError, or gives an element that can be encoded and be a fill value."""
        if not data_type.fixed_size:
            pytest.skip("its elements have a variable size")
        random = np.random.default_rng(0)
        size = data_type.dtype.itemsize
        for chain in self.chains(data_type, np.empty(1, data_type.dtype)):
            assert chain.encoded.size is not None
            for content in (b"\0" * size, b"\xff" * size, *(random.bytes(size) for _ in range(64))):
                try:
                    decoded = chain.decode(content[: chain.encoded.size])
                except CodecError:
                    continue
                assert (decoded.shape, decoded.dtype) == ((1,), data_type.dtype)
                self.check_fill(data_type, decoded.reshape(()))
                assert same_elements(chain.decode(chain.encode(decoded)), decoded)

    def test_R149_fields_of_a_struct(self, data_type: DataType) -> None:
        if not data_type.fixed_size or data_type.private:
            pytest.skip("a field of a struct needs a fixed size and a name in v3")
        struct = Struct((("first", data_type_of("int8")), ("tested", data_type), ("last", data_type_of("float64"))))
        self.test_document_roundtrip(struct)
        elements = self.make_elements(data_type)
        records = np.zeros(len(elements), struct.dtype)
        records["tested"] = elements
        records["last"] = np.arange(len(elements)) - 0.5
        assert same_elements(records["tested"], elements)
        for index in range(len(records)):
            self.check_fill(struct, records[index : index + 1].reshape(()))
        for chain in self.chains(struct, records):
            assert same_elements(chain.decode(chain.encode(records)), records)


def _json_roundtrip(value: Json) -> Json:
    """A value after writing it to a document and reading it back."""
    return json.loads(json.dumps(value, allow_nan=False))
