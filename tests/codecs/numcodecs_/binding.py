"""Codecs for the tests of this folder: made from a configuration, bound to what they will meet."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Problems
from omnizarr.codecs.contract import ByteSpec, ChunkSpec
from omnizarr.codecs.numcodecs_.v2_ids import codec_from_config

__all__ = ["array_codec", "bytes_codec", "made", "objects", "problems_of", "spec_of"]


def made(config: dict[str, Any]) -> Any:
    """The codec for a configuration with an `id`, which must be without fault."""
    problems = Problems()
    codec = codec_from_config(config, "$", problems)
    assert codec is not None, problems.found
    assert not problems.found
    assert not problems.warnings
    return codec


def bytes_codec(config: dict[str, Any], size: int | None, limit: int = 2**20, itemsize: int = 1) -> Any:
    """A bytes → bytes codec for `size` bytes, or for up to `limit`."""
    problems = Problems()
    codec = made(config).bind(ByteSpec(size, limit if size is None else size, itemsize), "$", problems)
    assert codec is not None, problems.found
    return codec


def spec_of(array: npt.NDArray[Any]) -> ChunkSpec:
    """What a codec is told of chunks like this one."""
    return ChunkSpec(array.shape, array.dtype, np.zeros((), array.dtype))


def array_codec(config: dict[str, Any], array: npt.NDArray[Any]) -> Any:
    """A codec that takes arrays, for chunks like this one."""
    problems = Problems()
    codec = made(config).bind(spec_of(array), "$", problems)
    assert codec is not None, problems.found
    return codec


def problems_of(config: dict[str, Any], spec: ByteSpec | ChunkSpec) -> list[tuple[str, str]]:
    """What is wrong with binding a codec: places and messages."""
    problems = Problems()
    assert made(config).bind(spec, "$", problems) is None
    return [(problem.path, problem.message) for problem in problems.found]


def objects(items: list[Any], shape: tuple[int, ...] | None = None) -> npt.NDArray[Any]:
    """An array of objects, lists among them."""
    shape = (len(items),) if shape is None else shape
    assert math.prod(shape) == len(items)
    array = np.empty(len(items), object)
    for index, item in enumerate(items):
        array[index] = item
    return array.reshape(shape)
