"""zarr-python 3 with the codec pipeline of omnizarr.

zarr-python needs a newer Python than omnizarr, so the environment of the other tests does not have it. This file
therefore runs twice: one test starts pytest on it in the environment `together`, which has both libraries. The other
tests run only there.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from tests.peers import environments

TOGETHER = importlib.util.find_spec("zarr") is not None and importlib.util.find_spec("icechunk") is not None


@pytest.mark.skipif(TOGETHER, reason="this is the environment `together`")
def test_in_the_environment_with_both_libraries() -> None:
    environment = environments.find("together")
    if environment is None or environment.missing:
        pytest.skip(f"there is no environment with zarr-python: {environment and environment.missing}")
    root = Path(__file__).parents[2]
    source = str(Path(omnizarr.__file__).parents[1])
    command = [str(environment.python), "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-W", "default"]
    result = subprocess.run(
        [*command, str(Path(__file__))],
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([source, str(root)])},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout[-5000:] + result.stderr[-2000:]
    assert " passed" in result.stdout


def test_unknown_names_are_reported() -> None:
    import omnizarr.compat

    with pytest.raises(AttributeError, match="no attribute `Absent`"):
        omnizarr.compat.Absent  # noqa: B018


@pytest.mark.skipif(TOGETHER, reason="zarr-python is installed")
def test_the_pipeline_needs_zarr_python() -> None:
    import omnizarr.compat

    with pytest.raises(omnizarr.errors.MissingDependencyError, match="zarr>=3"):
        omnizarr.compat.OmnizarrCodecPipeline  # noqa: B018


if TOGETHER:
    import zarr

    import omnizarr.compat.pipeline
    from omnizarr.compat import chunk_access

    PIPELINE = "omnizarr.compat.OmnizarrCodecPipeline"
    THEIRS = "zarr.core.codec_pipeline.BatchedCodecPipeline"
    SHAPE = (23, 17)
    DATA = np.random.default_rng(0).integers(0, 100, SHAPE, "i4")
    LAYOUTS: list[dict[str, Any]] = [
        {"chunks": (5, 4)},
        {"chunks": (5, 4), "shards": (10, 8)},
        {"chunks": (5, 4), "compressors": None},
        {"chunks": (5, 4), "zarr_format": 2},
        {"chunks": (5, 4), "zarr_format": 2, "order": "F", "compressors": None},
        {"chunks": (5, 4), "filters": [zarr.codecs.TransposeCodec(order=(1, 0))]},
        {"chunks": (5, 4), "serializer": zarr.codecs.BytesCodec(endian="big")},
        {"chunks": (5, 4), "chunk_key_encoding": {"name": "v2", "separator": "."}},
        {"chunks": (5, 4), "compressors": [zarr.codecs.BloscCodec(), zarr.codecs.Crc32cCodec()]},
    ]

    @pytest.fixture(autouse=True)
    def configured() -> Iterator[None]:
        with zarr.config.set({"codec_pipeline.path": PIPELINE}):
            yield

    @pytest.fixture
    def used(monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The functions of omnizarr that read and write, in the order of their calls."""
        calls: list[str] = []

        def record(module: Any, name: str) -> None:
            function = getattr(module, name)

            def recorded(*arguments: Any, **options: Any) -> Any:
                calls.append(name)
                return function(*arguments, **options)

            monkeypatch.setattr(module, name, recorded)

        record(chunk_access.route, "read")
        record(chunk_access.route, "write")
        record(chunk_access, "_read_chunks")
        return calls

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_reads_and_writes(tmp_path: Path, layout: dict[str, Any], used: list[str]) -> None:
        z = zarr.create_array(tmp_path, name="a/b", shape=SHAPE, dtype="i4", **layout)
        z[...] = DATA
        z[3:9, 2:] = 7
        z[5] = np.arange(17)
        z[:, 3] = 4
        expected = DATA.copy()
        expected[3:9, 2:] = 7
        expected[5] = np.arange(17)
        expected[:, 3] = 4
        assert used == ["write"] * 4
        used.clear()
        assert np.array_equal(z[...], expected)
        assert np.array_equal(z[4:21, 3:9], expected[4:21, 3:9])
        assert np.array_equal(z[4, 3:], expected[4, 3:])
        assert z[22, 16] == expected[22, 16]
        assert used[:4] == ["read"] * 4
        with zarr.config.set({"codec_pipeline.path": THEIRS}):
            assert np.array_equal(zarr.open_array(tmp_path, path="a/b", mode="r")[...], expected)

    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_other_selections(tmp_path: Path, layout: dict[str, Any]) -> None:
        z = zarr.create_array(tmp_path, shape=SHAPE, dtype="i4", **layout)
        z[...] = DATA
        rows, columns = [1, 5, 5, 22], [0, 16, 3, 3]
        mask = DATA > 50
        expected = DATA.copy()
        assert np.array_equal(z[2::3, ::5], DATA[2::3, ::5])
        assert np.array_equal(z.oindex[rows, 2:9], DATA[rows, 2:9])
        assert np.array_equal(z.oindex[3, columns], DATA[3, columns])
        assert np.array_equal(z.oindex[rows, columns], DATA[np.ix_(rows, columns)])
        assert np.array_equal(z.vindex[rows, columns], DATA[rows, columns])
        assert np.array_equal(z.vindex[mask], DATA[mask])
        z[2::3, ::5], expected[2::3, ::5] = 1, 1
        z.oindex[[1, 9], 2:5], expected[[1, 9], 2:5] = 2, 2
        z.vindex[[3, 4], [5, 6]], expected[[3, 4], [5, 6]] = 3, 3
        assert np.array_equal(z[...], expected)

    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_boxes_against_numpy(data: st.DataObject) -> None:
        """A list of chunks is read as one box only if it is one."""
        rank = data.draw(st.integers(0, 3))
        shape = tuple(data.draw(st.integers(1, 9)) for _ in range(rank))
        chunks = tuple(data.draw(st.integers(1, 5)) for _ in range(rank))
        elements = np.arange(int(np.prod(shape))).reshape(shape)
        store = omnizarr.as_zarr_store(omnizarr.MemoryStore())
        z = zarr.create_array(store, shape=shape, chunks=chunks or "auto", dtype=elements.dtype)
        z[...] = elements
        step = st.sampled_from([1, 1, 1, 2])
        picks = [
            data.draw(
                st.one_of(
                    st.integers(0, length - 1),
                    st.builds(slice, st.integers(0, length), st.integers(0, length), step),
                )
            )
            for length in shape
        ]
        key = tuple(picks)
        assert np.array_equal(z[key], elements[key])
        z[key] = -1
        elements[key] = -1
        assert np.array_equal(z[...], elements)

    def test_an_array_that_grows_and_shrinks(tmp_path: Path, used: list[str]) -> None:
        """zarr-python keeps the pipeline, which was made for the old shape."""
        z = zarr.create_array(tmp_path, data=DATA, chunks=(5, 4))
        z.append(DATA[:4])
        z.resize((40, 17))
        z[35:] = 9
        expected = np.vstack([DATA, DATA[:4], np.zeros((8, 17), "i4"), np.full((5, 17), 9)])
        assert np.array_equal(z[...], expected)
        z.resize((12, 17))
        z[11:] = 5
        expected[11] = 5
        assert np.array_equal(z[...], expected[:12])
        assert set(used) == {"read", "write"}

    def test_chunks_of_the_fill_value(tmp_path: Path) -> None:
        z = zarr.create_array(tmp_path / "a", shape=8, chunks=4, dtype="i4", fill_value=3)
        z[...] = 3
        assert not (tmp_path / "a" / "c").exists()
        assert z[...].tolist() == [3] * 8
        z = zarr.create_array(
            tmp_path / "b", shape=8, chunks=4, dtype="i4", fill_value=3, config={"write_empty_chunks": True}
        )
        z[...] = 3
        assert len(list((tmp_path / "b" / "c").iterdir())) == 2

    @pytest.mark.parametrize(
        "options",
        [
            {"dtype": "str"},
            {"dtype": "i4", "chunks": [[1, 2, 1]]},
        ],
        ids=["text", "chunks of different length"],
    )
    def test_what_zarr_python_reads_and_writes_itself(tmp_path: Path, options: dict[str, Any], used: list[str]) -> None:
        with zarr.config.set({"array.rectilinear_chunks": True}):
            z = zarr.create_array(tmp_path, shape=4, **options)
            data = np.array(["a", "bc", "", "d"], object) if options["dtype"] == "str" else np.arange(4)
            z[...] = data
            assert z[...].tolist() == data.tolist()
        assert used == []

    def test_other_stores(used: list[str]) -> None:
        z = zarr.create_array(zarr.storage.MemoryStore(), data=DATA, chunks=(5, 4), shards=(10, 8))
        assert np.array_equal(z[...], DATA)
        assert np.array_equal(z[2:9:2, 3], DATA[2:9:2, 3])
        assert used == []

    def test_missing_chunks_that_are_an_error(tmp_path: Path) -> None:
        z = zarr.create_array(tmp_path, shape=8, chunks=4, dtype="i4", config={"read_missing_chunks": False})
        with pytest.raises(zarr.errors.ChunkNotFoundError):
            z[...]

    def test_a_read_only_store(tmp_path: Path) -> None:
        zarr.create_array(tmp_path, data=DATA, chunks=(5, 4))
        z = zarr.open_array(zarr.storage.LocalStore(tmp_path, read_only=True), mode="r")
        assert np.array_equal(z[...], DATA)
        with pytest.raises(ValueError, match="read.only"):
            z[...] = 1

    def test_a_damaged_chunk(tmp_path: Path) -> None:
        z = zarr.create_array(tmp_path, data=DATA, chunks=(5, 4))
        (tmp_path / "c" / "1" / "2").write_bytes(b"damaged")
        with pytest.raises(omnizarr.errors.ChunkError, match="c/1/2"):
            z[...]
        with pytest.raises(omnizarr.errors.ChunkError, match="c/1/2"):
            z[::2, ::2]

    def test_pickles(tmp_path: Path) -> None:
        z = zarr.create_array(tmp_path, data=DATA, chunks=(5, 4))
        copy = pickle.loads(pickle.dumps(z))
        assert np.array_equal(copy[...], DATA)
        pipeline = z._async_array.codec_pipeline
        assert pickle.loads(pickle.dumps(pipeline)) == pipeline

    def test_the_methods_of_a_pipeline(tmp_path: Path) -> None:
        z = zarr.create_array(tmp_path, data=DATA, chunks=(5, 4), compressors=None)
        pipeline = z._async_array.codec_pipeline
        assert type(pipeline) is omnizarr.compat.OmnizarrCodecPipeline
        assert [type(codec).__name__ for codec in pipeline] == ["BytesCodec"]
        assert not pipeline.supports_partial_encode
        assert not pipeline.supports_partial_decode
        assert pipeline.evolve_from_array_spec(None) is pipeline
