"""Forms of v1 and v2 that their parsers accept in silence."""

from __future__ import annotations

from omnizarr._json import Json, Problems, describe, from_base64
from omnizarr.formats.document_members import unknown_members
from omnizarr.formats.strictness.fills import same_json_form
from omnizarr.formats.v1_v2_dump import stored_dtype_of
from omnizarr.formats.v2_fills import dump_fill
from omnizarr.model import ArrayModel

__all__ = ["check_v1_array", "check_v2_array", "check_v2_group"]


def check_v2_array(
    document: dict[str, Json], known: tuple[str, ...], model: ArrayModel | None, problems: Problems
) -> None:
    """The document of a v2 array; `model` is None if it has other problems."""
    for member in ("filters", "fill_value"):
        if member not in document:
            problems.warn(f"$.{member}", "is missing: read as null", rule="V26")
    if document.get("filters") == []:
        problems.warn("$.filters", "is an empty list: read as null", rule="V26")
    for member in unknown_members(document, known):
        problems.advise(f"$.{member}", "is not a member of the specification", rule="V2")
    if _has_unordered_text(document.get("dtype")):
        problems.warn("$.dtype", "text has no byte order: read as little-endian", rule="A52")
    if model is not None:
        _check_fill(document.get("fill_value"), model, problems)


def check_v2_group(document: dict[str, Json], problems: Problems) -> None:
    for member in unknown_members(document, ("zarr_format",)):
        problems.warn(f"$.{member}", "is not a member of the document of a group", rule="V17")


def check_v1_array(document: dict[str, Json], attributes: Json, model: ArrayModel | None, problems: Problems) -> None:
    """The document of a v1 array. `attributes` is None if there is no `attrs`."""
    if attributes is None:
        problems.warn("$(attrs)", "is missing: there are no attributes", rule="U12")
    compression = document.get("compression")
    if "compression" in document and compression in (None, "gzip"):
        expected = '"none"' if compression is None else '"zlib"'
        problems.warn("$.compression", f"is usually written {expected}, found {describe(compression)}", rule="U15")
    if compression in ("zlib", "bz2", "blosc", "lzma") and document.get("compression_opts", 0) is None:
        problems.warn("$.compression_opts", "is null: the defaults are assumed", rule="U14")
    elif isinstance(document.get("compression_opts"), str):
        problems.warn("$.compression_opts", "is text: its JSON value is used", rule="U14")
    fields = document.get("dtype")
    for index, field in enumerate(fields if isinstance(fields, list) else ()):
        if isinstance(field, list) and len(field) == 3:
            problems.warn(f"$.dtype[{index}]", "has a shape; a field is a pair of name and type", rule="U7")
    if _has_unordered_text(fields):
        problems.warn("$.dtype", "text has no byte order: read as little-endian", rule="A52")
    if document.get("shape") == []:
        problems.warn("$.shape", "is empty: v1 defines no key for the only chunk, which is read as `0`", rule="U9")


def _has_unordered_text(dtype: Json) -> bool:
    if isinstance(dtype, list):
        return any(isinstance(field, list) and len(field) > 1 and _has_unordered_text(field[1]) for field in dtype)
    return isinstance(dtype, str) and dtype.startswith("|U")


def _check_fill(value: Json, model: ArrayModel, problems: Problems) -> None:
    """Warns of a fill value in another form than zarr-python 2 writes (V10, V11, V29)."""
    if value is None or model.fill is None or any(problem.path == "$.fill_value" for problem in problems.warnings):
        return
    kind = model.dtype.kind
    stored = stored_dtype_of(model)
    if kind not in "biufcmMSVU" or stored.hasobject:
        return
    canonical = dump_fill(model.fill, model.data_type, stored)
    if kind in "SV":
        data = from_base64(value)
        if data is None:
            problems.warn("$.fill_value", f"is not base64: usually written {describe(canonical)}", rule="V11")
        elif kind == "S" and len(data) < stored.itemsize:
            problems.advise("$.fill_value", "lacks trailing zeros, which TensorStore requires", rule="A59")
        return
    if isinstance(canonical, list) != isinstance(value, list) or (
        not isinstance(canonical, list) and not same_json_form(value, canonical)
    ):
        rule = "V10" if kind == "f" else "V29"
        problems.warn("$.fill_value", f"is usually written {describe(canonical)}, found {describe(value)}", rule=rule)
    elif kind in "iumM" and isinstance(value, float):
        problems.warn("$.fill_value", "an integer is written without fraction and exponent", rule="V29")
    elif kind in "mM" and isinstance(value, int) and value >= 2**63:
        problems.warn("$.fill_value", f"is unsigned: usually written {describe(canonical)}", rule="V29")
