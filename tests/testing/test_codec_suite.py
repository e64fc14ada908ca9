"""Every codec of omnizarr passes the suite for other people's codecs, and the suite notices codecs that are wrong."""

from __future__ import annotations

import bz2
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest

from omnizarr.codecs import Blosc, Bytes, Codec, Crc32c, Gzip, Sharding, Transpose, Zstd, codecs
from omnizarr.codecs import numcodecs_ as family
from omnizarr.codecs.array_to_array.bit_round import BitRound
from omnizarr.codecs.array_to_array.cast_value import CastValue
from omnizarr.codecs.array_to_array.reshape import Reshape
from omnizarr.codecs.array_to_array.scale_offset import ScaleOffset
from omnizarr.codecs.array_to_bytes.n5_default import N5Default
from omnizarr.codecs.bytes_to_bytes.conditional import Conditional
from omnizarr.codecs.contract import BoundBytesCodec, Buffer, BytesCodec, ByteSpec, compressed
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
    "zstd": [Zstd(), Zstd(-5), Zstd(3, checksum=True)],
}
"""Of codecs that need arguments, or are worth more than one test."""

LOSSY = (
    *("bitround", "cast_value", "scale_offset"),
    *("numcodecs.astype", "numcodecs.bitround", "numcodecs.fixedscaleoffset", "numcodecs.quantize"),
)
"""Lossy for the values of the suite, which are random bits."""
BOOLEANS = ("numcodecs.packbits",)
CHECKSUMS = ("crc32c", "numcodecs.adler32", "numcodecs.crc32", "numcodecs.crc32c", "numcodecs.fletcher32")


def samples(*names: str) -> list[Codec]:
    """Some codecs have two names; one of each is enough."""
    return list(dict.fromkeys(codec for name in names for codec in SAMPLES.get(name) or default(name)))


def default(name: str) -> list[Codec]:
    made: Any = codecs.get(name)
    try:
        return [made()]
    except TypeError:  # it needs arguments, and the test below says that there are none
        return []


def test_there_is_a_sample_of_every_codec() -> None:
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
    """It takes unsigned integers as far as they have signed twins."""

    def make_codecs(self) -> Sequence[Codec]:
        return samples("zfp")

    def make_arrays(self) -> Sequence[npt.NDArray[Any]]:
        return [array for array in super().make_arrays() if array.dtype.name not in ("uint32", "uint64")]


class TestChecksums(CodecSuite):
    detects_damage = True

    def make_codecs(self) -> Sequence[Codec]:
        return samples(*CHECKSUMS)


class TestBooleans(CodecSuite):
    """What takes other bytes too, and makes booleans of them."""

    def make_codecs(self) -> Sequence[Codec]:
        return samples(*BOOLEANS)

    def make_arrays(self) -> Sequence[npt.NDArray[Any]]:
        return [array for array in super().make_arrays() if array.dtype == bool]


class TestOfVersion2(CodecSuite):
    """Codecs that no document of version 3 names."""

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
class Careless(BytesCodec):
    """Does what a codec must not do, each time as its name says."""

    name: ClassVar[str] = "careless"
    fault: str = ""

    @classmethod
    def parse(cls, configuration: dict[str, Any], path: str, problems: Any) -> Careless | None:
        if not isinstance(configuration.get("fault", ""), str):
            problems.add(path, "expected text")
            return None
        if configuration.keys() - {"fault"} and configuration.get("fault") != "ignores members":
            problems.add(f"{path}.configuration", f"unknown members in {configuration}")
            return None
        return cls(configuration.get("fault", "") if configuration.get("fault") != "forgets" else "")

    def configuration(self) -> dict[str, Any]:
        return {"fault": self.fault}

    def bind(self, spec: ByteSpec, path: str, problems: Any) -> BoundCareless | None:
        return BoundCareless(self.fault, spec)


class BoundCareless(BoundBytesCodec):
    def __init__(self, fault: str, spec: ByteSpec) -> None:
        self.fault = fault
        self.spec = spec
        self.encoded = spec if fault == "lies about its size" else compressed(spec)
        self.room = bytes(min(spec.limit, 2**22)) if fault == "takes memory" else b""

    def encode(self, data: Buffer) -> Buffer:
        if self.fault == "changes what it is given" and isinstance(data, bytearray):
            data[0] ^= 1
        if self.fault == "keeps to bytes" and not isinstance(data, bytes):
            raise TypeError("bytes, please")
        return bz2.compress(data)

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        if self.fault == "lets errors out":
            return bz2.decompress(data)
        try:
            if self.fault == "trusts sizes":
                found = bz2.decompress(data)
            else:
                found = bz2.BZ2Decompressor().decompress(data, self.spec.limit + 1)
        except (OSError, EOFError, ValueError) as error:
            raise CodecError("careless", str(error)) from None
        if self.fault != "checks no size" and len(found) != (self.spec.size or len(found)):
            raise CodecError("careless", "another size")
        if len(found) > self.spec.limit:
            raise CodecError("careless", "too long")
        return found[::-1] if self.fault == "loses" else found


CATCHES = {
    "forgets": "test_what_it_writes_it_reads",
    "ignores members": "test_R33_unknown_members_are_refused",
    "changes what it is given": "test_what_is_given_does_not_change",
    "keeps to bytes": "test_any_memory_will_do",
    "lies about its size": "test_sizes_are_as_it_says",
    "lets errors out": "test_damaged_data_give_codec_errors_or_the_right_size",
    "checks no size": "test_damaged_data_give_codec_errors_or_the_right_size",
    "trusts sizes": "test_no_size_that_is_found_in_data_is_trusted",
    "loses": "test_what_is_encoded_is_decoded",
    "takes memory": "test_a_document_alone_takes_no_memory",
}


@pytest.mark.parametrize(("fault", "test"), CATCHES.items(), ids=str)
def test_the_suite_notices(fault: str, test: str) -> None:
    with pytest.raises((AssertionError, TypeError, OSError, ValueError)) as caught:
        getattr(CodecSuite(), test)(Careless(fault))
    assert not isinstance(caught.value, CodecError)


@pytest.mark.parametrize(
    "test", sorted({*CATCHES.values(), "test_it_is_a_value", "test_many_threads_may_use_it_at_once"})
)
def test_the_suite_is_content_with_what_is_right(test: str) -> None:
    getattr(CodecSuite(), test)(Careless())


def test_the_suite_says_what_a_subclass_must() -> None:
    with pytest.raises(NotImplementedError, match="says which codecs"):
        CodecSuite().make_codecs()
    with pytest.raises(AssertionError, match="takes none of the values"):
        CodecSuite().pairs(Sharding((99,), (Bytes("little"),), (Bytes("little"),)))
