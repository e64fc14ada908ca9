"""Data types: an element in metadata and in memory. One module per family. Plain numbers are always loaded, the others
on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from omnizarr.dtypes.bitwise import is_fill, same_bits
from omnizarr.dtypes.contract import DataType, Reader, Scalar, as_elements, data_types
from omnizarr.dtypes.lookup import data_type_of, from_numpy, parse_data_type

# Each module registers its types. If several accept one NumPy dtype, the first one is used.
from omnizarr.dtypes.numbers import boolean, complex_, floating, integer  # noqa: F401

if TYPE_CHECKING:
    from omnizarr.dtypes.datetime_ import Datetime
    from omnizarr.dtypes.fixed_bytes import FixedBytes
    from omnizarr.dtypes.objects import Objects
    from omnizarr.dtypes.record import Record, data_type_of_stored, fill_from_bytes, fill_to_bytes
    from omnizarr.dtypes.string_ import String
    from omnizarr.dtypes.struct_ import Struct
    from omnizarr.dtypes.typestr import dump_typestr, parse_typestr
    from omnizarr.dtypes.unicode_ import FixedUnicode
    from omnizarr.dtypes.variable_bytes import VariableBytes

__all__ = [
    "DataType",
    "Datetime",
    "FixedBytes",
    "FixedUnicode",
    "Objects",
    "Reader",
    "Record",
    "Scalar",
    "String",
    "Struct",
    "VariableBytes",
    "as_elements",
    "data_type_of",
    "data_type_of_stored",
    "data_types",
    "dump_typestr",
    "fill_from_bytes",
    "fill_to_bytes",
    "from_numpy",
    "is_fill",
    "parse_data_type",
    "parse_typestr",
    "same_bits",
]

_MODULES = {
    "Datetime": "datetime_",
    "FixedBytes": "fixed_bytes",
    "FixedUnicode": "unicode_",
    "Objects": "objects",
    "Record": "record",
    "String": "string_",
    "Struct": "struct_",
    "VariableBytes": "variable_bytes",
    "data_type_of_stored": "record",
    "dump_typestr": "typestr",
    "fill_from_bytes": "record",
    "fill_to_bytes": "record",
    "parse_typestr": "typestr",
}

_ML_FLOATS = (
    *("bfloat16", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3"),
    *("float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
_ML_TYPES = (
    *("int2", "int4", "uint2", "uint4", *_ML_FLOATS, "float8_e4m3fn", "complex_float16"),
    *(f"complex_{name}" for name in _ML_FLOATS),
)

for _name, _place, _aliases in (
    ("numpy.datetime64", "datetime_:read_datetime", ()),
    ("numpy.timedelta64", "datetime_:read_datetime", ()),
    ("fixed_length_utf32", "unicode_:read_unicode", ()),
    ("null_terminated_bytes", "fixed_bytes:read_fixed_bytes", ()),
    ("string", "string_:read_string", ()),
    ("bytes", "variable_bytes:read_bytes", ("variable_length_bytes", "binary")),
    ("struct", "struct_:read_struct", ("structured",)),
    *((name, "numbers.ml_types:read_ml_type", ()) for name in _ML_TYPES),
):
    data_types.offer(_name, f"{__name__}.{_place}", aliases=_aliases)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
