"""Every data type of omnizarr passes `DataTypeSuite`, and the suite detects faulty data types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
from tests.registries import restoring

from omnizarr._json import Problems
from omnizarr.codecs import Bytes, Chain, ChunkSpec
from omnizarr.dtypes import DataType, data_type_of, data_types
from omnizarr.dtypes.numbers.integer import Integer
from omnizarr.errors import CodecError
from omnizarr.testing import DataTypeSuite

SAMPLES: dict[str, Sequence[Any]] = {
    "fixed_length_utf32": [{"length_bytes": 4}, {"length_bytes": 40}],
    "null_terminated_bytes": [{"length_bytes": 1}, {"length_bytes": 7}],
    "numpy.datetime64": [{"unit": "ns", "scale_factor": 1}, {"unit": "D", "scale_factor": 10}],
    "numpy.timedelta64": [{"unit": "s", "scale_factor": 1}, {"unit": "generic", "scale_factor": 1}],
    "struct": [
        {"fields": [{"name": "a", "data_type": "bool"}, {"name": "b", "data_type": "r24"}]},
        {"fields": [{"name": "a", "data_type": {"name": "struct", "configuration": {"fields": [
            {"name": "x", "data_type": "complex64"}, {"name": "y", "data_type": "uint16"}]}}}]},
    ],
}  # fmt: skip
"""The configurations of types that need one."""

UNUSABLE = ("float8_e4m3fn",)
"""Types whose arrays can be read but not created."""

ELEMENTS: dict[str, Sequence[Any]] = {
    "string": ["", "a", "ä\U0001f71a\0b", "x" * 300],
    "bytes": [b"", b"a\0", bytes(range(256))],
}


class TestAll(DataTypeSuite):
    def make_data_types(self) -> Sequence[DataType]:
        documents: list[Any] = ["r8", "r24"]
        for name in data_types.names():
            if name in SAMPLES:
                documents += [{"name": name, "configuration": sample} for sample in SAMPLES[name]]
            elif name not in UNUSABLE:
                documents.append(name)
        return [data_type_of(item) for item in documents]

    def make_elements(self, data_type: DataType) -> npt.NDArray[Any]:
        dtype = data_type.dtype
        if data_type.name in ELEMENTS:
            return np.array(ELEMENTS[data_type.name], dtype)
        if dtype.kind in "biufcmM":
            return super().make_elements(data_type)
        # For all other types, the elements that their codec decodes from random bits.
        spec = ChunkSpec((1,), dtype, data_type.default_fill())
        chain = Chain.bind((Bytes("little"),), spec, "$", problems := Problems())
        assert chain is not None, problems.found
        random = np.random.default_rng(0)
        arrays = [data_type.default_fill().reshape(1)]
        for content in (random.bytes(chain.encoded.limit) for _ in range(32)):
            try:
                arrays.append(chain.decode(content))
            except CodecError:  # characters beyond Unicode
                pass
        return np.concatenate(arrays)


# -- the suite itself


@dataclass(frozen=True, slots=True)
class FaultyType(Integer):
    """A data type with the named `fault`."""

    core: ClassVar[bool] = False
    name: str = "faulty"
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype("i2"))
    fault: str = ""

    def to_json(self) -> Any:
        return self.name if self.fault != "writes another name" else "int16"

    def default_fill(self) -> Any:
        return np.zeros((), "i4" if self.fault == "fills with another type" else "i2")

    def parse_fill(self, value: Any, path: str, problems: Any) -> Any:
        if self.fault == "raises other errors":
            return np.array(int(value), "i2")
        if self.fault == "reports no problem" and not isinstance(value, int):
            return None
        return Integer.parse_fill(self, value, path, problems)

    def dump_fill(self, fill: Any) -> Any:
        return 7 if self.fault == "writes another fill value" else Integer.dump_fill(self, fill)


DETECTING_TEST = {
    "writes another name": "test_document_roundtrip",
    "fills with another type": "test_default_fill_value_roundtrip",
    "raises other errors": "test_invalid_fill_values_never_raise",
    "reports no problem": "test_invalid_fill_values_never_raise",
    "writes another fill value": "test_fill_value_roundtrip",
}


@pytest.mark.parametrize(("fault", "test"), DETECTING_TEST.items(), ids=str)
def test_the_suite_detects_faults(fault: str, test: str) -> None:
    with restoring(data_types):
        data_types.register("faulty", FaultyType(fault=fault))
        with pytest.raises((AssertionError, TypeError, ValueError)):
            getattr(DataTypeSuite(), test)(FaultyType(fault=fault))


@pytest.mark.parametrize("test", [name for name in dir(DataTypeSuite) if name.startswith("test_")])
def test_the_suite_accepts_correct_data_types(test: str) -> None:
    class CorrectSuite(DataTypeSuite):
        fills = (1, -5)
        wrong_fills = ("x", 2**20, None)
        wrong_configurations = ({"a": 1},)

        def make_data_types(self) -> Sequence[DataType]:
            return [FaultyType()]

    with restoring(data_types):
        data_types.register("faulty", FaultyType)
        given = () if test == "test_configurations_differ" else (FaultyType(),)
        getattr(CorrectSuite(), test)(*given)


def test_the_suite_requires_a_registered_type() -> None:
    with pytest.raises(AssertionError):
        DataTypeSuite().test_document_roundtrip(FaultyType())
    with pytest.raises(NotImplementedError, match="must define make_data_types"):
        DataTypeSuite().make_data_types()
