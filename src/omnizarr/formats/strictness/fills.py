"""Fill values in a form that a strict writer does not write."""

from __future__ import annotations

import math

from omnizarr._json import Json, Problems, describe
from omnizarr.model import ArrayModel

__all__ = ["check_fill", "same_json_form"]


def check_fill(value: Json, model: ArrayModel, rule: str, problems: Problems) -> None:
    """Warns if a fill value that was read has another form than the canonical one of v3."""
    if model.fill is None or value is None or any(problem.path == "$.fill_value" for problem in problems.warnings):
        return
    if not isinstance(value, (str, bool, int, float)) or model.data_type.private or model.dtype.kind in "mM":
        return  # lists, objects and times may have several forms, which all are valid
    canonical = model.data_type.dump_fill(model.fill)
    if isinstance(canonical, (str, bool, int, float)) and not same_json_form(value, canonical):
        problems.warn("$.fill_value", f"is usually written {describe(canonical)}, found {describe(value)}", rule=rule)


def same_json_form(value: Json, canonical: Json) -> bool:
    """Whether two JSON values have one form. Numbers may differ by rounding; hexadecimal bits equal every number."""
    if isinstance(value, bool) or isinstance(canonical, bool):
        return isinstance(value, bool) and isinstance(canonical, bool)
    if isinstance(value, (int, float)) and isinstance(canonical, (int, float)):
        return not isinstance(value, float) or math.isfinite(value)
    if isinstance(value, str) and value.startswith("0x"):
        return True
    return isinstance(value, str) and value == canonical
