"""The tests that every codec must pass. Subclass `CodecSuite`, say which codecs, and pytest does the rest::

    class TestMyCodec(CodecSuite):
        def make_codecs(self):
            return [MyCodec(), MyCodec(level=9)]

Of whichever kind a codec is, it is told apart by its class: array → array, array → bytes or bytes → bytes.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from omnizarr._json import Json, Problems
from omnizarr.codecs import ArrayCodec, BytesCodec, ByteSpec, ChunkSpec, Codec, Serializer
from omnizarr.errors import ArgumentError, CodecError
from omnizarr.testing.damaged_inputs import damaged, flipped, junk_for, longer_or_shorter
from omnizarr.testing.value_checks import check_value, same_elements

__all__ = ["CodecSuite"]

_PLACE = "$.codecs[0]"
_HUGE = 2**40  # times as long as anything
_LITTLE = 2**20  # bytes
_BOMB = 2**25  # bytes that a compressor makes small; some take a quarter of that as room to work in


class CodecSuite:
    """What a codec must do. What it refuses when it is bound is not asked of it, but for some value it must work."""

    lossless: bool = True
    """Whether what is decoded has the very bits that were encoded."""
    detects_damage: bool = False
    """Whether every changed bit is noticed, as a checksum does."""
    wrong_configurations: Sequence[dict[str, Json]] = ()
    """Configurations that must be refused."""
    threads: int = 4

    def make_codecs(self) -> Sequence[Codec]:
        """The codec, in each configuration that is worth a test."""
        raise NotImplementedError("a subclass of CodecSuite says which codecs it tests")

    def make_arrays(self) -> Sequence[npt.NDArray[Any]]:
        """What codecs that take arrays are given."""
        found: list[npt.NDArray[Any]] = []
        random = np.random.default_rng(0)
        for name in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"):
            for shape in ((), (1,), (7,), (6, 5), (3, 1, 4)):
                numbers = random.integers(0, 256, (*shape, np.dtype(name).itemsize), np.uint8)
                array = np.ascontiguousarray(numbers).view(name)[..., 0]
                found += [numbers[..., 0] > 127 if name == "?" else array, np.zeros(shape, name)]
        found.append(np.array(["a", "", "ä\U0001f71a"], np.dtypes.StringDType()))
        found.append(np.array([b"a", b"", b"\0\xff"], object))
        return found

    def make_bytes(self) -> Sequence[bytes]:
        """What codecs that take bytes are given."""
        random = np.random.default_rng(0)
        return [
            b"\0",
            b"x",
            bytes(range(256)),
            b"\0" * 4096,
            random.bytes(4099),
            np.arange(2000, dtype="<u4").tobytes(),
            b"all work and no play " * 300,
        ]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "codec" in metafunc.fixturenames:
            found = self.make_codecs()
            metafunc.parametrize("codec", found, ids=[repr(codec)[:60] for codec in found])

    # -- what it is given

    def bound(self, codec: Codec, value: npt.NDArray[Any] | bytes) -> Any:
        """The codec bound to values like this one, with nothing left to be chosen; None if it does not take them."""
        problems = Problems()
        if isinstance(codec, BytesCodec) and isinstance(value, bytes):
            itemsize = 4 if len(value) % 4 == 0 else 1
            spec = ByteSpec(len(value), len(value), itemsize)
            bound: Any = codec.resolved(itemsize).bind(spec, _PLACE, problems)
        elif isinstance(codec, (ArrayCodec, Serializer)) and isinstance(value, np.ndarray):
            settled = self.settled(codec, value)
            chunk = ChunkSpec(value.shape, value.dtype, np.zeros((), value.dtype))
            bound = None if settled is None else settled.bind(chunk, _PLACE, problems)
            if settled is None:
                return None
        else:
            return None
        assert (bound is None) == bool(problems), "what cannot be bound is None, and a problem says why"
        assert all(problem.path.startswith(_PLACE) for problem in problems.found)
        return bound

    def settled(self, codec: ArrayCodec | Serializer, array: npt.NDArray[Any]) -> ArrayCodec | Serializer | None:
        """The codec as the document of an array like this one would record it; None if it does not take such arrays."""
        if isinstance(codec, Serializer):
            return codec
        try:
            return codec.resolved(array.ndim).completed(array.dtype)
        except ArgumentError:
            return None

    def pairs(self, codec: Codec) -> list[tuple[Any, Any]]:
        """The codec bound to each value that it takes, with the value."""
        values: Sequence[Any] = self.make_bytes() if isinstance(codec, BytesCodec) else self.make_arrays()
        found = [(bound, value) for value in values if (bound := self.bound(codec, value)) is not None]
        assert found, f"{codec!r} takes none of the values of the suite; give others in `make_arrays` or `make_bytes`"
        return found

    def recorded(self, codec: Codec) -> Codec:
        """The codec as the document of some array that it can serve records it."""
        if isinstance(codec, BytesCodec):
            return codec.resolved(4)
        if isinstance(codec, ArrayCodec):
            for array in self.make_arrays():
                settled = self.settled(codec, array)
                if settled is not None and self.bound(codec, array) is not None:
                    return settled
        return codec

    # -- metadata

    def test_it_is_a_value(self, codec: Codec) -> None:
        check_value(codec)

    def test_it_differs_from_the_others(self) -> None:
        found = self.make_codecs()
        assert len(set(found)) == len(found)

    def test_what_it_writes_it_reads(self, codec: Codec) -> None:
        codec = self._public(self.recorded(codec))
        configuration = json.loads(json.dumps(codec.configuration(), allow_nan=False))
        problems = Problems()
        assert type(codec).parse(configuration, _PLACE, problems) == codec
        assert not problems.found
        assert not problems.warnings
        document = codec.to_json()
        assert document["name"] == codec.name
        assert document.get("configuration", {}) == configuration
        assert set(document) <= {"name", "configuration"}

    def test_R33_unknown_members_are_refused(self, codec: Codec) -> None:
        codec = self._public(self.recorded(codec))
        problems = Problems()
        assert type(codec).parse(codec.configuration() | {"surely_unknown": 1}, _PLACE, problems) is None
        assert any("surely_unknown" in problem.path + problem.message for problem in problems.found)
        assert all(problem.path.startswith(_PLACE) for problem in problems.found)

    def test_whatever_a_configuration_holds_it_never_raises(self, codec: Codec) -> None:
        codec = self._public(self.recorded(codec))
        for configuration in junk_for(codec.configuration()):
            problems = Problems()
            found = type(codec).parse(configuration, _PLACE, problems)
            assert (found is None) == bool(problems), f"{configuration} gives {found} and {problems.found}"
            assert all(problem.path.startswith(_PLACE) for problem in problems.found)

    def test_wrong_configurations_are_refused(self, codec: Codec) -> None:
        for configuration in self.wrong_configurations:
            problems = Problems()
            assert type(codec).parse(dict(configuration), _PLACE, problems) is None, configuration
            assert problems, configuration

    def _public(self, codec: Codec) -> Codec:
        if codec.private:
            pytest.skip("no document of version 3 names it")
        return codec

    # -- encoding and decoding

    def test_what_is_encoded_is_decoded(self, codec: Codec) -> None:
        for bound, value in self.pairs(codec):
            encoded = bound.encode(value)
            self.check_decoded(bound.decode(encoded), value)
            if isinstance(codec, ArrayCodec):
                assert (encoded.shape, encoded.dtype) == (bound.encoded.shape, bound.encoded.dtype)
                assert (bound.encoded.fill.shape, bound.encoded.fill.dtype) == ((), bound.encoded.dtype)

    def check_decoded(self, found: Any, value: npt.NDArray[Any] | bytes) -> None:
        """Asserts that `found` is what was encoded; or may be, if the codec loses something."""
        if isinstance(value, bytes):
            assert len(found) == len(value)
            assert not self.lossless or bytes(found) == value
        else:
            assert (found.shape, found.dtype) == (value.shape, value.dtype)
            assert not self.lossless or same_elements(found, value), f"{value!r} became {found!r}"

    def test_sizes_are_as_it_says(self, codec: Codec) -> None:
        if isinstance(codec, ArrayCodec):
            pytest.skip("it makes no bytes")
        for bound, value in self.pairs(codec):
            size = memoryview(bound.encode(value)).nbytes
            assert size <= bound.encoded.limit
            assert bound.encoded.size in (None, size)

    def test_what_is_given_does_not_change(self, codec: Codec) -> None:
        for bound, value in self.pairs(codec):
            given = bytearray(value) if isinstance(value, bytes) else value.copy()
            encoded = bound.encode(given)
            kept = encoded.copy() if isinstance(encoded, np.ndarray) else bytes(encoded)
            bound.decode(encoded)
            self.check_same(given, value)
            self.check_same(encoded, kept)

    def test_any_memory_will_do(self, codec: Codec) -> None:
        """Bytes come as `bytes`, as `bytearray` and as views, arrays in any order and read-only."""
        for bound, value in self.pairs(codec):
            expected = bound.decode(bound.encode(value))
            for form in self.forms(value):
                self.check_same(bound.decode(bound.encode(form)), expected)
            if not isinstance(codec, ArrayCodec):
                for stored in self.forms(bytes(bound.encode(value))):
                    self.check_same(bound.decode(stored), expected)

    def forms(self, value: npt.NDArray[Any] | bytes) -> Iterator[Any]:
        """The same value in other kinds of memory."""
        if isinstance(value, bytes):
            yield from (bytearray(value), memoryview(value), memoryview(bytearray(b"_" + value))[1:])
            return
        frozen = value.copy()
        frozen.flags.writeable = False
        yield frozen
        if value.ndim:
            yield np.asfortranarray(value)
            yield np.repeat(value, 2, axis=0)[::2]
            yield np.flip(np.ascontiguousarray(np.flip(value)))

    def check_same(self, found: Any, expected: Any) -> None:
        """Asserts that two decoded values are the same."""
        if isinstance(expected, np.ndarray):
            assert same_elements(found, expected)
        else:
            assert bytes(found) == bytes(expected)

    def test_it_may_decode_into_memory_that_is_given(self, codec: Codec) -> None:
        if not isinstance(codec, BytesCodec):
            pytest.skip("only bytes → bytes codecs are given any")
        for bound, value in self.pairs(codec):
            out = memoryview(bytearray(b"?" * len(value)))
            found = bound.decode(bound.encode(value), out)
            self.check_decoded(found, value)
            if found is out:
                self.check_decoded(bytes(out), value)

    def test_many_threads_may_use_it_at_once(self, codec: Codec) -> None:
        pairs = self.pairs(codec)
        expected = [bound.decode(bound.encode(value)) for bound, value in pairs]

        def work(_: int) -> None:
            for (bound, value), first in zip(pairs, expected, strict=True):
                self.check_same(bound.decode(bound.encode(value)), first)

        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(work, range(2 * self.threads)))

    # -- what nobody should have stored

    def test_damaged_data_give_codec_errors_or_the_right_size(self, codec: Codec) -> None:
        for bound, value in self.pairs(codec):
            if isinstance(codec, ArrayCodec):
                for array in self.hostile_arrays(bound.encoded):
                    self.check_hostile(bound, array, value)
            else:
                for data in damaged(bytes(bound.encode(value))):
                    self.check_hostile(bound, data, value)

    def check_hostile(self, bound: Any, data: Any, value: Any) -> None:
        """Asserts that `data` are refused, or decoded to something like `value`."""
        try:
            found = bound.decode(data)
        except CodecError:
            return
        if isinstance(value, bytes):
            assert len(found) == len(value)
        else:
            assert (found.shape, found.dtype) == (value.shape, value.dtype)

    def hostile_arrays(self, spec: ChunkSpec) -> Iterator[npt.NDArray[Any]]:
        """Arrays that another codec may have made of damaged bytes."""
        if spec.dtype.hasobject:
            return
        random = np.random.default_rng(0)
        for content in (b"\xff" * spec.nbytes, *(random.bytes(spec.nbytes) for _ in range(4))):
            yield np.frombuffer(content, spec.dtype).reshape(spec.shape)

    def test_damage_is_noticed(self, codec: Codec) -> None:
        if not self.detects_damage or isinstance(codec, ArrayCodec):
            pytest.skip("it does not say that it notices damage")
        for bound, value in self.pairs(codec):
            data = bytes(bound.encode(value))
            for wrong in (*flipped(data), *longer_or_shorter(data)):
                with pytest.raises(CodecError):
                    bound.decode(wrong)

    def test_a_document_alone_takes_no_memory(self, codec: Codec) -> None:
        """A document may name chunks of any size: binding a codec to them is no reason to take memory for one."""
        values = [value for _, value in self.pairs(codec)]
        tracemalloc.start()
        try:
            for value in values:
                self.bind_to_huge(codec, value)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert most < _LITTLE, f"{most} bytes were taken when nothing was encoded or decoded"

    def bind_to_huge(self, codec: Codec, value: npt.NDArray[Any] | bytes) -> None:
        """Binds the codec to values like this one, and immensely longer."""
        if isinstance(codec, BytesCodec) and isinstance(value, bytes):
            codec.resolved(1).bind(ByteSpec(_HUGE * len(value), _HUGE * len(value)), _PLACE, Problems())
        elif isinstance(codec, (ArrayCodec, Serializer)) and isinstance(value, np.ndarray) and value.ndim:
            settled = self.settled(codec, value)
            if settled is not None:
                shape = (_HUGE * value.shape[0], *value.shape[1:])
                settled.bind(ChunkSpec(shape, value.dtype, np.zeros((), value.dtype)), _PLACE, Problems())

    def test_no_size_that_is_found_in_data_is_trusted(self, codec: Codec) -> None:
        """A few bytes that unfold to many are refused before memory is taken for all of them."""
        if not isinstance(codec, BytesCodec):
            pytest.skip("only bytes → bytes codecs unfold anything")
        large = self.bound(codec, b"\0" * _BOMB)
        small = self.bound(codec, b"\0" * 100)
        data = b"" if large is None or small is None else bytes(large.encode(b"\0" * _BOMB))
        if not 0 < len(data) < _BOMB // 8:
            pytest.skip("it does not compress")
        problems = Problems()
        open_end = codec.resolved(1).bind(ByteSpec(None, 100), _PLACE, problems)
        tracemalloc.start()
        try:
            for bound in filter(None, (small, open_end)):
                with pytest.raises(CodecError):
                    bound.decode(data)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert most < _BOMB // 2, f"{most} bytes were taken to find that 100 were too few"
