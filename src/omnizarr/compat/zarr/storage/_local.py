"""`LocalStore`: a directory."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Self

from omnizarr import store as own
from omnizarr._cached_property import cached_property
from omnizarr.compat.zarr.storage._base import EngineBackedStore

__all__ = ["LocalStore"]


class LocalStore(EngineBackedStore):
    """Keys as files below the directory `root`."""

    root: Path

    def __init__(self, root: Path | str, *, read_only: bool = False) -> None:
        super().__init__(read_only=read_only)
        if isinstance(root, str):
            root = Path(root)
        if not isinstance(root, Path):
            raise TypeError(f"'root' must be a string or Path instance. Got an instance of {type(root)} instead.")
        self.root = root

    @classmethod
    async def open(cls, root: Any, *, read_only: bool = False, mode: str | None = None) -> Self:
        if mode is not None:
            read_only = mode == "r"
        store = cls(root, read_only=read_only)
        if read_only and not store.root.exists():
            raise FileNotFoundError(f"{store.root} does not exist")
        await store._open()
        return store

    @cached_property
    def inner(self) -> own.Store:
        return own.LocalStore(self.root, read_only=self._read_only, follow_symlinks=True)

    async def _open(self) -> None:
        if not self.read_only:
            self.root.mkdir(parents=True, exist_ok=True)
        if not self.root.exists():
            raise FileNotFoundError(f"{self.root} does not exist")
        await super()._open()

    def with_read_only(self, read_only: bool = False) -> Self:
        return type(self)(root=self.root, read_only=read_only)

    async def clear(self) -> None:
        self._check_writable()
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True, exist_ok=True)

    async def move(self, dest_root: Path | str) -> None:
        """Moves the directory."""
        dest = Path(dest_root)
        dest.parent.mkdir(parents=True, exist_ok=True)
        if dest.exists():
            raise FileExistsError(f"Destination root {dest} already exists.")
        shutil.move(self.root, dest)
        self.root = dest
        self.__dict__.pop("inner", None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "inner"}

    def __str__(self) -> str:
        return f"file://{self.root.as_posix()}"

    def __repr__(self) -> str:
        return f"LocalStore('{self}')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.root == other.root

    __hash__ = None  # type: ignore[assignment]


LocalStore._verbs_of = LocalStore
