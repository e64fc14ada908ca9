"""`ZipStore`: a ZIP archive."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

from omnizarr import store as own
from omnizarr._cached_property import cached_property
from omnizarr.compat.zarr.storage._base import EngineBackedStore

__all__ = ["ZipStore"]


class ZipStore(EngineBackedStore):
    """Keys as the entries of the archive `path`. `close` completes the archive."""

    supports_deletes = False

    def __init__(
        self,
        path: Path | str,
        *,
        mode: str = "r",
        read_only: bool | None = None,
        compression: int = 0,
        allowZip64: bool = True,
    ) -> None:
        if read_only is None:
            read_only = mode == "r"
        super().__init__(read_only=read_only)
        if not isinstance(path, (str, Path)):
            raise TypeError(f"Unexpected type for path: {type(path)}")
        if mode not in ("r", "w", "a", "x"):
            raise ValueError(f"invalid mode {mode!r}: expected one of r, w, a and x")
        self.path = Path(path)
        self._zmode = mode
        self.compression = compression
        self.allowZip64 = allowZip64

    @cached_property
    def inner(self) -> own.Store:
        if not self._is_open:
            self._sync_open()
        return own.ZipStore(self.path, read_only=self._read_only or self._zmode == "r")

    def _sync_open(self) -> None:
        if self._is_open:
            raise ValueError("store is already open")
        if self._zmode == "w" and self.path.exists():
            self.path.unlink()
        elif self._zmode == "x" and self.path.exists():
            raise FileExistsError(os.fspath(self.path))
        elif self._zmode == "r" and not self.path.exists():
            raise FileNotFoundError(os.fspath(self.path))
        self._zmode = {"w": "a", "x": "a"}.get(self._zmode, self._zmode)  # opening it again keeps its contents
        self._is_open = True

    async def _open(self) -> None:
        self._sync_open()

    def close(self) -> None:
        if "inner" in self.__dict__:
            self.inner.close()
            del self.__dict__["inner"]
        super().close()

    def with_read_only(self, read_only: bool = False) -> Self:
        if "inner" in self.__dict__:
            self.inner.flush()
        mode = "r" if read_only else "a"
        return type(self)(self.path, mode=mode, compression=self.compression, allowZip64=self.allowZip64)

    async def delete(self, key: str) -> None:
        self._check_writable()
        if await self.exists(key):
            raise NotImplementedError

    async def delete_dir(self, prefix: str) -> None:
        self._check_writable()
        async for _ in self.list_prefix(prefix if prefix == "" or prefix.endswith("/") else prefix + "/"):
            raise NotImplementedError

    async def clear(self) -> None:
        self._check_writable()
        self.close()
        self.path.unlink(missing_ok=True)
        self._zmode = "w"
        self._sync_open()

    async def move(self, path: Path | str) -> None:
        """Moves the archive."""
        self.close()
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        os.replace(self.path, path)
        self.path = Path(path)
        self._sync_open()

    def __getstate__(self) -> dict[str, Any]:
        if "inner" in self.__dict__:
            self.inner.flush()
        return {name: value for name, value in self.__dict__.items() if name != "inner"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __str__(self) -> str:
        return f"zip://{self.path}"

    def __repr__(self) -> str:
        return f"ZipStore('{self}')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.path == other.path

    __hash__ = None  # type: ignore[assignment]


ZipStore._verbs_of = ZipStore
