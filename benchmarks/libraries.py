"""Adapters that open, read and write with each library, with two threads and only its public calls.

An adapter imports its library when it is created, so that a process loads only the library that it measures.
"""

from __future__ import annotations

import importlib
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.environment import THREADS
from benchmarks.layouts import Layout

Selection: TypeAlias = tuple[slice, ...]


class Adapter:
    """The calls that the benchmarks need. The default implementations index arrays as NumPy does.

    NotImplementedError means that the benchmarks do not measure a call for a library: the report leaves it out. The
    docstring of each adapter gives the reasons.
    """

    module: ClassVar[str]
    """The module to import; the cost of this import is measured too."""
    packages: ClassVar[tuple[str, ...]]
    """The distributions whose versions the report names."""

    def __init__(self) -> None:
        self.library: Any = importlib.import_module(self.module)

    def _not_measured(self, call: str) -> NotImplementedError:
        return NotImplementedError(f"`{call}` is not measured for {self.module}: the docstring of its adapter says why")

    def versions(self) -> dict[str, str]:
        """The version of Python and of each distribution."""
        return {"Python": platform.python_version(), **{name: version(name) for name in self.packages}}

    def has_kernel(self) -> bool:
        """Whether the library uses the compiled kernel of omnizarr."""
        return False

    def open(self, path: str, *, write: bool = False) -> Any:
        """A handle on an array in a folder."""
        raise self._not_measured("open")

    def find(self, path: str, generation: str) -> Any:
        """A handle on the node in a folder. The library detects its kind and generation, as far as it can."""
        raise self._not_measured("find")

    def in_memory(self, values: dict[str, bytes]) -> Any:
        """A handle on an array whose keys and values are in memory."""
        raise self._not_measured("in_memory")

    def read(self, array: Any, selection: Selection) -> npt.NDArray[Any]:
        return np.asarray(array[selection])

    def take(self, array: Any, indexer: str, key: Any) -> npt.NDArray[Any]:
        """`array[key]` if `indexer` is `[]`; otherwise `array.oindex[key]` or `array.vindex[key]`."""
        return np.asarray((array if indexer == "[]" else getattr(array, indexer))[key])

    def write(self, array: Any, data: npt.NDArray[Any]) -> None:
        """Writes the whole array."""
        array[...] = data

    def assign(self, array: Any, selection: Selection, data: npt.NDArray[Any]) -> None:
        """Writes a part."""
        array[selection] = data

    def stored_chunks(self, array: Any) -> int:
        """The number of stored chunks."""
        raise self._not_measured("stored_chunks")

    def resize(self, array: Any, length: int) -> None:
        """Changes the length of an array of one dimension."""
        raise self._not_measured("resize")

    def members(self, path: str, names: list[str]) -> Iterator[Any]:
        """Handles on arrays of a group, each opened lazily."""
        raise self._not_measured("members")

    def create_members(self, path: str, names: list[str], length: int) -> None:
        """Creates a group with arrays of uint16, each in one uncompressed chunk."""
        raise self._not_measured("create_members")

    def keys(self, path: str) -> list[str]:
        """The names of a group's members."""
        raise self._not_measured("keys")

    def items(self, path: str) -> int:
        """Opens all members of a group; returns their number."""
        raise self._not_measured("items")


class NumPyLike(Adapter):
    """Calls that omnizarr and zarr-python share."""

    def open(self, path: str, *, write: bool = False) -> Any:
        return self.library.open_array(path, mode="r+" if write else "r")

    def stored_chunks(self, array: Any) -> int:
        count: int = array.nchunks_initialized
        return count

    def resize(self, array: Any, length: int) -> None:
        array.resize((length,))

    def members(self, path: str, names: list[str]) -> Iterator[Any]:
        group = self.library.open_group(path, mode="r")
        return (group[name] for name in names)

    def create_members(self, path: str, names: list[str], length: int) -> None:
        group = self.library.create_group(path)
        for name in names:
            group.create_array(name, shape=(length,), dtype="uint16", chunks=(length,), compressors=None)

    def keys(self, path: str) -> list[str]:
        return list(self.library.open_group(path, mode="r").keys())

    def items(self, path: str) -> int:
        return len(self.library.open_group(path, mode="r").members())


class Omnizarr(NumPyLike):
    module = "omnizarr"
    packages = ("numpy", "numcodecs")

    def versions(self) -> dict[str, str]:
        return {
            "omnizarr": self.library.__version__,
            **super().versions(),
        }  # works for a source tree that is not installed

    def has_kernel(self) -> bool:
        return importlib.import_module("omnizarr.native").kernel() is not None

    def find(self, path: str, generation: str) -> Any:
        return self.library.open(path, mode="r")

    def in_memory(self, values: dict[str, bytes]) -> Any:
        return self.library.open_array(self.library.MemoryStore(values))


class Compat(NumPyLike):
    """The module that programs for zarr-python use, over omnizarr's engine."""

    module = "omnizarr.compat.zarr"
    packages = ("numpy", "numcodecs")

    def versions(self) -> dict[str, str]:
        return {"omnizarr": importlib.import_module("omnizarr").__version__, **super().versions()}


