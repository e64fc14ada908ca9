"""`TransformerSuite`: tests that every storage transformer must pass. Subclass it and define the transformers; pytest
collects the tests::

    class TestMyTransformer(TransformerSuite):
        def make_transformers(self):
            return [MyTransformer(), MyTransformer(level=9)]

The first half, in `transformer_suite_stores`, tests the store that a transformer makes of another store. This half
tests the configuration in documents, and arrays.
"""

from __future__ import annotations

import json
import multiprocessing
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr._json import Json, Problems
from omnizarr.errors import MetadataError, ReadOnlyError
from omnizarr.nodes import Array
from omnizarr.store import LocalStore, MemoryStore, Store, as_read_only
from omnizarr.testing.damaged_inputs import invalid_configurations
from omnizarr.testing.transformer_suite_stores import Stack, TransformerStores
from omnizarr.testing.value_checks import check_value
from omnizarr.transformers import StorageTransformer, find_transformer, storage_transformers

__all__ = ["TransformerSuite"]

_PATH = "$.storage_transformers[0]"
_NODE = "a/b"


class TransformerSuite(TransformerStores):
    """Tests for a storage transformer. Tests of what `limits` names are skipped."""

    formats: Sequence[Any] = (3, "3-draft-2022", "3-draft-2020")
    """The generations whose documents may name the transformer. The drafts need a URI: `name`, or `uri`."""
    wrong_configurations: Sequence[dict[str, Json]] = ()
    """Configurations that `parse` must reject."""

    def publish(self, array: Array) -> None:
        """Make the changes of a handle visible to other handles; nothing to do if every write does."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        super().pytest_generate_tests(metafunc)
        if "zarr_format" in metafunc.fixturenames:
            metafunc.parametrize("zarr_format", self.formats)

    # -- the transformer as a value

    def test_it_compares_hashes_and_pickles_as_a_value(self, transformer: StorageTransformer) -> None:
        check_value(transformer)

    def test_configurations_differ(self) -> None:
        transformers = self.make_transformers()
        assert len(set(transformers)) == len(transformers)

    def test_it_is_registered_under_its_names(self, transformer: StorageTransformer) -> None:
        if not transformer.layout:
            pytest.skip("documents never name it")
        kind = type(transformer)
        assert storage_transformers.get(kind.name) is kind, (
            "not registered: use `register_storage_transformer`, or an entry point of the package"
        )
        uri = kind.uri or kind.name
        if set(self.formats) - {3}:
            assert ":" in uri, "the drafts need a URI: define `uri`, or remove the drafts from `formats`"
            assert find_transformer(uri, kind.type) is kind, f"`{uri}` is not registered as an alias"

    # -- configuration

    def test_configuration_roundtrip(self, transformer: StorageTransformer) -> None:
        configuration = json.loads(json.dumps(transformer.configuration(), allow_nan=False))
        problems = Problems()
        assert type(transformer).parse(configuration, _PATH, problems) == transformer
        assert not problems.found
        assert not problems.warnings

    def test_unknown_members_are_rejected(self, transformer: StorageTransformer) -> None:
        problems = Problems()
        configuration = {**transformer.configuration(), "unknown_member": 1}
        assert type(transformer).parse(configuration, _PATH, problems) is None
        assert [problem.path for problem in problems.found] == [f"{_PATH}.configuration.unknown_member"]

    def test_wrong_configurations_are_rejected(self, transformer: StorageTransformer) -> None:
        for configuration in self.wrong_configurations:
            problems = Problems()
            assert type(transformer).parse(configuration, _PATH, problems) is None, configuration
            assert problems.found, configuration
            assert all(problem.path.startswith(_PATH) for problem in problems.found)

    def test_parse_never_raises(self, transformer: StorageTransformer) -> None:
        for configuration in invalid_configurations(transformer.configuration()):
            problems = Problems()
            parsed = type(transformer).parse(configuration, _PATH, problems)
            assert (parsed is None) == bool(problems.found), configuration
            if parsed is not None:
                assert type(transformer).parse(parsed.configuration(), _PATH, Problems()) == parsed

    def test_documents_contain_name_and_configuration(self, transformer: StorageTransformer, zarr_format: Any) -> None:
        store = self._stored(transformer, zarr_format)
        entries = [entry for _, document in _documents(store) for entry in document["storage_transformers"]]
        assert entries
        for entry in entries:
            name = entry.get("name", entry.get("extension"))
            assert find_transformer(name, entry.get("type")) is type(transformer)
            assert entry.get("configuration", {}) == transformer.configuration()

    def test_wrong_documents_are_rejected(self, transformer: StorageTransformer, zarr_format: Any) -> None:
        store = self._stored(transformer, zarr_format)
        key, document = next(_documents(store))
        entry = document["storage_transformers"][0]
        name = "name" if "name" in entry else "extension"
        wrong: list[Any] = [{**entry, name: entry[name] + "-unknown"}, {**entry, name: None}, {**entry, name: 3}, None]
        wrong += [
            {**entry, "configuration": configuration}
            for configuration in (*self.wrong_configurations, {**transformer.configuration(), "unknown_member": 1}, [])
        ]
        for item in wrong:
            store.set(key, json.dumps({**document, "storage_transformers": [item]}).encode())
            with pytest.raises(MetadataError) as raised:
                omnizarr.open_array(store, path=_NODE)
            assert "storage_transformers" in str(raised.value), item
        store.set(key, json.dumps(document).encode())
        assert omnizarr.open_array(store, path=_NODE)[...].tolist() == list(range(20))

    # -- arrays

    def test_an_array_behind_a_stack(
        self, transformer: StorageTransformer, zarr_format: Any, stack: str, tmp_path: Path
    ) -> None:
        rank = self._rank(transformer)
        transformers = self.make_stack(transformer, stack, rank)
        if "sharding" in stack and zarr_format == 3:
            pytest.skip("v3 has a sharding codec instead")
        for number, store in enumerate((MemoryStore(), LocalStore(tmp_path))):
            data = np.arange(1, 17**rank + 1, dtype="<u4").reshape((17,) * rank)
            z = self._create(
                store, transformers, zarr_format, shape=data.shape, dtype=data.dtype, chunks=(3 + number,) * rank
            )
            z[...] = data
            self.publish(z)
            z = self._open(store, transformers)
            assert np.array_equal(z[...], data)
            part = (slice(2, 9),) * rank
            z[part] = data[part] = 9
            z[(11,) * rank] = data[(11,) * rank] = 8
            assert np.array_equal(z[(slice(1, 15, 3),) * rank], data[(slice(1, 15, 3),) * rank])
            z[(slice(3, 11),) * rank] = data[(slice(3, 11),) * rank] = 0  # chunks that hold only the fill value
            self.publish(z)
            if rank:
                z = self._open(store, transformers)
                z.append(data[:3])
                data = np.concatenate([data, data[:3]])
                assert np.array_equal(z[...], data)
                z.resize((7,) * rank)
                z.resize((9,) * rank)
                data = np.pad(data[(slice(7),) * rank], (0, 2))
                self.publish(z)
            again = self._open(store, transformers, mode="r")
            assert np.array_equal(again[...], data)
            assert again.nchunks_initialized == z.nchunks_initialized
            assert np.array_equal(pickle.loads(pickle.dumps(again))[...], data) or isinstance(store, MemoryStore)

    def test_arrays_open_for_reading_reject_writes(self, transformer: StorageTransformer, zarr_format: Any) -> None:
        store = self._stored(transformer, zarr_format)
        before = {key: bytes(store.get(key) or b"") for key in store.list()}
        for handle in (
            self._open(store, (transformer,), mode="r"),
            self._open(as_read_only(store), (transformer,), mode="r"),
        ):
            assert handle[...].tolist() == list(range(20))
            with pytest.raises(ReadOnlyError):
                handle[3] = 1
            with pytest.raises(ReadOnlyError):
                handle.resize(5)
        assert {key: bytes(store.get(key) or b"") for key in store.list()} == before

    def test_concurrent_writers_in_threads(
        self, transformer: StorageTransformer, zarr_format: Any, tmp_path: Path
    ) -> None:
        self.skip_limited("shared")
        for store in (MemoryStore(), LocalStore(tmp_path)):
            self._new(store, transformer, zarr_format)
            self._in_threads(
                lambda number, store=store: _write_elements(  # type: ignore[misc]
                    transformer, [self._open(store, (transformer,))], number, self.threads
                ),
                range(self.threads),
            )
            assert self._open(store, (transformer,))[...].tolist() == list(range(100, 120))

    def test_concurrent_writers_in_processes(self, tmp_path: Path) -> None:
        """Each process changes parts of the same chunks, in an array of each generation."""
        self.skip_limited("shared")
        if not self.shared_by_processes:
            pytest.skip("a process that receives the pickled array does not write the same values")
        transformer = self._of_rank_one()
        stores = [LocalStore(tmp_path / str(number)) for number, _ in enumerate(self.formats)]
        for store, zarr_format in zip(stores, self.formats, strict=True):
            self._new(store, transformer, zarr_format)
        arrays = [self._open(store, (transformer,)) for store in stores]
        context = multiprocessing.get_context("spawn")
        processes = [
            context.Process(target=_write_elements, args=(transformer, arrays, number, 3)) for number in range(2)
        ]
        for process in processes:
            process.start()
        _write_elements(transformer, arrays, 2, 3)
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0, 0]
        for store in stores:
            assert self._open(store, (transformer,))[...].tolist() == list(range(100, 120))

    # -- helpers

    def _rank(self, transformer: StorageTransformer) -> int:
        """A number of dimensions that the transformer supports, 2 if possible."""
        return max(
            (place.rank for place, _ in self.places_for(transformer, "alone")), key=lambda rank: (rank == 2, rank)
        )

    def _of_rank_one(self) -> StorageTransformer:
        return next(
            item
            for item in self.make_transformers()
            if any(place.rank == 1 for place, _ in self.places_for(item, "alone"))
        )

    def _create(self, store: Store, transformers: Stack, zarr_format: Any, **options: Any) -> Array:
        # The draft of October 2020 has no storage transformers; zarr-python 2 added them.
        if zarr_format == "3-draft-2020":
            options["conventions"] = "zarr-python-2"
        stored = [item for item in transformers if item.layout]
        array = omnizarr.create_array(
            store, name=_NODE, zarr_format=zarr_format, storage_transformers=stored or None, **options
        )
        self.prepare(store, array._layout.prefix)
        return array

    def _open(self, store: Store, transformers: Stack, **options: Any) -> Array:
        runtime = [item for item in transformers if not item.layout]
        return omnizarr.open_array(store, path=_NODE, storage_transformers=runtime or None, **options)

    def _new(self, store: Store, transformer: StorageTransformer, zarr_format: Any) -> Array:
        """A new array of the numbers from 0 to 19 in chunks of three."""
        if not any(place.rank == 1 for place, _ in self.places_for(transformer, "alone")):
            pytest.skip("this configuration does not support one dimension")
        array = self._create(store, (transformer,), zarr_format, shape=20, dtype="u2", chunks=3, fill_value=77)
        array[...] = range(20)
        self.publish(array)
        return array

    def _stored(self, transformer: StorageTransformer, zarr_format: Any) -> Store:
        """A store with such an array."""
        if not transformer.layout:
            pytest.skip("documents never name it")
        store = MemoryStore()
        self._new(store, transformer, zarr_format)
        return store


def _documents(store: Store) -> Iterator[tuple[str, Any]]:
    """The documents of arrays that name storage transformers, with their keys."""
    for key in sorted(store.list()):
        if key.endswith(".json"):
            document = json.loads(bytes(store.get(key) or b""))
            if isinstance(document, dict) and document.get("storage_transformers"):
                yield key, document


def _write_elements(transformer: StorageTransformer, arrays: Sequence[Array], start: int, step: int) -> None:
    """Write every `step`th element. A process that unpickles the arguments imports the module of the transformer first,
    which may register it."""
    for element in range(start, 20, step):
        for array in arrays:
            array[element] = 100 + element
