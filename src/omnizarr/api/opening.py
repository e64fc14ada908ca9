"""Opening what exists, and, in the modes that allow it, creating what does not."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from omnizarr.api.location import StoreLike, resolve
from omnizarr.errors import ArgumentError, NodeExistsError, NodeNotFoundError
from omnizarr.formats import dialect
from omnizarr.model import ZarrFormat, normal_path
from omnizarr.nodes import Array, Group, check_names, new_array, new_group, open_node
from omnizarr.nodes.site import Site
from omnizarr.store import Store, as_read_only

__all__ = ["Mode", "open", "open_array", "open_group"]

_Kind: TypeAlias = Literal["array", "group"]

Mode: TypeAlias = Literal["r", "r+", "a", "w", "w-"]
"""`r` reads; `r+` reads and writes what exists; `a` also creates; `w` replaces; `w-` creates what must not exist."""


def open(
    store: StoreLike,
    *,
    path: str | None = None,
    mode: Mode | None = None,
    zarr_format: ZarrFormat | None = None,
    use_consolidated: bool | None = None,
    storage_options: dict[str, Any] | None = None,
    **options: Any,
) -> Array | Group:
    """Opens what lies at a place, array or group, whichever it is.

    Without a `mode` what is there is opened for reading and writing, and nothing is ever created. The modes that create
    make an array if `options` give a `shape` or `data`, and a group otherwise.
    """
    check_names(options)
    kind: _Kind | None = "array" if "shape" in options or "data" in options else None
    return _open(store, kind, path, mode, zarr_format, use_consolidated, storage_options, options)


def open_array(
    store: StoreLike,
    *,
    path: str | None = None,
    mode: Mode | None = None,
    zarr_format: ZarrFormat | None = None,
    use_consolidated: bool | None = None,
    storage_options: dict[str, Any] | None = None,
    **options: Any,
) -> Array:
    """Opens an array. The modes that create take the `options` of `create_array`."""
    check_names(options)
    found = _open(store, "array", path, mode, zarr_format, use_consolidated, storage_options, options)
    assert isinstance(found, Array)
    return found


def open_group(
    store: StoreLike = None,
    *,
    path: str | None = None,
    mode: Mode | None = "a",
    zarr_format: ZarrFormat | None = None,
    use_consolidated: bool | None = None,
    storage_options: dict[str, Any] | None = None,
    attributes: dict[str, Any] | None = None,
) -> Group:
    """Opens a group; a new one, if there is none and the mode allows it, as the usual one does."""
    options = {} if attributes is None else {"attributes": attributes}
    found = _open(store, "group", path, mode, zarr_format, use_consolidated, storage_options, options)
    assert isinstance(found, Group)
    return found


def _open(
    place: StoreLike,
    kind: _Kind | None,
    path: str | None,
    mode: Mode | None,
    zarr_format: ZarrFormat | None,
    use_consolidated: bool | None,
    storage_options: dict[str, Any] | None,
    options: dict[str, Any],
) -> Array | Group:
    if mode not in ("r", "r+", "a", "w", "w-", None):
        raise ArgumentError(f"`mode`: expected one of r, r+, a, w and w-, found {mode!r}", argument="mode")
    store = resolve(place, storage_options)
    where = normal_path(path)
    if mode == "r" or (store.read_only and mode in (None, "a")):
        store = as_read_only(store)
        mode = "r"
    if mode is not None and mode != "r":
        store.check_writable()
    if mode in ("w", "w-"):
        try:
            return _create(store, kind, where, zarr_format, options, overwrite=mode == "w")
        except NodeExistsError as error:
            error.hint = 'mode="w" replaces it, with all that lies below it'
            raise
    try:
        found = open_node(store, where, zarr_format=zarr_format, use_consolidated=use_consolidated, kind=kind)
        if isinstance(found, Array) and options.get("write_empty_chunks"):
            found._write_empty_chunks = True
        return found
    except NodeNotFoundError as error:
        if mode != "a":
            raise
        if error.hint is not None:  # something of another generation lies there
            raise
        return _create(store, kind, where, zarr_format, options, overwrite=False)


def _create(
    store: Store,
    kind: _Kind | None,
    path: str,
    zarr_format: ZarrFormat | None,
    options: dict[str, Any],
    *,
    overwrite: bool,
) -> Array | Group:
    site = Site(store, path, dialect(3 if zarr_format is None else zarr_format))
    if kind == "array":
        return new_array(site, **{**options, "overwrite": overwrite})
    if options.keys() - {"attributes"}:
        raise ArgumentError(
            f"a new group takes no {', '.join(sorted(options.keys() - {'attributes'}))}",
            argument="options",
            hint="a new array needs a `shape`, or `data`",
        )
    return new_group(site, options.get("attributes"), overwrite=overwrite)
