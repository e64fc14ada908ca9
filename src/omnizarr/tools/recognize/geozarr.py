"""GeoZarr: the coordinate reference system, the transform, and the levels of a pyramid."""

from __future__ import annotations

from omnizarr._json import Json
from omnizarr.tools.describe import ArrayInfo, GroupInfo
from omnizarr.tools.recognize.contract import Recognized, as_dict, as_list, as_text, dicts, shapes

__all__ = ["recognize"]

_LONGEST_CRS = 60  # characters; the well-known text of a system has thousands


def recognize(info: ArrayInfo | GroupInfo) -> Recognized | None:
    """What a node says in the conventions `proj:`, `spatial:` and `multiscales`, or in older ones of GeoZarr."""
    attributes = info.attributes
    facts: dict[str, str] = {}
    names = [as_text(item.get("name")) for item in dicts(attributes.get("zarr_conventions"))]
    if any(names):
        facts["Conventions"] = ", ".join(name for name in names if name)
    crs = _reference_system(attributes)
    if crs is not None:
        facts["Reference system"] = crs if len(crs) <= _LONGEST_CRS else f"{crs[: _LONGEST_CRS - 1]}…"
    for name, title in (("spatial:transform", "Transform"), ("spatial:bbox", "Bounds"), ("spatial:shape", "Shape")):
        numbers = [as_text(number) for number in as_list(attributes.get(name))]
        if numbers and all(numbers):
            facts[title] = ", ".join(number for number in numbers if number)
    dimensions = [as_text(name) for name in as_list(attributes.get("spatial:dimensions"))]
    if dimensions:
        facts["Dimensions"] = ", ".join(name or "–" for name in dimensions)
    multiscales = as_dict(attributes.get("multiscales"))
    levels = _levels(multiscales, info)
    if levels:
        facts["Levels"] = "; ".join(levels)
    version = as_text(multiscales.get("version")) if levels else None
    return Recognized("GeoZarr", version, facts) if facts else None


def _reference_system(attributes: dict[str, Json]) -> str | None:
    for name in ("proj:code", "proj:epsg"):
        code = as_text(attributes.get(name))
        if code is not None:
            return code if ":" in code else f"EPSG:{code}"
    text = as_text(attributes.get("proj:wkt2"))
    if text is not None:
        return text
    return as_text(as_dict(attributes.get("proj:projjson")).get("name"))


def _levels(multiscales: dict[str, Json], info: ArrayInfo | GroupInfo) -> list[str]:
    """The levels of a pyramid: the newer form has a `layout`, the older one a tile matrix set."""
    known = shapes(info)
    levels = []
    for item in dicts(multiscales.get("layout")):
        name = as_text(item.get("asset")) or as_text(item.get("group"))
        if name is not None:
            sizes = {shape for path, shape in known.items() if path == name or path.startswith(f"{name}/")}
            largest = max(sizes, key=len, default=())
            levels.append(f"{name}: {' × '.join(map(str, largest))}" if largest else name)
    matrices = as_dict(multiscales.get("tile_matrix_set"))
    for item in dicts(matrices.get("tileMatrices") or matrices.get("tileMatrix")):
        name = as_text(item.get("id")) or as_text(item.get("identifier"))
        if name is not None:
            levels.append(name)
    return levels
