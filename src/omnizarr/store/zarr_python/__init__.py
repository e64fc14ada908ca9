"""Adapters between stores of zarr-python 3 and stores of omnizarr, in both directions."""

from __future__ import annotations

from typing import Any

from omnizarr.errors import MissingDependencyError
from omnizarr.store.contract import Store
from omnizarr.store.zarr_python.adapter import ZarrPythonStore

__all__ = ["ZarrPythonStore", "as_zarr_store"]


def as_zarr_store(store: Store | Any, *, read_only: bool | None = None) -> Any:
    """A store of zarr-python 3 with the same keys and values, for `zarr.open` and other functions of zarr-python. A
    path or a URL is opened first."""
    try:
        from omnizarr.store.zarr_python.export import LocalOmnizarrStore, OmnizarrStore
    except ImportError:
        raise MissingDependencyError("`as_zarr_store`", "zarr>=3") from None
    if not isinstance(store, Store):
        from omnizarr.store.address.parse import locate
        from omnizarr.store.wrappers import PrefixStore

        root, path = locate(store)
        store = PrefixStore(root, path) if path.strip("/") else root
    return (OmnizarrStore if store.remote else LocalOmnizarrStore)(store, read_only=read_only)
