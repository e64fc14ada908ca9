"""How each library is asked to open, read and write, with two threads: nothing but its own public calls.

Each adapter imports its library when it is made, so that a worker loads only the one it measures.
"""

from __future__ import annotations

import importlib
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.environment import THREADS

Selection: TypeAlias = tuple[slice, ...]


class Adapter:
    """A library whose arrays are indexed as NumPy's are."""

    module: ClassVar[str]
    """What is imported; what its import costs is measured too."""
    packages: ClassVar[tuple[str, ...]]
    """The distributions whose versions belong to the result."""

    def __init__(self) -> None:
        self.library: Any = importlib.import_module(self.module)

    def versions(self) -> dict[str, str]:
        """The version of Python and of each distribution."""
        return {"Python": platform.python_version(), **{name: version(name) for name in self.packages}}

    def open(self, path: str, *, write: bool = False) -> Any:
        """A handle on an array in a folder."""
        raise NotImplementedError

    def in_memory(self, values: dict[str, bytes]) -> Any:
        """A handle on an array whose keys and values are in memory; NotImplementedError if the library has none."""
        raise NotImplementedError

    def read(self, array: Any, selection: Selection) -> npt.NDArray[Any]:
        return np.asarray(array[selection])

    def write(self, array: Any, data: npt.NDArray[Any]) -> None:
        array[...] = data


class Omnizarr(Adapter):
    module = "omnizarr"
    packages = ("numpy", "numcodecs")

    def versions(self) -> dict[str, str]:
        return {"omnizarr": self.library.__version__, **super().versions()}  # itself, it need not be installed

    def open(self, path: str, *, write: bool = False) -> Any:
        return self.library.open_array(path, mode="r+" if write else "r")

    def in_memory(self, values: dict[str, bytes]) -> Any:
        from omnizarr.store.memory import MemoryStore

        return self.library.open_array(MemoryStore(values))


class Zarr(Adapter):
    """zarr-python with the pipeline that it takes by itself."""

    module = "zarr"
    packages: ClassVar[tuple[str, ...]] = ("zarr", "numpy", "numcodecs")
    pipeline: ClassVar[str | None] = None

    def __init__(self) -> None:
        super().__init__()
        self.library.config.set({"threading.max_workers": THREADS})
        if self.pipeline is not None:
            place, _, name = self.pipeline.rpartition(".")
            getattr(importlib.import_module(place), name)  # fails here, with the reason, where it does not exist
            self.library.config.set({"codec_pipeline.path": self.pipeline, "codec_pipeline.max_workers": THREADS})

    def open(self, path: str, *, write: bool = False) -> Any:
        return self.library.open_array(path, mode="r+" if write else "r")

    def in_memory(self, values: dict[str, bytes]) -> Any:
        buffer = self.library.core.buffer.default_buffer_prototype().buffer
        store = self.library.storage.MemoryStore({key: buffer.from_bytes(value) for key, value in values.items()})
        return self.library.open_array(store, mode="r")


class Fused(Zarr):
    pipeline = "zarr.core.codec_pipeline.FusedCodecPipeline"


class Zarrs(Zarr):
    packages = ("zarrs", "zarr")
    pipeline = "zarrs.ZarrsCodecPipeline"

    def in_memory(self, values: dict[str, bytes]) -> Any:
        raise NotImplementedError  # its own stores are files and HTTP; in memory it is zarr-python's pipeline


class TensorStore(Adapter):
    module = "tensorstore"
    packages = ("tensorstore",)
    limits: ClassVar[dict[str, Any]] = {
        "data_copy_concurrency": {"limit": THREADS},
        "file_io_concurrency": {"limit": THREADS},
        "file_io_sync": False,  # nobody else waits for the disk after each file
    }

    def open(self, path: str, *, write: bool = False) -> Any:
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": path}, "context": self.limits}
        return self.library.open(spec, read=True, write=write, open=True).result()

    def in_memory(self, values: dict[str, bytes]) -> Any:
        context = self.library.Context(self.limits)
        store = self.library.KvStore.open({"driver": "memory"}, context=context).result()
        for key, value in values.items():
            store[key] = value
        return self.library.open({"driver": "zarr3", "kvstore": {"driver": "memory"}}, context=context).result()

    def read(self, array: Any, selection: Selection) -> npt.NDArray[Any]:
        data: npt.NDArray[Any] = array[selection].read().result()
        return data

    def write(self, array: Any, data: npt.NDArray[Any]) -> None:
        array.write(data).result()


class Zarrista(Adapter):
    module = "zarrista"
    packages = ("zarrista",)

    def open(self, path: str, *, write: bool = False) -> Any:
        return self.library.Array.open(importlib.import_module("zarrista.store").FilesystemStore(path))

    def read(self, array: Any, selection: Selection) -> npt.NDArray[Any]:
        data: npt.NDArray[Any] = array.retrieve_array_subset(selection).to_numpy()
        return data

    def write(self, array: Any, data: npt.NDArray[Any]) -> None:
        array.store_chunks(..., data)


ADAPTERS: dict[str, type[Adapter]] = {
    "omnizarr": Omnizarr,
    "tensorstore": TensorStore,
    "zarrs": Zarrs,
    "fused": Fused,
    "zarrista": Zarrista,
    "zarr": Zarr,
}


def stored_values(folder: str) -> dict[str, bytes]:
    """Every key and value of an array in a folder."""
    root = Path(folder)
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
