"""The functions of the kernel: results for valid arguments, and errors for arguments that the engine never passes."""

from __future__ import annotations

import os
import signal
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr import native
from omnizarr._json import Problems
from omnizarr.codecs.contract import ByteSpec


@pytest.mark.skipif(native.kernel() is None, reason="there is no kernel")
class TestKernel:
    """With valid arguments, and with arguments that the engine never passes."""

    def read(self, **changed: Any) -> bytearray:
        target = np.zeros(16, np.uint8)
        status = changed.pop("status", bytearray([3]))
        given = {
            "groups": [([str(changed.pop("path"))], 0, ([0, 0, 16, 0],), None)],
            "flags": os.O_RDONLY,
            "status": status,
            "codec": 0,
            "decoded": 16,
            "limit": 16,
            "itemsize": 1,
            "source_strides": (1,),
            "target_strides": (1,),
            "target": target.__array_interface__["data"][0],
            "low": 0,
            "high": 16,
            "threads": 1,
            "gathered": -1,
            "source_offsets": b"",
            "target_offsets": b"",
        } | changed
        native.kernel().read(*given.values())
        self.target = target
        return status

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        (tmp_path / "chunk").write_bytes(bytes(range(16)))
        return tmp_path / "chunk"

    def test_read(self, path: Path) -> None:
        assert self.read(path=path) == bytearray([native.DONE])
        assert self.target.tolist() == list(range(16))

    def test_only_chunks_to_do_are_read(self, path: Path) -> None:
        assert self.read(path=path, status=bytearray([native.UNUSUAL])) == bytearray([native.UNUSUAL])
        assert not self.target.any()

    def inner(self, entries: list[int], memory: Any = bytes(range(16)), **changed: Any) -> bytearray:
        """The status after a read of one inner chunk of a shard in memory."""
        groups = [(memory, 0, ([0, 0, changed["decoded"], 0],), np.array(entries, "u8"))]
        return self.read(path="", groups=groups, **changed)

    def test_read_from_memory(self) -> None:
        assert self.inner([3, 4], decoded=4) == bytearray([native.DONE])
        assert self.target.tolist()[:5] == [3, 4, 5, 6, 0]
        assert self.inner([0, 16], memoryview(b"x" * 32)[::1], decoded=16) == bytearray([native.DONE])
        assert bytes(self.target) == b"x" * 16
        assert self.inner([2**64 - 1, 2**64 - 1], decoded=4) == bytearray([native.ABSENT])

    @pytest.mark.parametrize("entries", [[13, 4], [16, 4], [17, 4], [2**62, 4], [2**63, 4], [0, 3], [0, 2**63 - 1]])
    @pytest.mark.parametrize("codec", ["raw", "blosc", "zstd", "gzip"])
    def test_read_rejects_bytes_outside_memory(self, entries: list[int], codec: str) -> None:
        number = native.codec(codec)
        if number is None:
            pytest.skip("no such codec")
        assert self.inner(entries, decoded=4, limit=2**62, codec=number) == bytearray([native.UNUSUAL])
        assert not self.target.any()

    @pytest.mark.parametrize("memory", [None, "text", np.zeros(8)[::2]])
    def test_read_rejects_other_memory(self, memory: Any) -> None:
        with pytest.raises((TypeError, ValueError, BufferError)):
            self.inner([0, 4], memory, decoded=4)

    @pytest.mark.parametrize(
        "pieces", [[1, 0, 16, 0], [0, 1, 16, 0], [-1, 0, 2, 0], [0, -1, 2, 0], [0, 0, 0, 0], [0, 0, 2**62, 0]]
    )
    def test_read_rejects_boxes_outside_chunk_or_target(self, path: Path, pieces: list[int]) -> None:
        groups = [([str(path)], 0, (pieces,), None)]
        assert self.read(path=path, groups=groups) == bytearray([native.UNUSUAL])
        assert not self.target.any()

    def gather(self, path: Path, sources: list[int], targets: list[int], **changed: Any) -> bytearray:
        piece = [changed.pop("first", 0), changed.pop("target_offset", 0), changed.pop("count", len(sources)), 0]
        offsets = {"source_offsets": np.array(sources, "i8"), "target_offsets": np.array(targets, "i8")}
        groups = [([str(path)], changed.pop("base", 0), (piece,), None)]
        return self.read(path=path, groups=groups, gathered=0, **offsets, **changed)

    def test_read_gathers(self, path: Path) -> None:
        assert self.gather(path, [15, 3, 3], [0, 2, 1]) == bytearray([native.DONE])
        assert self.target.tolist()[:4] == [15, 3, 3, 0]

    @pytest.mark.parametrize(
        "changed",
        [
            {"sources": [0, 16]},
            {"sources": [-1, 0]},
            {"sources": [2**63 - 1, 0]},
            {"targets": [0, 16]},
            {"targets": [0, -1]},
            {"targets": [0, -(2**63)]},
            {"count": 3},
            {"count": 0},
            {"count": 2**62},
            {"first": 1},
            {"first": -1},
            {"first": 2**63 - 1},
            {"base": 2**63 - 1},
            {"base": -1},
            {"codec": "zstd"},
        ],
    )
    def test_read_rejects_offsets_outside_chunk_or_target(self, path: Path, changed: dict[str, Any]) -> None:
        if changed.get("codec") == "zstd":  # 16 bytes that are no frame
            number = native.codec("zstd")
            if number is None:
                pytest.skip("no zstd")
            changed = {"codec": number}
        given = {"sources": [0, 1], "targets": [0, 1]} | changed
        assert self.gather(path, **given) == bytearray([native.UNUSUAL])
        assert not self.target.any()

    @pytest.mark.parametrize("changed", [{"gathered": 1}, {"source_offsets": bytes(8)}])
    def test_read_rejects_unequal_offsets(self, path: Path, changed: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="sizes do not match"):
            self.read(path=path, **changed)

    @pytest.mark.parametrize("count", [3, 2**61 + 1, 2**62 + 1])
    def test_read_rejects_counts_that_overflow(self, path: Path, count: int) -> None:
        groups = [([str(path)], 0, ([0, 0, count, 0],), None)]
        wide = {"itemsize": 8, "source_strides": (8,), "target_strides": (8,)}
        assert self.read(path=path, groups=groups, **wide) == bytearray([native.UNUSUAL])

    @pytest.mark.parametrize(
        "changed",
        [
            {"groups": [([], 0, ([0, 0, 16, 0],), None)]},
            {"groups": [(["\0"], 0, ([0, 0, 16, 0],), None)]},
            {"groups": [(["\ud800"], 0, ([0, 0, 16, 0],), None)]},
            {"groups": [(["x"], 0, ([0, 0, 16],), None)]},
            {"groups": [(["x"], 0, (), None)]},
            {"groups": [(["x"], 0, ([0, 0, "16", 0],), None)]},
            {"groups": [(0, 0, ([0, 0, 16, 0],), None)]},
            {"groups": [("x",)]},
            {"status": bytearray(2)},
            {"codec": 7},
            {"source_strides": (1,) * 65},
            {"target_strides": ()},
            {"itemsize": 0},
        ],
    )
    def test_read_rejects_invalid_arguments(self, path: Path, changed: dict[str, Any]) -> None:
        with pytest.raises((ValueError, TypeError)):
            self.read(path=path, **changed)

    @pytest.mark.parametrize(
        ("entries", "status"),
        [
            ([4, 16], native.UNUSUAL),
            ([0, 16], native.DONE),
            ([2**64 - 1] * 2, native.ABSENT),
            ([0, 2**63], native.UNUSUAL),
            ([2**63, 16], native.UNUSUAL),
            ([], native.UNUSUAL),
        ],
    )
    def test_parts_of_an_open_file(self, path: Path, entries: list[int], status: int) -> None:
        with path.open("rb") as file:
            groups = [(file.fileno(), 0, ([0, 0, 16, 0],), np.array(entries, np.uint64))]
            assert self.read(path=path, groups=groups) == bytearray([status])

    @pytest.mark.parametrize(
        ("sources", "places", "status"),
        [
            ([5, 0, 5], 0, 0),
            ([5, 0], [2, 1], 0),
            ([16], 0, 2),
            ([-1], 0, 2),
            ([0], 3, 2),
            ([0], [-1], 2),
            ([0] * 4, 0, 2),
        ],
    )
    def test_take_rejects_indices_outside_chunk_or_target(
        self, tmp_path: Path, sources: Any, places: Any, status: int
    ) -> None:
        assert native.codec("zstd") == 2
        (tmp_path / "chunk").write_bytes(
            omnizarr.codecs.Zstd(1).bind(ByteSpec(16, 16, 1), "", Problems()).encode(bytes(range(16)))
        )
        target = np.full(3, 99, np.uint8)
        results = bytearray([3])
        at = places if isinstance(places, int) else np.array(places, np.int64)
        chunks = [(str(tmp_path / "chunk"), np.array(sources, np.int64), at, -1)]
        address = target.__array_interface__["data"][0]
        native.kernel().take(chunks, os.O_RDONLY, results, 2, 16, 99, 1, 1, address, 3, 1)
        assert results == bytearray([status])
        if status:
            assert target.tolist() == [99] * 3
        unequal = [(chunks[0][0], np.zeros(2, np.int64), np.zeros(1, np.int64), -1)]
        with pytest.raises(ValueError, match="sizes"):
            native.kernel().take(unequal, 0, results, 2, 16, 99, 1, 1, address, 3, 1)
        masked = [(chunks[0][0], np.zeros(8, bool), np.zeros(1, np.int64), 0)]
        with pytest.raises(ValueError, match="sizes"):
            native.kernel().take(masked, 0, results, 2, 16, 99, 1, 1, address, 3, 1)

    @pytest.mark.parametrize(
        ("marked", "first", "count", "length", "fits"),
        [
            ([0, 64, 70], 0, 3, 80, True),
            ([1, 79], 1, 2, 80, True),
            ([], 3, 0, 80, True),
            ([1, 2, 3], 0, 2, 80, False),
            ([1], 0, 2, 80, False),
            ([70, 71], 0, 1, 80, False),
            ([1, 2], 2, 2, 80, False),
            ([1], 3, 1, 80, False),
            ([], 4, 0, 80, False),
            ([1], -1, 1, 80, False),
            ([1], 0, 1, 81, False),
            ([1], 0, 2**62, 80, False),
        ],
    )
    def test_take_rejects_masks_outside_chunk_or_target(
        self, tmp_path: Path, marked: list[int], first: int, count: int, length: int, fits: bool
    ) -> None:
        (tmp_path / "chunk").write_bytes(bytes(range(80)))
        target = np.full(3, 99, np.uint8)
        mask = np.zeros(length, np.uint8)
        mask[marked] = 255
        results = bytearray([3])
        address = target.__array_interface__["data"][0]
        chunks = [(str(tmp_path / "chunk"), mask, first, count)]
        native.kernel().take(chunks, os.O_RDONLY, results, 0, 80, 80, 1, 1, address, 3, 1)
        assert results == bytearray([native.DONE if fits else native.UNUSUAL])
        if fits:
            assert target[first : first + count].tolist() == marked

    @pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 2**18 - 1, 2**18, 2**18 + 1, 3 * 2**18 + 7])
    @pytest.mark.parametrize("threads", [1, 3])
    def test_find(self, length: int, threads: int) -> None:
        random = np.random.default_rng(length)
        for share in (0, 0.001, 0.5, 1):
            mask = random.random(length) < share
            expected = mask.nonzero()[0]
            values = (mask * random.integers(1, 256, length)).astype(np.uint8)
            for given_mask in (mask, values):
                count, found = native.kernel().find(given_mask, length, threads)
                assert count == len(expected)
                np.testing.assert_array_equal(np.frombuffer(found, np.int64), expected)
            if len(expected):
                assert native.kernel().find(mask, len(expected) - 1, threads) == (len(expected), None)

    @pytest.mark.parametrize(
        "arguments",
        [
            ([1], b"", 1, "/", 9),
            ((1,), bytes(41), 1, "/", 9),
            ((1,), bytes(40 * 65), 1, "/", 9),
            ((1,), bytes(40), 1, "//", 9),
            ((1,), bytes(40), "1", "/", 9),
            ((1,), "x", 1, "/", 9),
            ((1,), bytes(40), 1, "/"),
        ],
    )
    def test_locate_rejects_invalid_arguments(self, arguments: tuple[Any, ...]) -> None:
        with pytest.raises((ValueError, TypeError)):
            native.kernel().locate(*arguments)

    @pytest.mark.parametrize("side", [(0, 4, 4, 1, 1), (9, 0, 4, 1, 1), (9, 4, 0, 1, 1), (-9, 4, 4, 1, 1)])
    def test_locate_finds_nothing_in_an_empty_axis(self, side: tuple[int, ...]) -> None:
        sides = np.array(side, np.int64).tobytes()
        for key in ((), (0,), (slice(None),), (slice(0, 1),)):
            assert native.kernel().locate(key, sides, 1, "/", 9) is None

    def test_locate_at_the_limit_of_64_bits(self) -> None:
        side = np.array([2**63 - 1, 2**62, 2**62, 1, 1], np.int64).tobytes()
        locate = native.kernel().locate
        assert locate((2**63 - 2,), side, 1, "/", 9) == ((1,), (), "1", 2**62 - 2, 0)
        assert locate((slice(2**62 - 1, 2**62 + 1),), side, 1, "/", 9) == (
            (2,),
            (2,),
            [["0", "1"]],
            ([2**62 - 1, 0, 1, 0, 0, 1, 1, 0],),
        )
        assert locate((slice(None),), side, 2, "/", 9) is None, "the result would be too large to count its bytes"
        assert locate((slice(None),), side, 1, "/", 1) is None
        assert locate((slice(0, 2),) * 3, side * 3, 2**62, "/", 9) is None

    def read_one(
        self,
        out: Any,
        file: str | int,
        *,
        place: tuple[int, int] = (0, -1),
        decoding: tuple[int, ...] = (0, 16, 16, 1),
        strides: Any = (1,),
        offset: int = 0,
        shape: Any = (4,),
    ) -> int:
        packed = np.array(decoding, np.int64).tobytes()
        status: int = native.kernel().read_one(out, file, os.O_RDONLY, *place, packed, strides, offset, shape)
        return status

    def test_read_one_fills_any_buffer_of_the_right_size(self, path: Path) -> None:
        """A contiguous one of any shape, and one with the shape of the box and any strides."""
        for out in (np.zeros(4, "u1"), np.zeros((1, 4, 1), "u1"), np.zeros((2, 2), "u1"), np.zeros(8, "u1")[::-2]):
            assert self.read_one(out, str(path), strides=(3,), offset=2) == native.DONE
            assert out.reshape(-1).tolist() == [2, 5, 8, 11]
        whole = np.zeros((4, 6), "u1")
        for out in (whole[::2, ::3], whole.T[1::3, 1:3], whole[::-2, 4::-3]):
            assert self.read_one(out, str(path), strides=(5, 2), shape=(2, 2)) == native.DONE
            assert out.tolist() == [[0, 2], [5, 7]]

    @pytest.mark.parametrize(
        ("out", "changed"),
        [
            (np.zeros(3, "u1"), {}),
            (np.zeros(5, "u1"), {}),
            (np.zeros((4, 2), "u1")[:, :1], {}),
            (np.zeros((2, 4), "u1")[:, ::2], {}),
            (np.zeros(8, "u1")[::2], {"shape": (2, 2), "strides": (2, 1)}),
            (np.zeros(4, "u2")[::2], {}),
            (np.zeros(4, "u1"), {"shape": (4, 1)}),
            (np.zeros(4, "u1"), {"shape": (-4,)}),
            (np.zeros(4, "u1"), {"shape": (2**62, 2**62), "strides": (1, 1)}),
            (np.zeros(4, "u1"), {"shape": "x"}),
            (np.zeros(4, "u1"), {"decoding": (0, 16, 16)}),
            (np.zeros(4, "u1"), {"decoding": (9, 16, 16, 1)}),
            (np.zeros(4, "u1"), {"decoding": (-1, 16, 16, 1)}),
            (np.zeros(4, "u1"), {"decoding": (2**32, 16, 16, 1)}),
            (np.broadcast_to(np.uint8(0), 4), {}),
            (bytes(4), {}),
        ],
    )
    def test_read_one_rejects_other_buffers(self, path: Path, out: Any, changed: dict[str, Any]) -> None:
        with pytest.raises((ValueError, TypeError, BufferError)):
            self.read_one(out, str(path), **changed)

    @pytest.mark.parametrize("offset", [-1, 17, 2**62, 2**63 - 2])
    @pytest.mark.parametrize("place", [(0, -1), (2**63 - 1, 16)])
    def test_read_one_rejects_offsets_outside_the_chunk(self, path: Path, offset: int, place: tuple[int, int]) -> None:
        out = np.zeros(4, np.uint8)
        with path.open("rb") as file:
            given_file = str(path) if place[1] < 0 else file.fileno()
            result = self.read_one(out, given_file, place=place, offset=offset)
        assert result == native.UNUSUAL
        assert not out.any()

    def test_decode(self) -> None:
        number, decode = native.codec("zstd"), native.kernel().decode
        frame = omnizarr.codecs.Zstd(1).bind(ByteSpec(16, 16, 1), "", Problems()).encode(bytes(range(16)))
        assert decode(number, frame, 16) == bytes(range(16))
        for wrong, size in ((frame, 15), (frame, 17), (b"", 16), (frame[:-1], 16), (b"x" * 99, 16)):
            assert decode(number, wrong, size) is None
        for arguments in ((0, b"x", 1), (9, b"x", 1), (number, frame, 0), (number, frame, -1)):
            with pytest.raises(ValueError, match="sizes|codec"):
                decode(*arguments)

    def test_a_chunk_too_large_for_blosc_is_left_to_python(self, tmp_path: Path) -> None:
        number = native.codec("blosc")
        element = np.zeros(1, np.uint8)
        address = element.__array_interface__["data"][0]
        options = (b"lz4", 1, 0, 0, 1)
        how = (address, [0], (2**31,), (0,), 1, None, number, options)
        target = (str(tmp_path), True, None, False)
        assert native.kernel().write(target, ["x.tmp"], ["x"], *how) == bytes([native.UNUSUAL])
        assert list(tmp_path.iterdir()) == []

    def test_a_signal_interrupts_a_long_read(self, path: Path) -> None:
        class Heard(Exception):
            pass

        def hear(*_: object) -> None:
            raise Heard

        before = signal.signal(signal.SIGALRM, hear)
        count = 3_000_000  # several seconds
        status = bytearray([3]) * count
        groups = [([str(path)] * count, 0, ([0, 0, 16, 0] * count,), None)]

        def interrupted() -> None:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            self.read(path=path, groups=groups, status=status)

        try:
            with pytest.raises(Heard):
                interrupted()
            assert status[-1] == native.TO_DO
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def test_a_kernel_of_other_sources_counts_as_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """An editable installation may keep an older kernel after its C sources changed."""
    monkeypatch.setattr(native, "_INTERFACE", -1)
    assert native.kernel.__wrapped__() is None


@pytest.mark.skipif(native.kernel() is None, reason="there is no kernel")
@pytest.mark.parametrize("numbers", [(0, -1, 16, 1), (0, 16, 16, 0), (0, 16, 16, -(2**63)), (0, 16, 16, 2**40)])
def test_read_one_rejects_invalid_sizes(tmp_path: Path, numbers: tuple[int, ...]) -> None:
    (tmp_path / "k").write_bytes(bytes(16))
    decoding = struct.pack("=4q", *numbers)
    with pytest.raises(ValueError, match="sizes do not match"):
        native.kernel().read_one(bytearray(16), str(tmp_path / "k"), os.O_RDONLY, 0, -1, decoding, (1,), 0, (16,))
