"""`FsspecStore` and `ObjectStore`: file systems of fsspec, and stores of obstore."""

from __future__ import annotations

from typing import Any, Self

from omnizarr import store as own
from omnizarr._cached_property import cached_property
from omnizarr.compat.zarr.storage._base import EngineBackedStore

__all__ = ["FsspecStore", "ObjectStore"]

ALLOWED_EXCEPTIONS: tuple[type[Exception], ...] = (FileNotFoundError, IsADirectoryError, NotADirectoryError)


class FsspecStore(EngineBackedStore):
    """The files of an fsspec file system below `path`."""

    def __init__(
        self, fs: Any, read_only: bool = False, path: str = "/", allowed_exceptions: Any = ALLOWED_EXCEPTIONS
    ) -> None:
        super().__init__(read_only=read_only)
        self.fs = fs
        self.path = path
        self.allowed_exceptions = allowed_exceptions

    @cached_property
    def inner(self) -> own.Store:
        return own.FsspecStore(self.fs, self.path, read_only=self._read_only)

    @classmethod
    async def open(cls, *args: Any, **kwargs: Any) -> Self:
        if "url" in kwargs:
            return cls.from_url(**kwargs)
        return await super().open(*args, **kwargs)

    @classmethod
    def from_url(
        cls,
        url: str,
        storage_options: dict[str, Any] | None = None,
        read_only: bool = False,
        allowed_exceptions: Any = ALLOWED_EXCEPTIONS,
    ) -> Self:
        """The store at a URL of fsspec."""
        from fsspec.core import url_to_fs

        fs, path = url_to_fs(url, **(storage_options or {}))
        return cls(fs=fs, path=path, read_only=read_only, allowed_exceptions=allowed_exceptions)

    @classmethod
    def from_upath(cls, upath: Any, read_only: bool = False, allowed_exceptions: Any = ALLOWED_EXCEPTIONS) -> Self:
        """The store at a path of universal_pathlib."""
        return cls(fs=upath.fs, path=upath.path.rstrip("/"), read_only=read_only, allowed_exceptions=allowed_exceptions)

    @classmethod
    def from_mapper(cls, fs_map: Any, read_only: bool = False, allowed_exceptions: Any = ALLOWED_EXCEPTIONS) -> Self:
        """The store of an fsspec mapper."""
        return cls(fs=fs_map.fs, path=fs_map.root, read_only=read_only, allowed_exceptions=allowed_exceptions)

    def with_read_only(self, read_only: bool = False) -> Self:
        return type(self)(fs=self.fs, path=self.path, allowed_exceptions=self.allowed_exceptions, read_only=read_only)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "inner"}

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        return f"<FsspecStore({type(self.fs).__name__}, {self.path})>"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, type(self))
            and self.path == other.path
            and self.read_only == other.read_only
            and bool(self.fs == other.fs)
        )

    __hash__ = None  # type: ignore[assignment]


FsspecStore._verbs_of = FsspecStore


class ObjectStore(EngineBackedStore):
    """The objects of a store of obstore."""

    def __init__(self, store: Any, *, read_only: bool = False) -> None:
        if not type(store).__module__.startswith("obstore"):
            raise TypeError(f"expected ObjectStore class, got {store!r}")
        super().__init__(read_only=read_only)
        self.store = store

    @cached_property
    def inner(self) -> own.Store:
        return own.ObjectStore(self.store, read_only=self._read_only)

    def with_read_only(self, read_only: bool = False) -> Self:
        return type(self)(store=self.store, read_only=read_only)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "inner"}

    def __str__(self) -> str:
        return f"object_store://{self.store}"

    def __repr__(self) -> str:
        return f"ObjectStore({self})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectStore) or self.read_only != other.read_only:
            return False
        return bool(self.store == other.store)

    __hash__ = None  # type: ignore[assignment]


ObjectStore._verbs_of = ObjectStore
