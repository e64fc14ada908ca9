"""`engine_store`: the store of omnizarr for a store of this package, whose own methods may be overridden."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NoReturn

from omnizarr import store as own
from omnizarr.compat.zarr.abc.store import Store
from omnizarr.compat.zarr.storage._base import VERBS, EngineBackedStore
from omnizarr.compat.zarr.storage._wrapper import WrapperStore
from omnizarr.errors import InvalidKeyError
from omnizarr.store import ZarrPythonStore

__all__ = ["engine_store"]


def _package() -> Any:
    for name in ("abc.store", "core.buffer", "core.sync"):
        import_module(f"omnizarr.compat.zarr.{name}")
    return import_module("omnizarr.compat.zarr")


class _AsyncStoreAdapter(ZarrPythonStore):
    """Calls the coroutines of a store on the event loop of this package, and passes its exceptions on."""

    _library = staticmethod(_package)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def _fail(self, action: str, key: str, error: Exception) -> NoReturn:
        raise error

    def erase(self, key: str) -> None:
        if self.inner.supports_deletes:
            super().erase(key)
        elif self.exists(key):
            raise InvalidKeyError(f"{self!r} cannot delete `{key}`", key=key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _AsyncStoreAdapter) and (other.inner is self.inner or bool(other.inner == self.inner))

    def __hash__(self) -> int:
        return hash(type(self.inner))


def engine_store(store: Store) -> own.Store:
    """The store that the engine reads and writes. The engine calls the methods of `store` if a subclass defines them;
    otherwise it goes directly to the files or objects."""
    inner = store.engine_store if isinstance(store, EngineBackedStore) else None
    if inner is None and isinstance(store, WrapperStore):
        cls = type(store)
        if all(getattr(cls, verb) is getattr(WrapperStore, verb) for verb in VERBS):
            return engine_store(store._store)
    if inner is not None:
        return inner
    adapter = store.__dict__.get("_omnizarr_adapter")
    if adapter is None:
        adapter = _AsyncStoreAdapter(store)
        try:
            store.__dict__["_omnizarr_adapter"] = adapter
        except (AttributeError, TypeError):
            pass
    return adapter
