"""The `cast_value` codec: stores numbers in another number type (R128–R132)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems, describe
from omnizarr.codecs.array_to_array.cast_rules import Cast, ScalarMap
from omnizarr.codecs.config_members import check, choice, read, rule
from omnizarr.codecs.contract import ArrayCodec, BoundArrayCodec, ChunkSpec
from omnizarr.codecs.number_types import IntegerType, number_type, widen
from omnizarr.dtypes import DataType, data_type_of, from_numpy, parse_data_type
from omnizarr.errors import ArgumentError, CodecError

__all__ = ["BoundCastValue", "CastValue"]

_NUMBERS = "a core or registered type of integers or floats"
_DIRECTIONS = ("encode", "decode")


def _is_scalar_map(value: Json) -> bool:
    return isinstance(value, dict) and all(
        isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
        for pairs in value.values()
    )


@dataclass(frozen=True, slots=True)
class CastValue(ArrayCodec):
    """`{"name": "cast_value", "configuration": {"data_type": "uint8", "rounding": "nearest-even", "out_of_range":
    "clamp", "scalar_map": {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}}}`

    `rounding` and `out_of_range` apply to encoding and decoding. Without `out_of_range`, a number out of range is an
    error. `scalar_map` replaces single numbers before any other rule applies.
    """

    name: ClassVar[str] = "cast_value"
    spec_rule: ClassVar[str | None] = "R128"
    data_type: Any = field(metadata=rule("a data type of real numbers", lambda value: isinstance(value, DataType)))
    """The stored type, in any form that `create_array` accepts as `dtype`."""
    rounding: Literal["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"] = field(
        default="nearest-even",
        metadata=choice(
            *("nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"), optional=True
        ),
    )
    out_of_range: Literal["clamp", "wrap"] | None = field(default=None, metadata=choice("clamp", "wrap", optional=True))
    scalar_map: Mapping[str, Any] | None = field(
        default=None,
        metadata=rule(
            "an object with members `encode` and `decode`, each a list of pairs", _is_scalar_map, optional=True
        ),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "data_type", data_type_of(self.data_type))
        if isinstance(self.scalar_map, Mapping):
            object.__setattr__(self, "scalar_map", {name: _pairs(value) for name, value in self.scalar_map.items()})
        check(self)
        for member in self.scalar_map or ():
            if member not in _DIRECTIONS:
                raise ArgumentError(
                    f"codec `{self.name}`: `scalar_map`: expected members `encode` and `decode`, found {member!r}",
                    argument="scalar_map",
                )
        number = number_type(self.data_type.dtype)
        if number is None:
            raise ArgumentError(
                f"codec `{self.name}`: `data_type`: expected {_NUMBERS}, found {self.data_type.name}",
                argument="data_type",
            )
        if self.out_of_range == "wrap" and not isinstance(number, IntegerType):
            raise ArgumentError(
                f"codec `{self.name}`: `out_of_range`: only integers can wrap around, found {self.data_type.name}",
                argument="out_of_range",
            )

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> CastValue | None:
        where = f"{path}.configuration"
        before = len(problems.found)
        members = dict(configuration)
        if "data_type" in members:
            data_type = parse_data_type(members["data_type"], f"{where}.data_type", problems)
            if data_type is None:
                return None
            members["data_type"] = data_type
        if isinstance(members.get("scalar_map"), dict):
            check_members(members["scalar_map"], _DIRECTIONS, f"{where}.scalar_map", problems, rule="R128")
        arguments = read(cls, members, path, problems)
        return None if arguments is None or len(problems.found) > before else cls(**arguments)

    def configuration(self) -> dict[str, Json]:
        members = {
            "data_type": self.data_type.to_json(),
            "rounding": self.rounding,
            "out_of_range": self.out_of_range,
            "scalar_map": self.scalar_map,
        }
        return {name: value for name, value in members.items() if value is not None}

    def __hash__(self) -> int:
        return hash(json.dumps(self.configuration(), sort_keys=True))

    def becomes(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        stored: np.dtype[Any] = self.data_type.dtype
        return stored

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundCastValue | None:
        source = from_numpy(spec.dtype)
        if source is None or number_type(spec.dtype) is None:
            problems.add(path, f"codec `{self.name}`: expected {_NUMBERS}, found {spec.dtype}", rule="R128")
            return None
        before = len(problems.found)
        maps = {
            direction: self._map(direction, source, f"{path}.configuration.scalar_map", problems)
            for direction in _DIRECTIONS
        }
        if len(problems.found) > before:
            return None
        encode = Cast(spec.dtype, self.data_type.dtype, self.rounding, self.out_of_range, maps["encode"])
        decode = Cast(self.data_type.dtype, spec.dtype, self.rounding, self.out_of_range, maps["decode"])
        fill = spec.fill
        try:
            encoded = encode(fill)
            decoded = decode(encoded)
        except ValueError as error:
            problems.add(path, f"codec `{self.name}` cannot encode the fill value: {error}", rule="R132")
            return None
        if not _is_same_number(fill, decoded):  # R132
            problems.add(
                path,
                f"codec `{self.name}` does not keep the fill value: {describe(source.dump_fill(fill))} is encoded as "
                f"{describe(self.data_type.dump_fill(encoded))} and decoded as {describe(source.dump_fill(decoded))}",
                rule="R132",
            )
            return None
        return BoundCastValue(ChunkSpec(spec.shape, self.data_type.dtype, encoded), encode, decode)

    def _map(self, direction: str, source: DataType, path: str, problems: Problems) -> ScalarMap | None:
        """The scalar map of one direction. Documents write each number like a fill value of its type (R131)."""
        pairs = (self.scalar_map or {}).get(direction)
        if not pairs:
            return None
        sides = (source, self.data_type) if direction == "encode" else (self.data_type, source)
        columns = [
            [
                side.parse_fill(value, f"{path}.{direction}[{index}][{at}]", problems)
                for index, value in enumerate(column)
            ]
            for at, (side, column) in enumerate(zip(sides, zip(*pairs, strict=True), strict=True))
        ]
        if any(value is None for column in columns for value in column):
            return None
        keys, values = (np.stack(column) for column in columns)
        return ScalarMap(keys, values)


def _pairs(value: Any) -> Any:
    """Pairs of numbers in their JSON form. Anything else is returned unchanged, for `check` to reject."""
    if isinstance(value, Mapping):
        value = list(value.items())
    if not isinstance(value, (list, tuple)):
        return value
    return [[_to_json(item) for item in pair] if isinstance(pair, (list, tuple)) else pair for pair in value]


def _to_json(value: Any) -> Json:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _is_same_number(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Whether two scalars are equal, where all NaNs are equal, and so are both zeros."""
    a, b = widen(one)[()], widen(other)[()]
    return bool(a == b or (a != a and b != b))


class BoundCastValue(BoundArrayCodec):
    """A bound `CastValue`: one `Cast` for each direction."""

    __slots__ = ("_decode", "_encode", "encoded")

    def __init__(self, encoded: ChunkSpec, encode: Cast, decode: Cast) -> None:
        self.encoded = encoded
        self._encode = encode
        self._decode = decode

    def encode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return _convert(self._encode, array)

    def decode(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return _convert(self._decode, array)


def _convert(cast: Cast, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    try:
        return cast(array)
    except ValueError as error:
        raise CodecError(CastValue.name, str(error)) from None
