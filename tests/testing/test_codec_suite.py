"""Every codec of omnizarr passes `CodecSuite`, and the suite detects faulty codecs."""

from __future__ import annotations

import bz2
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest

from omnizarr.codecs import Blosc, Bytes, Codec, Crc32c, Gzip, Sharding, Transpose, Zstd, codec_of, codecs
from omnizarr.codecs import numcodecs_ as family
from omnizarr.codecs.array_to_array.bit_round import BitRound
from omnizarr.codecs.array_to_array.cast_value import CastValue
from omnizarr.codecs.array_to_array.reshape import Reshape
from omnizarr.codecs.array_to_array.scale_offset import ScaleOffset
from omnizarr.codecs.array_to_bytes.n5_default import N5Default
from omnizarr.codecs.bytes_to_bytes.conditional import Conditional
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, compressed
from omnizarr.codecs.zarrs_.vlen import OffsetVlen
from omnizarr.errors import CodecError
from omnizarr.testing import CodecSuite

SAMPLES: dict[str, Sequence[Codec]] = {
    "bitround": [BitRound(4)],
    "blosc": [Blosc(), Blosc("zstd", 3, "bitshuffle"), Blosc("zlib", 9, "noshuffle")],
    "bytes": [Bytes("little"), Bytes("big")],
    "cast_value": [CastValue("int16"), CastValue("uint8", "towards-zero", "clamp", {"encode": [["NaN", 0]]})],
    "conditional": [Conditional((Gzip(),)), Conditional((Zstd(), Crc32c()), decision="always_apply")],
    "n5_default": [N5Default((Transpose((0,)), Bytes("big"))), N5Default((Transpose((1, 0)), Bytes("big"), Gzip()))],
    "numcodecs.astype": [family.AsType("<f8", "<i4")],
    "numcodecs.bitround": [family.BitRound(4)],
    "numcodecs.delta": [family.Delta("<i4"), family.Delta("|u1", "<i2")],
    "numcodecs.fixedscaleoffset": [family.FixedScaleOffset(10, 0, "<f8", "<i4")],
    "numcodecs.quantize": [family.Quantize(3, "<f8")],
    "reshape": [Reshape((3, 10)), Reshape(([0, 1], 4))],
    "scale_offset": [ScaleOffset(1.5, 4)],
    "sharding_indexed": [
        Sharding((7,), (Bytes("little"), Zstd()), (Bytes("little"), Crc32c())),
        Sharding((3, 1), (Transpose((1, 0)), Bytes("big")), (Bytes("little"),), "start"),
    ],
    "transpose": [Transpose((1, 0)), Transpose((2, 0, 1)), Transpose(())],
    "zarrs.vlen": [
        OffsetVlen((Bytes(),), (Bytes("little"),), "uint32"),
        OffsetVlen((Bytes(), Gzip()), (Bytes("big"), Crc32c()), "uint64", "end"),
    ],
    "zstd": [Zstd(), Zstd(-5), Zstd(3, checksum=True)],
}
"""Instances of codecs that need arguments, or that are tested in several configurations."""

LOSSY = (
    *("bitround", "cast_value", "scale_offset"),
    *("numcodecs.astype", "numcodecs.bitround", "numcodecs.fixedscaleoffset", "numcodecs.quantize"),
)
"""Lossy for the values of the suite, which are random bits."""
BOOLEANS = ("numcodecs.packbits",)
CHECKSUMS = ("crc32c", "numcodecs.adler32", "numcodecs.crc32", "numcodecs.crc32c", "numcodecs.fletcher32")


def samples(*names: str) -> list[Codec]:
    """The samples of these names, without duplicates: some codecs have two names."""
    return list(dict.fromkeys(codec for name in names for codec in SAMPLES.get(name) or default(name)))


def default(name: str) -> list[Codec]:
    cls: Any = codecs.get(name)
    try:
        return [cls()]
    except TypeError:  # it needs arguments; the next test fails if `SAMPLES` has no instance
        return []


def test_every_codec_has_a_sample() -> None:
    assert [name for name in codecs.names() if not samples(name)] == []


class TestLossless(CodecSuite):
    def make_codecs(self) -> Sequence[Codec]:
        return samples(*(name for name in codecs.names() if name not in (*LOSSY, *CHECKSUMS, *BOOLEANS, "zfp")))


class TestLossy(CodecSuite):
    lossless = False

    def make_codecs(self) -> Sequence[Codec]:
        return samples(*LOSSY)

    def make_arrays(self) -> Sequence[npt.NDArray[Any]]:
        return [np.arange(12, dtype=name).reshape(3, 4) for name in ("i4", "f4", "f8")]


class TestZfp(CodecSuite):
    """zfp supports uint32 and uint64 only up to the largest signed number."""

    def make_codecs(self) -> Sequence[Codec]:
        return samples("zfp")

    def make_arrays(self) -> Sequence[npt.NDArray[Any]]:
        return [array for array in super().make_arrays() if array.dtype.name not in ("uint32", "uint64")]


class TestChecksums(CodecSuite):
    detects_damage = True

    def make_codecs(self) -> Sequence[Codec]:
        return samples(*CHECKSUMS)


class TestBooleans(CodecSuite):
    """Codecs that also accept other bytes, but decode them to booleans."""

    def make_codecs(self) -> Sequence[Codec]:
        return samples(*BOOLEANS)

    def make_arrays(self) -> Sequence[npt.NDArray[Any]]:
        return [array for array in super().make_arrays() if array.dtype == bool]


