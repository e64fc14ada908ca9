"""`take` gives what NumPy gives, decodes each chunk once, and writes to memory of every kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import omnizarr
from omnizarr.codecs import Blosc, Gzip, Zstd
from omnizarr.errors import ArgumentError, SelectionError
from omnizarr.testing import RecordingStore

COMPRESSORS: dict[str, Any] = {"raw": None, "zstd": [Zstd(level=1)], "blosc": [Blosc()], "gzip": [Gzip(level=1)]}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, ...]:
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=rank, max_size=rank)))
    axis = draw(st.integers(-rank, rank - 1))
    chunks = tuple(draw(st.integers(1, length)) for length in shape)
    shards = tuple(chunk * draw(st.integers(1, 3)) for chunk in chunks) if draw(st.booleans()) else None
    index = st.integers(-shape[axis], shape[axis] - 1)
    form = draw(st.sampled_from([(), (1,), (7,), (2, 3), (0,), (40,)]))
    indices = np.array(draw(st.lists(index, min_size=int(np.prod(form)), max_size=int(np.prod(form)))), np.intp)
    dtype = draw(st.sampled_from(["u1", ">i2", "f8", "c16", "S3"]))
    return shape, chunks, shards, axis, indices.reshape(form), dtype, draw(st.sampled_from([*COMPRESSORS]))


@settings(max_examples=120)
@given(case=cases(), erased=st.booleans(), reverse=st.booleans())
def test_take_equals_numpy(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[Any, ...], erased: bool, reverse: bool
) -> None:
    shape, chunks, shards, axis, indices, dtype, compressor = case
    data = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    if erased:  # absent chunks and inner chunks
        data[: -(-shape[0] // 2)] = np.zeros((), dtype)
    folder = tmp_path_factory.mktemp("take")
    z = omnizarr.create_array(
        folder, data=data, chunks=chunks, shards=shards, compressors=COMPRESSORS[compressor], fill_value=None
    )
    expected = np.take(data, indices, axis)
    taken = z.take(indices, axis)
    assert taken.dtype == z.dtype
    assert np.asarray(taken).tobytes() == expected.astype(z.dtype).tobytes()
    assert np.shape(taken) == expected.shape
    if dtype != "S3" and expected.ndim:
        out = np.zeros(expected.shape, z.dtype)
        view = out[::-1] if reverse else out
        assert z.take(indices, axis, out=view) is view
        assert np.array_equal(view, expected)
        again = omnizarr.take([z, z.lazy], indices, axis)
        assert all(np.array_equal(part, expected) for part in again)


@pytest.mark.parametrize("shards", [None, (8, 6)])
@pytest.mark.parametrize("native", [1, 0])
def test_native_and_python_agree(tmp_path: Path, native: int, shards: Any) -> None:
    data = np.arange(3 * 40 * 6).reshape(3, 40, 6)
    z = omnizarr.create_array(
        tmp_path, data=data, chunks=(2, 4, 3), shards=None if shards is None else (2, *shards), fill_value=0
    )
    indices = np.random.default_rng(1).integers(-40, 40, 100)
    with omnizarr.config(native=native):
        assert np.array_equal(z.take(indices, axis=1), data.take(indices, axis=1))
        assert np.array_equal(z.oindex[::2, indices, 1:5], data[::2][:, indices, 1:5])
        assert np.array_equal(z[1:, indices[:7], ::-2], data[1:, indices[:7], ::-2])


def test_each_chunk_is_read_once() -> None:
    store = RecordingStore(omnizarr.MemoryStore())
    z = omnizarr.create_array(store, data=np.arange(100), chunks=(10,))
    store.calls.clear()
    z.take([95, 3, 95, 7, 12, 3])
    keys = [call.key for call in store.calls if call.key.startswith("c/")]
    assert sorted(keys) == ["c/0", "c/1", "c/9"]


def test_damaged_chunk_raises_as_a_read_does(tmp_path: Path) -> None:
    z = omnizarr.create_array(tmp_path, data=np.arange(40).reshape(10, 4), chunks=(2, 4))
    (tmp_path / "c" / "2" / "0").write_bytes(b"damaged")
    assert z.take([1, 9]).tolist() == [[4, 5, 6, 7], [36, 37, 38, 39]]
    with pytest.raises(omnizarr.errors.ChunkError, match="c/2/0"):
        z.take([1, 4])


@pytest.mark.parametrize("make", [bytearray, lambda size: memoryview(bytearray(size))])
def test_out_with_the_buffer_protocol(tmp_path: Path, make: Any) -> None:
    z = omnizarr.create_array(tmp_path, data=np.arange(20, dtype="f4").reshape(10, 2), chunks=(3, 2))
    out = make(3 * 2 * 4)
    assert z.take([4, 4, 1], out=out) is out
    assert np.frombuffer(out, "f4").tolist() == [8, 9, 8, 9, 2, 3]


def test_out_in_shared_memory(tmp_path: Path) -> None:
    from multiprocessing import shared_memory

    z = omnizarr.create_array(tmp_path, data=np.arange(4096, dtype="u1").reshape(512, 8), chunks=(3, 8))
    memory = shared_memory.SharedMemory(create=True, size=4096)
    try:
        z.take(np.arange(512)[::-1], out=memory.buf)
        assert bytes(memory.buf) == z[::-1].tobytes()
    finally:
        memory.close()
        memory.unlink()


class Tensor:
    """A tensor of another library, with DLPack only."""

    def __init__(self, array: Any, device: int = 1) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **options: Any) -> Any:
        if self.device != 1:
            raise BufferError("on another device")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


def test_out_with_dlpack() -> None:
    z = omnizarr.array(np.arange(20).reshape(10, 2))
    out = np.zeros((2, 2), int)
    tensor = Tensor(out)
    assert z.take([3, 0], out=tensor) is tensor
    assert out.tolist() == [[6, 7], [0, 1]]
    with pytest.raises(ArgumentError, match="memory of the processor"):
        z.take([3, 0], out=Tensor(out, device=2))


def test_several_arrays_by_name() -> None:
    images, labels = np.arange(60).reshape(10, 6), np.arange(10) % 3
    arrays = {"image": omnizarr.array(images, chunks=(3, 6)), "label": omnizarr.array(labels, chunks=(4,))}
    batch = omnizarr.take(arrays, [7, 7, 0])
    assert np.array_equal(batch["image"], images[[7, 7, 0]])
    assert np.array_equal(batch["label"], labels[[7, 7, 0]])
    outputs = {"label": np.zeros(1, int), "image": np.zeros((1, 6), int)}
    omnizarr.take(arrays, [5], out=outputs)
    assert outputs["label"].tolist() == [2]


def test_nothing_is_written_if_one_output_is_wrong() -> None:
    arrays = [omnizarr.array(np.arange(5)), omnizarr.array(np.arange(5))]
    first = np.zeros(2, int)
    with pytest.raises(ArgumentError, match="shape"):
        omnizarr.take(arrays, [1, 2], out=[first, np.zeros(3, int)])
    assert not first.any()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([10],), SelectionError),
        (([-11],), SelectionError),
        (([True, False],), SelectionError),
        (([1.5],), SelectionError),
        (([2**63],), SelectionError),
        (([1], 2), ArgumentError),
        (([1], None), ArgumentError),
        (([1], 0, np.zeros(3)), ArgumentError),
        (([1], 0, b"read-only, of 16"), ArgumentError),
        (([1], 0, bytearray(3)), ArgumentError),
        (([1], 0, object()), ArgumentError),
    ],
)
def test_errors(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    z = omnizarr.array(np.arange(20, dtype="i8").reshape(10, 2))
    with pytest.raises(error):
        z.take(*arguments)


@pytest.mark.parametrize("arrays", ["data.zarr", 5, [5], [np.arange(3)]])
def test_arrays_must_be_several(arrays: Any) -> None:
    with pytest.raises(ArgumentError, match="`arrays`"):
        omnizarr.take(arrays, [0])
