"""GeoZarr: the conventions `spatial:`, `proj:` and `multiscales`, and the dimensions that they name."""

from __future__ import annotations

from typing import Any

from omnizarr._json import Json
from omnizarr.model import join_path
from omnizarr.tools.validation.conventions.hierarchy_view import HierarchyView, is_number

__all__ = ["check"]

_UUIDS = {
    "multiscales": "d35379db-88df-4056-af3a-620245f8e347",
    "spatial": "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4",
    "proj": "f17cb550-5864-4468-aeb7-f3180cfb622f",
}
_CRS = ("proj:code", "proj:wkt2", "proj:projjson")


def check(view: HierarchyView) -> None:
    used = False
    for path in [*view.groups(), *(path for path, _ in view.arrays())]:
        attributes = view.attributes(path)
        names = {name.partition(":")[0] for name in attributes if name.startswith(("spatial:", "proj:"))}
        multiscales = attributes.get("multiscales")
        if isinstance(multiscales, dict):
            names.add("multiscales")
            _check_multiscales(view, path, multiscales)
        used = used or bool(names)
        _check_registered(view, path, attributes.get("zarr_conventions"), names)
        if "spatial" in names:
            _check_spatial(view, path, attributes, "$")
        if "proj" in names:
            _check_proj(view, path, attributes)
        _check_grid_mapping(view, path, attributes)
    if not used and not any("grid_mapping" in view.attributes(path) for path, _ in view.arrays()):
        view.add(
            "conventions",
            view.top,
            "no node has `spatial:`, `proj:`, `multiscales` or a `grid_mapping`",
            "describe the coordinates with the conventions `spatial` and `proj`",
        )


def _check_registered(view: HierarchyView, path: str, value: Json, used: set[str]) -> None:
    items = value if isinstance(value, list) else []
    if value is not None and not isinstance(value, list):
        view.add(
            "zarr_conventions",
            path,
            f"expected a list, found {value!r:.60}",
            "write a list of objects",
            place="$.zarr_conventions",
        )
    known = {item.get("uuid") for item in items if isinstance(item, dict)}
    names = {str(item.get("name")).rstrip(":") for item in items if isinstance(item, dict)}
    for name in sorted(used):
        if _UUIDS[name] not in known and name not in names:
            view.add(
                "zarr_conventions",
                path,
                f"uses `{name}`, but does not register it",
                f'add an object with "name": "{name}" and "uuid": "{_UUIDS[name]}"',
                place="$.zarr_conventions",
                level="warning",
            )


def _check_spatial(view: HierarchyView, path: str, members: dict[str, Any], place: str) -> None:
    def bad(member: str, message: str, mend: str) -> None:
        view.add("spatial", path, f"`{member}`: {message}", mend, place=f'{place}."{member}"')

    dimensions = members.get("spatial:dimensions")
    if dimensions is None and place == "$":
        bad("spatial:dimensions", "is missing", 'name the spatial dimensions, such as ["y", "x"]')
    elif dimensions is not None and not (
        isinstance(dimensions, list) and len(dimensions) in (2, 3) and all(isinstance(name, str) for name in dimensions)
    ):
        bad("spatial:dimensions", f"expected 2 or 3 names, found {dimensions!r:.60}", 'write ["y", "x"]')
        dimensions = None
    count = len(dimensions) if dimensions else 2
    names = view.dimensions(path)
    if dimensions and view.array(path) is not None and not set(dimensions) <= set(names or ()):
        bad("spatial:dimensions", f"the array has the dimensions {names}", "use the names of the array's dimensions")
    for member, length in (("spatial:transform", 6), ("spatial:bbox", 2 * count), ("spatial:shape", count)):
        value = members.get(member)
        if value is not None and not (isinstance(value, list) and len(value) == length and all(map(is_number, value))):
            bad(member, f"expected {length} numbers, found {value!r:.60}", f"write {length} numbers")
    shape, array = members.get("spatial:shape"), view.array(path)
    if array is not None and dimensions and isinstance(shape, list) and names and set(dimensions) <= set(names):
        actual = [array.shape[names.index(name)] for name in dimensions]
        if shape != actual:
            bad("spatial:shape", f"is {shape}, but the array has {actual}", "write the shape of the array")
    if members.get("spatial:registration", "pixel") not in ("pixel", "node"):
        bad("spatial:registration", f"found {members['spatial:registration']!r}", 'write "pixel" or "node"')


def _check_proj(view: HierarchyView, path: str, members: dict[str, Any]) -> None:
    codes = [name for name in _CRS if name in members]
    if not codes:
        view.add("proj", path, "names no reference system", 'add "proj:code", such as "EPSG:4326"')
    code = members.get("proj:code")
    if code is not None and not (isinstance(code, str) and ":" in code):
        view.add(
            "proj",
            path,
            f"`proj:code`: expected a code such as EPSG:4326, found {code!r}",
            "correct it",
            place='$."proj:code"',
        )
    if "proj:wkt2" in members and not isinstance(members["proj:wkt2"], str):
        view.add("proj", path, "`proj:wkt2`: expected text", "write WKT2", place='$."proj:wkt2"')
    if "proj:projjson" in members and not isinstance(members["proj:projjson"], dict):
        view.add("proj", path, "`proj:projjson`: expected an object", "write PROJJSON", place='$."proj:projjson"')


def _check_multiscales(view: HierarchyView, group: str, value: dict[str, Any]) -> None:
    layout, place = value.get("layout"), "$.multiscales.layout"
    if not isinstance(layout, list) or not layout:
        if "tile_matrix_set" not in value:  # the form of GeoZarr 0.4
            view.add("multiscales", group, "`layout`: expected a list of levels", "list the levels", place=place)
        return
    assets = {item.get("asset") for item in layout if isinstance(item, dict)}
    for index, item in enumerate(layout):
        where = f"{place}[{index}]"
        asset = item.get("asset") if isinstance(item, dict) else None
        if not isinstance(asset, str) or asset.startswith("/") or ".." in asset.split("/"):
            view.add(
                "multiscales",
                group,
                f"`asset`: expected a path below the group, found {asset!r}",
                "correct it",
                place=where,
            )
            continue
        if join_path(group, asset) not in view:
            view.add("multiscales", group, f"there is no node `{asset}`", "write the level, or remove it", place=where)
        source, transform = item.get("derived_from"), item.get("transform")
        if source is not None and source not in assets:
            view.add(
                "multiscales", group, f"`derived_from`: `{source}` is not a level", "name another level", place=where
            )
        if source is not None and not isinstance(transform, dict):
            view.add(
                "multiscales", group, "a level with `derived_from` needs a `transform`", "add its scale", place=where
            )
        for member in ("scale", "translation"):
            numbers = transform.get(member) if isinstance(transform, dict) else None
            if numbers is not None and not (isinstance(numbers, list) and all(map(is_number, numbers))):
                view.add(
                    "multiscales",
                    group,
                    f"`{member}`: expected numbers, found {numbers!r:.60}",
                    "correct it",
                    place=where,
                )
        if any(name.startswith("spatial:") for name in item):
            _check_spatial(view, group, item, where)


def _check_grid_mapping(view: HierarchyView, path: str, attributes: dict[str, Any]) -> None:
    name = attributes.get("grid_mapping")
    if isinstance(name, str) and view.array(path) is not None:
        first = name.split()[0].rstrip(":") if name.split() else ""
        if view.sibling(path, first) is None:
            view.add(
                "grid_mapping",
                path,
                f"names `{first}`, which does not exist",
                "add the variable",
                place="$.grid_mapping",
            )