class Zarr(NumPyLike):
    """zarr-python with its default pipeline."""

    module = "zarr"
    packages: ClassVar[tuple[str, ...]] = ("zarr", "numpy", "numcodecs")
    pipeline: ClassVar[str | None] = None

    def __init__(self) -> None:
        super().__init__()
        self.library.config.set({"threading.max_workers": THREADS})
        if self.pipeline is not None:
            module, _, name = self.pipeline.rpartition(".")
            getattr(importlib.import_module(module), name)  # raises here if this version does not have it
            self.library.config.set({"codec_pipeline.path": self.pipeline, "codec_pipeline.max_workers": THREADS})

    def find(self, path: str, generation: str) -> Any:
        if generation not in ("v2", "v3"):
            raise NotImplementedError("zarr-python 3 opens v2 and v3 only")
        return self.library.open(path, mode="r")

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
        raise NotImplementedError("zarrs reads files and HTTP; for other stores zarr-python's pipeline takes over")


class Pipeline(Zarr):
    """zarr-python with omnizarr's codec pipeline."""

    pipeline = "omnizarr.compat.OmnizarrCodecPipeline"


class TensorStore(Adapter):
    """TensorStore has no groups (`keys`, `items`), and no call that counts stored chunks (`stored_chunks`)."""

    module = "tensorstore"
    packages = ("tensorstore",)
    limits: ClassVar[dict[str, Any]] = {
        "data_copy_concurrency": {"limit": THREADS},
        "file_io_concurrency": {"limit": THREADS},
        "file_io_sync": False,  # no other library waits for the disk after each file
    }

    def open(self, path: str, *, write: bool = False) -> Any:
        spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": path}, "context": self.limits}
        return self.library.open(spec, read=True, write=write, open=True).result()

    def find(self, path: str, generation: str) -> Any:
        drivers = {"v2": "zarr", "v3": "zarr3"}  # it does not detect the generation
        if generation not in drivers:
            raise NotImplementedError("TensorStore opens v2 and v3 only")
        spec = {"driver": drivers[generation], "kvstore": {"driver": "file", "path": path}}
        return self.library.open(spec, read=True, open=True).result()

    def in_memory(self, values: dict[str, bytes]) -> Any:
        context = self.library.Context(self.limits)
        store = self.library.KvStore.open({"driver": "memory"}, context=context).result()
        for key, value in values.items():
            store[key] = value
        return self.library.open({"driver": "zarr3", "kvstore": {"driver": "memory"}}, context=context).result()

    def read(self, array: Any, selection: Selection) -> npt.NDArray[Any]:
        data: npt.NDArray[Any] = array[selection].read().result()
        return data

    def take(self, array: Any, indexer: str, key: Any) -> npt.NDArray[Any]:
        part = (array if indexer == "[]" else getattr(array, indexer))[key]
        data: npt.NDArray[Any] = part.read().result()
        return data

    def write(self, array: Any, data: npt.NDArray[Any]) -> None:
        array.write(data).result()

    def assign(self, array: Any, selection: Selection, data: npt.NDArray[Any]) -> None:
        array[selection].write(data).result()

    def resize(self, array: Any, length: int) -> None:
        array.resize(exclusive_max=[length]).result()

    def members(self, path: str, names: list[str]) -> Iterator[Any]:
        context = self.library.Context(self.limits)  # it has no groups; all arrays share one context
        for name in names:
            spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": f"{path}/{name}"}}
            yield self.library.open(spec, context=context, read=True, open=True).result()

    def create_members(self, path: str, names: list[str], length: int) -> None:
        context = self.library.Context(self.limits)
        for name in names:
            spec = {
                "driver": "zarr3",
                "kvstore": {"driver": "file", "path": f"{path}/{name}"},
                "metadata": Layout("raw", length).document((length,)),
            }
            self.library.open(spec, context=context, create=True).result()


class Zarrista(Adapter):
    """Not measured: `find`, because the caller must know whether a node is an array or a group; `in_memory`, because
    its MemoryStore does not take values; `stored_chunks`, because no call counts them; `resize` and `create_members`,
    because they would need several calls per array, whose costs cannot be compared."""

    module = "zarrista"
    packages = ("zarrista",)

    def open(self, path: str, *, write: bool = False) -> Any:
        return self.library.Array.open(importlib.import_module("zarrista.store").FilesystemStore(path))

    def read(self, array: Any, selection: Selection) -> npt.NDArray[Any]:
        data: npt.NDArray[Any] = array.retrieve_array_subset(selection).to_numpy()
        return data

    def take(self, array: Any, indexer: str, key: Any) -> npt.NDArray[Any]:
        if indexer != "[]" or not isinstance(key, slice):
            raise NotImplementedError("zarrista has basic indexing only")
        return self.read(array, (key,))

    def write(self, array: Any, data: npt.NDArray[Any]) -> None:
        array.store_chunks(..., data)

    def assign(self, array: Any, selection: Selection, data: npt.NDArray[Any]) -> None:
        array.store_array_subset(selection, data)

    def members(self, path: str, names: list[str]) -> Iterator[Any]:
        store = importlib.import_module("zarrista.store").FilesystemStore(path)
        return (self.library.Array.open(store, f"/{name}") for name in names)

    def keys(self, path: str) -> list[str]:
        names = self.library.Group.open(importlib.import_module("zarrista.store").FilesystemStore(path)).array_keys()
        return [name.strip("/") for name in names]

    def items(self, path: str) -> int:
        group = self.library.Group.open(importlib.import_module("zarrista.store").FilesystemStore(path))
        return len(group.child_arrays()) + len(group.child_groups())


ADAPTERS: dict[str, type[Adapter]] = {
    "omnizarr": Omnizarr,
    "compat": Compat,
    "pipeline": Pipeline,
    "tensorstore": TensorStore,
    "zarrs": Zarrs,
    "fused": Fused,
    "zarrista": Zarrista,
    "zarr": Zarr,
}


def stored_values(folder: str) -> dict[str, bytes]:
    """All keys and values of an array in a folder."""
    root = Path(folder)
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
