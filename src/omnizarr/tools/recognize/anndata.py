"""anndata: the encoding of a group or an array, and the parts of an annotated matrix."""

from __future__ import annotations

from omnizarr.tools.describe import ArrayInfo, GroupInfo
from omnizarr.tools.recognize.contract import Recognized, as_list, as_text, shapes

__all__ = ["recognize"]

_PARTS = ("layers", "obsm", "varm", "obsp", "varp", "uns")


def recognize(info: ArrayInfo | GroupInfo) -> Recognized | None:
    """The encoding that a node has in anndata; that of other libraries has other names."""
    encoding = as_text(info.attributes.get("encoding-type"))
    version = as_text(info.attributes.get("encoding-version"))
    if encoding is None or version is None:
        return None
    facts = {"Encoding": encoding}
    if isinstance(info, GroupInfo):
        _add_group(info, encoding, facts)
    return Recognized("anndata", version, facts)


def _add_group(info: GroupInfo, encoding: str, facts: dict[str, str]) -> None:
    known = shapes(info)
    shape = as_list(info.attributes.get("shape"))
    if shape:
        facts["Shape"] = " × ".join(str(length) for length in shape)
    columns = [as_text(name) for name in as_list(info.attributes.get("column-order"))]
    if columns:
        facts["Columns"] = ", ".join(name for name in columns if name)
    if encoding != "anndata":
        return
    sizes = [_length(known, part) for part in ("obs", "var")]
    matrix = known.get("X")
    lengths = matrix[:2] if matrix is not None and len(matrix) == 2 else tuple(sizes)
    if len(lengths) == 2 and None not in lengths:
        facts["Matrix"] = f"{lengths[0]} observations × {lengths[1]} variables"
    for part in ("obs", "var", *_PARTS):
        names = sorted({path.split("/")[1] for path in known if path.startswith(f"{part}/") and path.count("/")})
        names = [name for name in names if not name.startswith("_")]
        if names:
            facts[part] = ", ".join(names)


def _length(known: dict[str, tuple[int, ...]], part: str) -> int | None:
    index = known.get(f"{part}/_index") or known.get(f"{part}/index")
    return index[0] if index else None
