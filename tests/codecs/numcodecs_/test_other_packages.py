"""Codecs that other packages register with numcodecs."""

from __future__ import annotations

import pickle
from typing import Any

import numcodecs
import numcodecs.abc
import numcodecs.registry
import numpy as np
import pytest
from tests.codecs.binding import from_config, spec_of

from omnizarr._json import Problems
from omnizarr.codecs.contract import ByteSpec
from omnizarr.codecs.numcodecs_.foreign import Foreign, ForeignArray
from omnizarr.codecs.numcodecs_.v2_ids import config_of
from omnizarr.errors import CodecError


class Reverse(numcodecs.abc.Codec):
    """A third-party codec that reverses bytes, and stores its option and the number of dimensions."""

    codec_id = "omnizarr-test-reverse"

    def __init__(self, mark: int = 0) -> None:
        if mark < 0:
            raise ValueError("no negative marks")
        self.mark = mark

    def encode(self, buf: Any) -> Any:
        array = np.asarray(buf)
        return bytes([self.mark, array.ndim]) + array.tobytes()[::-1]

    def decode(self, buf: Any, out: Any = None) -> Any:
        data = bytes(buf)
        if data[0] != self.mark:
            raise KeyError("another mark")
        return np.frombuffer(data[:1:-1], "u1")


@pytest.fixture
def _reverse() -> Any:
    numcodecs.registry.register_codec(Reverse)
    yield
    del numcodecs.registry.codec_registry[Reverse.codec_id]


@pytest.mark.usefixtures("_reverse")
def test_codecs_registered_with_numcodecs_work() -> None:
    config = {"id": Reverse.codec_id, "mark": 7}
    codec = from_config(config)
    assert codec == Foreign(config)
    assert config_of(codec) == config
    assert pickle.loads(pickle.dumps(codec)) == codec
    assert hash(codec) == hash(Foreign(dict(config)))
    assert codec.private
    bound = codec.bind(ByteSpec(3, 3), "$", Problems())
    assert bytes(bound.encode(b"abc")) == b"\x07\x01cba"
    assert bytes(bound.decode(b"\x07\x01cba")) == b"abc"
    for wrong in (b"\x07\x01cbaa", b"\x08\x01cba", b""):
        with pytest.raises(CodecError, match=Reverse.codec_id):
            bound.decode(wrong)


@pytest.mark.usefixtures("_reverse")
def test_as_first_codec_they_get_shape_and_byte_order() -> None:
    array = np.array([[1, 2]], "i2")
    codec = ForeignArray({"id": Reverse.codec_id}, np.dtype(">i2"))
    bound = codec.bind(spec_of(array), "$", Problems())
    assert bound is not None
    assert bytes(bound.encode(array)) == b"\x00\x02\x02\x00\x01\x00"
    assert bound.decode(bound.encode(array)).tolist() == [[1, 2]]
    assert config_of(codec) == {"id": Reverse.codec_id}
    assert ForeignArray({"id": Reverse.codec_id}, np.dtype(">i4")).bind(spec_of(array), "$", Problems()) is None


@pytest.mark.usefixtures("_reverse")
def test_a_rejected_configuration_is_a_problem() -> None:
    problems = Problems()
    assert from_config({"id": Reverse.codec_id, "mark": -1}).bind(ByteSpec(3, 3), "$.compressor", problems) is None
    assert "no negative marks" in problems.found[0].message