class TestV2Codecs(CodecSuite):
    """Codecs that only v2 documents contain."""

    def make_codecs(self) -> Sequence[Codec]:
        return [family.Base64(), family.Json2(), family.Msgpack2()]

    def make_arrays(self) -> Sequence[npt.NDArray[Any]]:
        return [np.array([["a", ""], ["ä", "\U0001f71a"]], object)]


class TestRaggedArrays(CodecSuite):
    def make_codecs(self) -> Sequence[Codec]:
        return [family.VlenArray("<i4"), family.VlenArray(">i4")]

    def make_arrays(self) -> Sequence[npt.NDArray[Any]]:
        ragged = np.empty(3, object)
        ragged[:] = [np.arange(length, dtype="i4") for length in range(3)]
        return [ragged]


# -- the suite itself


@dataclass(frozen=True, slots=True)
class Faulty(BytesCodec):
    """A codec with the fault that its argument names."""

    name: ClassVar[str] = "faulty"
    fault: str = ""

    @classmethod
    def parse(cls, configuration: dict[str, Any], path: str, problems: Any) -> Faulty | None:
        if not isinstance(configuration.get("fault", ""), str):
            problems.add(path, "expected text")
            return None
        if configuration.keys() - {"fault"} and configuration.get("fault") != "ignores members":
            problems.add(f"{path}.configuration", f"unknown members in {configuration}")
            return None
        return cls(configuration.get("fault", "") if configuration.get("fault") != "loses its configuration" else "")

    def configuration(self) -> dict[str, Any]:
        return {"fault": self.fault}

    def bind(self, spec: ByteSpec, path: str, problems: Any) -> BoundFaulty | None:
        return BoundFaulty(self.fault, spec)


class BoundFaulty(BoundBytesCodec):
    def __init__(self, fault: str, spec: ByteSpec) -> None:
        self.fault = fault
        self.spec = spec
        self.encoded = spec if fault == "declares a wrong size" else compressed(spec)
        self.room = bytes(min(spec.limit, 2**22)) if fault == "allocates in bind" else b""

    def encode(self, data: Buffer) -> Buffer:
        if self.fault == "changes its argument" and isinstance(data, bytearray):
            data[0] ^= 1
        if self.fault == "accepts only bytes" and not isinstance(data, bytes):
            raise TypeError("expected bytes")
        return bz2.compress(data)

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        if self.fault == "raises other errors":
            return bz2.decompress(data)
        try:
            if self.fault == "trusts sizes":
                decoded = bz2.decompress(data)
            else:
                decoded = bz2.BZ2Decompressor().decompress(data, self.spec.limit + 1)
        except (OSError, EOFError, ValueError) as error:
            raise CodecError("faulty", str(error)) from None
        if self.fault != "checks no size" and len(decoded) != (self.spec.size or len(decoded)):
            raise CodecError("faulty", "another size")
        if len(decoded) > self.spec.limit:
            raise CodecError("faulty", "too long")
        return decoded[::-1] if self.fault == "decodes wrong values" else decoded


CATCHES = {
    "loses its configuration": "test_configuration_roundtrip",
    "ignores members": "test_R33_unknown_members_are_rejected",
    "changes its argument": "test_arguments_do_not_change",
    "accepts only bytes": "test_any_memory_layout",
    "declares a wrong size": "test_encoded_size_matches_the_spec",
    "raises other errors": "test_damaged_data_give_codec_errors_or_the_right_size",
    "checks no size": "test_damaged_data_give_codec_errors_or_the_right_size",
    "trusts sizes": "test_decode_does_not_trust_sizes_in_data",
    "decodes wrong values": "test_roundtrip",
    "allocates in bind": "test_binding_allocates_little_memory",
}


@pytest.mark.parametrize(("fault", "test"), CATCHES.items(), ids=str)
def test_the_suite_detects(fault: str, test: str) -> None:
    with pytest.raises((AssertionError, TypeError, OSError, ValueError)) as caught:
        getattr(CodecSuite(), test)(Faulty(fault))
    assert not isinstance(caught.value, CodecError)


@pytest.mark.parametrize(
    "test", sorted({*CATCHES.values(), "test_it_compares_hashes_and_pickles", "test_concurrent_use"})
)
def test_a_correct_codec_passes_the_suite(test: str) -> None:
    getattr(CodecSuite(), test)(Faulty())


def test_a_subclass_must_define_codecs_and_suitable_values() -> None:
    with pytest.raises(NotImplementedError, match="must define make_codecs"):
        CodecSuite().make_codecs()
    with pytest.raises(AssertionError, match="supports none of the suite's values"):
        CodecSuite().bound_pairs(Sharding((99,), (Bytes("little"),), (Bytes("little"),)))


def with_tuples(value: Any) -> Any:
    """A JSON value as a program may build it: tuples for lists, NumPy integers for integers."""
    if isinstance(value, dict):
        return {name: with_tuples(item) for name, item in value.items()}
    if isinstance(value, list):
        return tuple(map(with_tuples, value))
    return np.int64(value) if type(value) is int and abs(value) < 2**63 else value


@pytest.mark.parametrize("name", codecs.names())
def test_the_configuration_of_a_user_may_hold_tuples_and_numpy_integers(name: str) -> None:
    for codec in samples(name):
        if codec.only_decodes is None and not codec.private:
            document = codec.to_json()
            assert codec_of(with_tuples(document), "codec") == codec_of(document, "codec")
