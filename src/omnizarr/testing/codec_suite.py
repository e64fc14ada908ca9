"""`CodecSuite`: tests that every codec must pass. Subclass it and define the codecs; pytest collects the tests::

    class TestMyCodec(CodecSuite):
        def make_codecs(self):
            return [MyCodec(), MyCodec(level=9)]

The suite recognizes the kind of a codec by its class: array → array, array → bytes or bytes → bytes.
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
from omnizarr.testing.damaged_inputs import bit_flips, damaged_copies, invalid_configurations, wrong_lengths
from omnizarr.testing.value_checks import check_value, same_elements

__all__ = ["CodecSuite"]

_PATH = "$.codecs[0]"
_HUGE = 2**40  # factor for the size of chunks that no memory can hold
_LITTLE = 2**20  # bytes
_BOMB = 2**25  # decoded bytes of compressible data; some compressors need a quarter of it as working memory


class CodecSuite:
    """Tests for a codec. Values that the codec rejects in `bind` are skipped, but it must accept at least one."""

    lossless: bool = True
    """Whether decoding restores every bit."""
    detects_damage: bool = False
    """Whether the codec detects every changed bit, as a checksum does."""
    wrong_configurations: Sequence[dict[str, Json]] = ()
    """Configurations that `parse` must reject."""
    threads: int = 4

    def make_codecs(self) -> Sequence[Codec]:
        """The codecs to test, in all configurations of interest."""
        raise NotImplementedError("a subclass of CodecSuite must define make_codecs")

    def make_arrays(self) -> Sequence[npt.NDArray[Any]]:
        """The input values for codecs that encode arrays."""
        arrays: list[npt.NDArray[Any]] = []
        random = np.random.default_rng(0)
        for name in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"):
            for shape in ((), (1,), (7,), (6, 5), (3, 1, 4)):
                numbers = random.integers(0, 256, (*shape, np.dtype(name).itemsize), np.uint8)
                array = np.ascontiguousarray(numbers).view(name)[..., 0]
                arrays += [numbers[..., 0] > 127 if name == "?" else array, np.zeros(shape, name)]
        arrays.append(np.array(["a", "", "ä\U0001f71a"], np.dtypes.StringDType()))
        arrays.append(np.array([b"a", b"", b"\0\xff"], object))
        return arrays

    def make_bytes(self) -> Sequence[bytes]:
        """The input values for codecs that encode bytes."""
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
            codecs = self.make_codecs()
            metafunc.parametrize("codec", codecs, ids=[repr(codec)[:60] for codec in codecs])

    # -- input values

    def bind(self, codec: Codec, value: npt.NDArray[Any] | bytes) -> Any:
        """The codec bound to values like this one; None if it does not support them."""
        problems = Problems()
        if isinstance(codec, BytesCodec) and isinstance(value, bytes):
            itemsize = 4 if len(value) % 4 == 0 else 1
            spec = ByteSpec(len(value), len(value), itemsize)
            bound: Any = codec.resolved(itemsize).bind(spec, _PATH, problems)
        elif isinstance(codec, (ArrayCodec, Serializer)) and isinstance(value, np.ndarray):
            completed = self.codec_for(codec, value)
            chunk = ChunkSpec(value.shape, value.dtype, np.zeros((), value.dtype))
            bound = None if completed is None else completed.bind(chunk, _PATH, problems)
            if completed is None:
                return None
        else:
            return None
        assert (bound is None) == bool(problems), "`bind` must return None if and only if it adds problems"
        assert all(problem.path.startswith(_PATH) for problem in problems.found)
        return bound

    def codec_for(self, codec: ArrayCodec | Serializer, array: npt.NDArray[Any]) -> ArrayCodec | Serializer | None:
        """The codec with all options filled in for a new array like this one; None if it does not support it."""
        if isinstance(codec, Serializer):
            return codec
        try:
            return codec.resolved(array.ndim).completed(array.dtype)
        except ArgumentError:
            return None

    def bound_pairs(self, codec: Codec) -> list[tuple[Any, Any]]:
        """All values that the codec supports, each with the codec bound to it."""
        values: Sequence[Any] = self.make_bytes() if isinstance(codec, BytesCodec) else self.make_arrays()
        pairs = [(bound, value) for value in values if (bound := self.bind(codec, value)) is not None]
        assert pairs, f"{codec!r} supports none of the suite's values; override `make_arrays` or `make_bytes`"
        return pairs

    def codec_in_document(self, codec: Codec) -> Codec:
        """The codec with all options filled in for some new array that it supports."""
        if isinstance(codec, BytesCodec):
            return codec.resolved(4)
        if isinstance(codec, ArrayCodec):
            for array in self.make_arrays():
                completed = self.codec_for(codec, array)
                if completed is not None and self.bind(codec, array) is not None:
                    return completed
        return codec

    # -- metadata

    def test_it_compares_hashes_and_pickles(self, codec: Codec) -> None:
        check_value(codec)

    def test_configurations_differ(self) -> None:
        codecs = self.make_codecs()
        assert len(set(codecs)) == len(codecs)

    def test_configuration_roundtrip(self, codec: Codec) -> None:
        codec = self._public(self.codec_in_document(codec))
        configuration = json.loads(json.dumps(codec.configuration(), allow_nan=False))
        problems = Problems()
        assert type(codec).parse(configuration, _PATH, problems) == codec
        assert not problems.found
        assert not problems.warnings
        document = codec.to_json()
        assert document["name"] == codec.name
        assert document.get("configuration", {}) == configuration
        assert set(document) <= {"name", "configuration"}

    def test_R33_unknown_members_are_rejected(self, codec: Codec) -> None:
        codec = self._public(self.codec_in_document(codec))
        problems = Problems()
        assert type(codec).parse(codec.configuration() | {"surely_unknown": 1}, _PATH, problems) is None
        assert any("surely_unknown" in problem.path + problem.message for problem in problems.found)
        assert all(problem.path.startswith(_PATH) for problem in problems.found)

    def test_invalid_configurations_never_raise(self, codec: Codec) -> None:
        codec = self._public(self.codec_in_document(codec))
        for configuration in invalid_configurations(codec.configuration()):
            problems = Problems()
            parsed = type(codec).parse(configuration, _PATH, problems)
            assert (parsed is None) == bool(problems), f"{configuration} gives {parsed} and {problems.found}"
            assert all(problem.path.startswith(_PATH) for problem in problems.found)

    def test_wrong_configurations_are_rejected(self, codec: Codec) -> None:
        for configuration in self.wrong_configurations:
            problems = Problems()
            assert type(codec).parse(dict(configuration), _PATH, problems) is None, configuration
            assert problems, configuration

    def _public(self, codec: Codec) -> Codec:
        if codec.private:
            pytest.skip("a private codec never appears in a v3 document")
        return codec

    # -- encoding and decoding

    def test_roundtrip(self, codec: Codec) -> None:
        for bound, value in self.bound_pairs(codec):
            encoded = bound.encode(value)
            self.check_decoded(bound.decode(encoded), value)
            if isinstance(codec, ArrayCodec):
                assert (encoded.shape, encoded.dtype) == (bound.encoded.shape, bound.encoded.dtype)
                assert (bound.encoded.fill.shape, bound.encoded.fill.dtype) == ((), bound.encoded.dtype)

    def check_decoded(self, decoded: Any, value: npt.NDArray[Any] | bytes) -> None:
        """Assert that `decoded` equals the encoded `value`, or has the same form if the codec is lossy."""
        if isinstance(value, bytes):
            assert len(decoded) == len(value)
            assert not self.lossless or bytes(decoded) == value
        else:
            assert (decoded.shape, decoded.dtype) == (value.shape, value.dtype)
            assert not self.lossless or same_elements(decoded, value), f"{value!r} became {decoded!r}"

    def test_encoded_size_matches_the_spec(self, codec: Codec) -> None:
        if isinstance(codec, ArrayCodec):
            pytest.skip("its output is not bytes")
        for bound, value in self.bound_pairs(codec):
            size = memoryview(bound.encode(value)).nbytes
            assert size <= bound.encoded.limit
            assert bound.encoded.size in (None, size)

    def test_arguments_do_not_change(self, codec: Codec) -> None:
        for bound, value in self.bound_pairs(codec):
            element = bytearray(value) if isinstance(value, bytes) else value.copy()
            encoded = bound.encode(element)
            before = encoded.copy() if isinstance(encoded, np.ndarray) else bytes(encoded)
            bound.decode(encoded)
            self.check_same(element, value)
            self.check_same(encoded, before)

    def test_any_memory_layout(self, codec: Codec) -> None:
        """Input may be `bytes`, `bytearray` or a view; arrays may have any strides and be read-only."""
        for bound, value in self.bound_pairs(codec):
            expected = bound.decode(bound.encode(value))
            for form in self.forms(value):
                self.check_same(bound.decode(bound.encode(form)), expected)
            if not isinstance(codec, ArrayCodec):
                for stored in self.forms(bytes(bound.encode(value))):
                    self.check_same(bound.decode(stored), expected)

    def forms(self, value: npt.NDArray[Any] | bytes) -> Iterator[Any]:
        """The value in other kinds of memory."""
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

    def check_same(self, decoded: Any, expected: Any) -> None:
        """Assert that two decoded values are equal."""
        if isinstance(expected, np.ndarray):
            assert same_elements(decoded, expected)
        else:
            assert bytes(decoded) == bytes(expected)

    def test_decode_into_out(self, codec: Codec) -> None:
        if not isinstance(codec, BytesCodec):
            pytest.skip("only bytes → bytes codecs have `out`")
        for bound, value in self.bound_pairs(codec):
            out = memoryview(bytearray(b"?" * len(value)))
            decoded = bound.decode(bound.encode(value), out)
            self.check_decoded(decoded, value)
            if decoded is out:
                self.check_decoded(bytes(out), value)

    def test_concurrent_use(self, codec: Codec) -> None:
        pairs = self.bound_pairs(codec)
        expected = [bound.decode(bound.encode(value)) for bound, value in pairs]

        def work(_: int) -> None:
            for (bound, value), first in zip(pairs, expected, strict=True):
                self.check_same(bound.decode(bound.encode(value)), first)

        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(work, range(2 * self.threads)))

    # -- damaged and malicious data

    def test_damaged_data_give_codec_errors_or_the_right_size(self, codec: Codec) -> None:
        for bound, value in self.bound_pairs(codec):
            if isinstance(codec, ArrayCodec):
                for array in self.damaged_arrays(bound.encoded):
                    self.check_damaged(bound, array, value)
            else:
                for data in damaged_copies(bytes(bound.encode(value))):
                    self.check_damaged(bound, data, value)

    def check_damaged(self, bound: Any, data: Any, value: Any) -> None:
        """Assert that decoding `data` raises CodecError, or returns a value of the same form as `value`."""
        try:
            decoded = bound.decode(data)
        except CodecError:
            return
        if isinstance(value, bytes):
            assert len(decoded) == len(value)
        else:
            assert (decoded.shape, decoded.dtype) == (value.shape, value.dtype)

    def damaged_arrays(self, spec: ChunkSpec) -> Iterator[npt.NDArray[Any]]:
        """Arrays that another codec could decode from damaged bytes."""
        if spec.dtype.hasobject:
            return
        random = np.random.default_rng(0)
        for content in (b"\xff" * spec.nbytes, *(random.bytes(spec.nbytes) for _ in range(4))):
            yield np.frombuffer(content, spec.dtype).reshape(spec.shape)

    def test_damage_is_detected(self, codec: Codec) -> None:
        if not self.detects_damage or isinstance(codec, ArrayCodec):
            pytest.skip("`detects_damage` is false")
        for bound, value in self.bound_pairs(codec):
            data = bytes(bound.encode(value))
            for wrong in (*bit_flips(data), *wrong_lengths(data)):
                with pytest.raises(CodecError):
                    bound.decode(wrong)

    def test_binding_allocates_little_memory(self, codec: Codec) -> None:
        """A document may declare chunks of any size, so binding must not allocate memory for a chunk."""
        values = [value for _, value in self.bound_pairs(codec)]
        tracemalloc.start()
        try:
            for value in values:
                self.bind_to_huge(codec, value)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < _LITTLE, f"binding allocated {peak} bytes"

    def bind_to_huge(self, codec: Codec, value: npt.NDArray[Any] | bytes) -> None:
        """Bind the codec to values like this one, but 2 ** 40 times as long."""
        if isinstance(codec, BytesCodec) and isinstance(value, bytes):
            codec.resolved(1).bind(ByteSpec(_HUGE * len(value), _HUGE * len(value)), _PATH, Problems())
        elif isinstance(codec, (ArrayCodec, Serializer)) and isinstance(value, np.ndarray) and value.ndim:
            completed = self.codec_for(codec, value)
            if completed is not None:
                shape = (_HUGE * value.shape[0], *value.shape[1:])
                completed.bind(ChunkSpec(shape, value.dtype, np.zeros((), value.dtype)), _PATH, Problems())

    def test_decode_does_not_trust_sizes_in_data(self, codec: Codec) -> None:
        """Decoding a decompression bomb fails before memory is allocated for its whole content."""
        if not isinstance(codec, BytesCodec):
            pytest.skip("only bytes → bytes codecs compress")
        large = self.bind(codec, b"\0" * _BOMB)
        small = self.bind(codec, b"\0" * 100)
        data = b"" if large is None or small is None else bytes(large.encode(b"\0" * _BOMB))
        if not 0 < len(data) < _BOMB // 8:
            pytest.skip("it does not compress")
        problems = Problems()
        limited = codec.resolved(1).bind(ByteSpec(None, 100), _PATH, problems)
        tracemalloc.start()
        try:
            for bound in filter(None, (small, limited)):
                with pytest.raises(CodecError):
                    bound.decode(data)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < _BOMB // 2, f"decoding allocated {peak} bytes before it exceeded the limit of 100 bytes"
