"""anndata: the encodings of elements, data frames, sparse matrices and categories, and shapes that must agree."""

from __future__ import annotations

from omnizarr.model import join_path
from omnizarr.tools.validation.conventions.hierarchy_view import HierarchyView

__all__ = ["check"]

_MEMBERS = ("obs", "var", "layers", "obsm", "varm", "obsp", "varp", "uns")
_SPARSE = {"csr_matrix": 0, "csc_matrix": 1}


def check(view: HierarchyView) -> None:
    roots = [path for path in view.groups() if view.attributes(path).get("encoding-type") == "anndata"]
    if not roots:
        view.add(
            "root", view.top, 'no group has "encoding-type": "anndata"', "write the data with anndata 0.8 or newer"
        )
    for root in roots:
        _check_root(view, root)


def _check_root(view: HierarchyView, root: str) -> None:
    for name in _MEMBERS:
        if join_path(root, name) not in view:
            view.add("elements", root, f"there is no `{name}`", "write the data again with anndata")
    prefix = f"{root}/" if root else ""
    for path in [*view.groups(), *(path for path, _ in view.arrays())]:
        if path != root and path.startswith(prefix):
            _check_element(view, path)
    observations, variables = (_frame_length(view, join_path(root, name)) for name in ("obs", "var"))
    expected = (observations, variables)
    for path in (join_path(root, "X"), *_children(view, join_path(root, "layers"))):
        shape = _shape(view, path)
        if shape is not None and None not in expected and shape != expected:
            view.add(
                "shapes",
                path,
                f"has shape {shape}, but there are {expected[0]} obs and {expected[1]} var",
                "make them agree",
            )
    for name, length in (("obsm", observations), ("varm", variables), ("obsp", observations), ("varp", variables)):
        for path in _children(view, join_path(root, name)):
            shape = _shape(view, path)
            if shape and length is not None and shape[0] != length:
                view.add("shapes", path, f"has {shape[0]} rows, expected {length}", "make them agree")


def _children(view: HierarchyView, group: str) -> list[str]:
    every = [*view.groups(), *(path for path, _ in view.arrays())]
    return [path for path in every if path and path.rpartition("/")[0] == group]


def _check_element(view: HierarchyView, path: str) -> None:
    attributes = view.attributes(path)
    kind = attributes.get("encoding-type")
    parent = view.attributes(path.rpartition("/")[0]).get("encoding-type")
    if kind is None:
        if parent not in (*_SPARSE, "categorical") and not str(parent).startswith("nullable"):
            view.add(
                "encoding",
                path,
                "has no `encoding-type`",
                "write the element again with anndata 0.8 or newer",
                level="warning",
            )
        return
    if not isinstance(kind, str):
        message, mend = f"expected text, found {kind!r:.60}", "write the element again with anndata"
        view.add("encoding", path, message, mend, place='$."encoding-type"')
        return
    if not isinstance(attributes.get("encoding-version"), str):
        view.add("encoding", path, "has no `encoding-version`", 'add it, such as "0.2.0"', place='$."encoding-version"')
    if kind == "dataframe":
        _check_frame(view, path)
    elif kind in _SPARSE:
        _check_sparse(view, path, _SPARSE[kind])
    elif kind == "categorical":
        for name in ("codes", "categories"):
            if view.array(join_path(path, name)) is None:
                view.add("categorical", path, f"there is no array `{name}`", "write the element again")


def _check_frame(view: HierarchyView, path: str) -> None:
    attributes = view.attributes(path)
    index, columns = attributes.get("_index"), attributes.get("column-order")
    if not isinstance(index, str) or join_path(path, index) not in view:
        view.add(
            "dataframe", path, f"the index `{index}` does not exist", "write the data frame again", place="$._index"
        )
    if not isinstance(columns, list):
        view.add("dataframe", path, "has no `column-order`", "list the columns", place='$."column-order"')
        return
    length = _frame_length(view, path)
    for name in columns:
        column = join_path(path, str(name))
        if column not in view:
            view.add("dataframe", path, f"the column `{name}` does not exist", "write it, or remove its name")
            continue
        shape = _shape(view, column)
        if shape and length is not None and shape[0] != length:
            view.add("dataframe", column, f"has {shape[0]} rows, but the index has {length}", "make them agree")


def _frame_length(view: HierarchyView, path: str) -> int | None:
    index = view.attributes(path).get("_index")
    shape = _shape(view, join_path(path, index)) if isinstance(index, str) else None
    return shape[0] if shape else None


def _shape(view: HierarchyView, path: str) -> tuple[int, ...] | None:
    """The shape of an element: of an array, or of what a group encodes."""
    array = view.array(path)
    if array is not None:
        return array.shape
    attributes = view.attributes(path)
    kind = attributes.get("encoding-type")
    if not isinstance(kind, str):
        return None
    if kind in _SPARSE:
        shape = attributes.get("shape")
        return tuple(shape) if isinstance(shape, list) else None
    if kind == "categorical":
        return _shape(view, join_path(path, "codes"))
    if kind.startswith("nullable"):
        return _shape(view, join_path(path, "values"))
    if kind == "dataframe":
        length = _frame_length(view, path)
        return None if length is None else (length,)
    return None


def _check_sparse(view: HierarchyView, path: str, axis: int) -> None:
    shape = view.attributes(path).get("shape")
    parts = {name: view.array(join_path(path, name)) for name in ("data", "indices", "indptr")}
    for name, array in parts.items():
        if array is None:
            view.add("sparse", path, f"there is no array `{name}`", "write the matrix again")
    if not isinstance(shape, list) or len(shape) != 2:
        view.add("sparse", path, f"`shape`: expected two numbers, found {shape!r}", "add the shape", place="$.shape")
        return
    indptr, data, indices = parts["indptr"], parts["data"], parts["indices"]
    if indptr is not None and indptr.shape != (shape[axis] + 1,):
        view.add(
            "sparse",
            path,
            f"`indptr` has shape {indptr.shape}, expected ({shape[axis] + 1},)",
            "write the matrix again",
        )
    if data is not None and indices is not None and data.shape != indices.shape:
        view.add("sparse", path, f"`data` has shape {data.shape}, `indices` {indices.shape}", "write the matrix again")
