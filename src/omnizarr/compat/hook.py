"""`install`: an import hook that loads the modules of `omnizarr.compat.zarr` under the name `zarr`."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from omnizarr.errors import OmnizarrError

__all__ = ["VERSION", "InstallError", "install", "installed", "uninstall"]

VERSION = "3.4.2"
"""The release of zarr-python whose names and behaviour the modules have."""

_TARGET = "omnizarr.compat.zarr"
_SHADOW = str(Path(__file__).with_name("shadow"))
"""The folder on `sys.path` by which child processes find the hook."""


class InstallError(OmnizarrError, ImportError):
    """`install` cannot replace zarr-python, because the program has imported it already."""


class _AliasLoader(importlib.abc.Loader):
    """Loads a module of `omnizarr.compat.zarr`, and returns it under a second name."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._spec: Any = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = import_module(self._target)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # importlib has replaced it by the spec of the second name


class _Distribution(importlib.metadata.Distribution):
    """Answers `importlib.metadata.version("zarr")`."""

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: zarr\nVersion: {VERSION}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        return path


class _Finder(importlib.metadata.DistributionFinder):
    """Finds `zarr` and the modules below it in `omnizarr.compat.zarr`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "zarr" and not fullname.startswith("zarr."):
            return None
        name = _TARGET + fullname[len("zarr") :]
        try:
            spec = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            return None
        if spec is None:
            return None
        package = spec.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(fullname, _AliasLoader(name), origin=spec.origin, is_package=package)

    def find_distributions(self, context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        name = None if context is None else context.name
        return [_Distribution()] if name == "zarr" else []


_FINDER = _Finder()


def installed() -> bool:
    """Whether `import zarr` loads `omnizarr.compat.zarr`."""
    return _FINDER in sys.meta_path


def install() -> None:
    """From now on, `import zarr` loads `omnizarr.compat.zarr`, also in child processes of `multiprocessing`.

    Raises InstallError if the program has imported zarr-python already, because its modules would then mix with ours.
    """
    if installed():
        return
    loaded = sys.modules.get("zarr")
    if loaded is not None and getattr(loaded, "__name__", None) != _TARGET:
        raise InstallError(
            f"`zarr` is already loaded from {getattr(loaded, '__file__', 'an unknown file')}",
            hint="call `omnizarr.compat.install()` before the first import of `zarr`, or of a package that imports it, "
            "or run the program by `python -m omnizarr.compat script.py`",
        )
    sys.meta_path.insert(0, _FINDER)
    if _SHADOW not in sys.path:
        sys.path.insert(0, _SHADOW)


def uninstall() -> None:
    """Undoes `install`: the next `import zarr` loads zarr-python, if it is installed.

    Modules that have imported `zarr` keep the names that they imported.
    """
    if _FINDER in sys.meta_path:
        sys.meta_path.remove(_FINDER)
    if _SHADOW in sys.path:
        sys.path.remove(_SHADOW)
    for name in [name for name in sys.modules if name == "zarr" or name.startswith("zarr.")]:
        if getattr(sys.modules[name], "__name__", "").startswith(_TARGET):
            del sys.modules[name]
