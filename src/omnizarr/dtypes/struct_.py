"""`struct`: named fields of other types without padding (R149)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems
from omnizarr.dtypes.contract import LARGEST_ITEM, DataType, Scalar, exact_scalar
from omnizarr.dtypes.lookup import DEEPEST, from_numpy, parse_data_type
from omnizarr.errors import ArgumentError

__all__ = ["Struct", "of_numpy", "read_struct"]


@dataclass(frozen=True, slots=True)
class Struct(DataType):
    """A NumPy record without padding."""

    name: str = field(init=False, default="struct")
    dtype: np.dtype[Any] = field(init=False)
    fields: tuple[tuple[str, DataType], ...]

    def __post_init__(self) -> None:
        names = [name for name, _ in self.fields]
        wrong = None
        if not names:
            wrong = "a struct needs at least one field"
        elif not all(names):
            wrong = "a field of a struct needs a name"
        elif len(set(names)) < len(names):
            wrong = f"the field `{next(name for name in names if names.count(name) > 1)}` appears twice in a struct"
        elif not all(kind.fixed_size for _, kind in self.fields):
            wrong = "the fields of a struct must have a fixed size"
        elif any(kind.private for _, kind in self.fields):
            wrong = "the fields of a struct cannot have padding or contain arrays"
        elif sum(kind.dtype.itemsize for _, kind in self.fields) > LARGEST_ITEM:
            wrong = f"a struct of more than {LARGEST_ITEM} bytes"
        elif self.depth > DEEPEST:
            wrong = f"structs are nested more than {DEEPEST} levels deep"
        if wrong:
            raise ArgumentError(wrong, argument="dtype")
        formats = [kind.dtype for _, kind in self.fields]
        object.__setattr__(self, "dtype", np.dtype({"names": names, "formats": formats}))

    @property
    def depth(self) -> int:
        """The number of nested structs, including this one."""
        return 1 + max((kind.depth for _, kind in self.fields if isinstance(kind, Struct)), default=0)

    @property
    def only_v3(self) -> bool:
        return any(kind.only_v3 for _, kind in self.fields)

    @property
    def only_read(self) -> bool:
        return any(kind.only_read for _, kind in self.fields)

    def to_json(self) -> Json:
        fields = [{"name": name, "data_type": kind.to_json()} for name, kind in self.fields]
        return {"name": self.name, "configuration": {"fields": fields}}

    def default_fill(self) -> Scalar:
        return self._filled({name: kind.default_fill() for name, kind in self.fields})

    def parse_fill(self, value: Json, path: str, problems: Problems) -> Scalar | None:
        """From an object with a member per field. Null and missing fields are read as the default (A6, A46)."""
        if value is None:
            problems.warn(path, "null is read as the default fill value", rule="A6")
            return self.default_fill()
        if not isinstance(value, dict):
            problems.expected(path, "an object with a member for each field", value, rule="R149")
            return None
        before = len(problems.found)
        check_members(value, self._names, path, problems, rule="R149")
        parts: dict[str, Scalar] = {}
        for name, kind in self.fields:
            if name not in value:
                problems.warn(f"{path}.{name}", "the field is missing: its default is used", rule="A46")
                parts[name] = kind.default_fill()
            elif (part := kind.parse_fill(value[name], f"{path}.{name}", problems)) is not None:
                parts[name] = part
        return None if len(problems.found) > before else self._filled(parts)

    def dump_fill(self, fill: Scalar) -> Json:
        return {name: kind.dump_fill(fill[name]) for name, kind in self.fields}

    def cast_fill(self, value: Any) -> Scalar:
        """From a dict, a tuple in the order of the fields, or a NumPy record."""
        exact = exact_scalar(value, self.dtype)
        if exact is not None:
            return exact
        parts = value
        if isinstance(value, (np.void, np.ndarray)) and value.ndim == 0 and value.dtype.names is not None:
            parts = {name: np.asarray(value)[name] for name in value.dtype.names}
        elif isinstance(value, (tuple, list)) and len(value) == len(self.fields):
            parts = dict(zip(self._names, value, strict=True))
        if not isinstance(parts, Mapping) or set(parts) != set(self._names):
            raise ArgumentError(
                f"fill value of `struct`: expected a value for each of the fields {', '.join(self._names)}, "
                f"found {value!r}",
                argument="fill_value",
            )
        try:
            return self._filled({(last := name): kind.cast_fill(parts[name]) for name, kind in self.fields})
        except ArgumentError as error:
            raise ArgumentError(f"field `{last}`: {error.message}", argument="fill_value", hint=error.hint) from None

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.fields)

    def _filled(self, parts: Mapping[str, Scalar]) -> Scalar:
        fill = np.zeros((), self.dtype)
        for name, part in parts.items():
            fill[name] = part
        return fill


def read_struct(name: str, configuration: dict[str, Json], path: str, problems: Problems) -> Struct | None:
    """Reads `{"fields": [{"name": …, "data_type": …}, …]}`. Fields of the old type `structured` may be pairs (R150)."""
    before = len(problems.found)
    check_members(configuration, ("fields",), f"{path}.configuration", problems, rule="R149")
    where = f"{path}.configuration.fields"
    items = configuration.get("fields")
    if not isinstance(items, list) or not items:
        problems.expected(where, "a list of at least one field", items, rule="R149")
        return None
    fields: list[tuple[str, DataType]] = []
    seen: set[str] = set()
    for index, item in enumerate(items):
        place = f"{where}[{index}]"
        if name == "structured" and isinstance(item, list) and len(item) == 2:
            item = {"name": item[0], "data_type": item[1]}
        if not isinstance(item, dict):
            problems.expected(place, "an object with `name` and `data_type`", item, rule="R149")
            continue
        check_members(item, ("name", "data_type"), place, problems, rule="R149")
        label = item.get("name")
        if not isinstance(label, str) or not label:
            problems.expected(f"{place}.name", "a name that is not empty", label, rule="R149")
        elif label in seen:
            problems.add(f"{place}.name", f"the field `{label}` appears twice", rule="R149")
        else:
            seen.add(label)
        kind = parse_data_type(item.get("data_type"), f"{place}.data_type", problems)
        if kind is not None and not kind.fixed_size:
            problems.add(
                f"{place}.data_type",
                f"a field must have a fixed size, but `{kind.name}` has a variable one",
                rule="R149",
            )
        elif kind is not None and isinstance(label, str):
            fields.append((label, kind))
    if len(problems.found) > before:
        return None
    try:
        return Struct(tuple(fields))
    except ArgumentError as error:  # too large or too deep
        problems.add(path, error.message, rule="R149")
        return None


def of_numpy(dtype: np.dtype[Any]) -> Struct | None:
    if not dtype.names:
        return None
    kinds = [from_numpy(dtype[name]) for name in dtype.names]
    known = [kind for kind in kinds if kind is not None and not kind.private]
    return Struct(tuple(zip(dtype.names, known, strict=True))) if len(known) == len(kinds) else None
