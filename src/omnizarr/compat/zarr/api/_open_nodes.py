"""Opening and creating groups."""

from __future__ import annotations

import warnings
from typing import Any

from omnizarr import errors as own
from omnizarr.compat.zarr.core.common import default_format
from omnizarr.compat.zarr.core.group import Group
from omnizarr.compat.zarr.errors import (
    GroupNotFoundError,
    ZarrDeprecationWarning,
    ZarrRuntimeWarning,
    translated,
)
from omnizarr.compat.zarr.storage._common import StorePath, store_path_of
from omnizarr.compat.zarr.storage._engine import engine_store

__all__ = ["check_w_minus", "create_group", "group", "open_consolidated", "open_group", "parse_format", "warn_unused"]


def parse_format(zarr_version: Any, zarr_format: Any) -> Any:
    if zarr_format is not None and zarr_version is not None and zarr_format != zarr_version:
        raise ValueError(f"zarr_format {zarr_format} does not match zarr_version {zarr_version}, please only set one")
    if zarr_version is not None:
        warnings.warn("zarr_version is deprecated, use zarr_format", ZarrDeprecationWarning, stacklevel=3)
        return zarr_version
    return zarr_format


def warn_unused(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value is not None:
            warnings.warn(f"{name} is not yet implemented", ZarrRuntimeWarning, stacklevel=4)


def check_w_minus(place: StorePath, mode: Any) -> None:
    if mode == "w-" and next(iter(engine_store(place.store).list_prefix(f"{place.path}/" if place.path else "")), None):
        raise FileExistsError(
            f"Cannot create '{place.path}' with mode 'w-' because it already contains data. "
            f"Use mode 'w' to overwrite or 'a' to append."
        )


def open_consolidated(*args: Any, use_consolidated: Any = True, **kwargs: Any) -> Group:
    """Opens a group that has consolidated metadata."""
    if use_consolidated is not True:
        raise TypeError(
            "'use_consolidated' must be 'True' in 'open_consolidated'. Use 'open' with "
            "'use_consolidated=False' to bypass consolidated metadata."
        )
    return open_group(*args, use_consolidated=True, **kwargs)


@translated
def open_group(
    store: Any = None,
    *,
    mode: Any = "a",
    cache_attrs: Any = None,
    synchronizer: Any = None,
    path: str | None = None,
    chunk_store: Any = None,
    storage_options: Any = None,
    zarr_version: Any = None,
    zarr_format: Any = None,
    meta_array: Any = None,
    attributes: Any = None,
    use_consolidated: Any = None,
) -> Group:
    """Opens a group; the modes `a`, `w` and `w-` create it."""
    zarr_format = parse_format(zarr_version, zarr_format)
    warn_unused(cache_attrs=cache_attrs, synchronizer=synchronizer, meta_array=meta_array, chunk_store=chunk_store)
    place = store_path_of(store, path, mode, storage_options)
    check_w_minus(place, mode)
    if mode in ("r", "r+", "a"):
        try:
            return Group.open(place, zarr_format, use_consolidated)
        except (KeyError, FileNotFoundError):
            if mode != "a":
                raise GroupNotFoundError(f"No group found in store {store!r} at path {place.path!r}") from None
        except own.ArgumentError as error:
            raise ValueError(str(error)) from error
    return Group.from_store(
        place, attributes=attributes or {}, zarr_format=zarr_format or default_format(), overwrite=mode == "w"
    )


def group(
    store: Any = None,
    *,
    overwrite: bool = False,
    chunk_store: Any = None,
    cache_attrs: Any = None,
    synchronizer: Any = None,
    path: str | None = None,
    zarr_version: Any = None,
    zarr_format: Any = None,
    meta_array: Any = None,
    attributes: Any = None,
    storage_options: Any = None,
) -> Group:
    """Opens or creates a group."""
    return open_group(
        store,
        mode="w" if overwrite else "a",
        cache_attrs=cache_attrs,
        synchronizer=synchronizer,
        path=path,
        chunk_store=chunk_store,
        storage_options=storage_options,
        zarr_version=zarr_version,
        zarr_format=zarr_format,
        meta_array=meta_array,
        attributes=attributes,
    )


@translated
def create_group(
    store: Any,
    *,
    path: str | None = None,
    zarr_format: Any = None,
    overwrite: bool = False,
    attributes: Any = None,
    storage_options: Any = None,
) -> Group:
    """Creates a group."""
    place = store_path_of(store, path, "a", storage_options)
    return Group.from_store(
        place, attributes=attributes, zarr_format=zarr_format or default_format(), overwrite=overwrite
    )
