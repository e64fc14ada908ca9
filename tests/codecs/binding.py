"""Parses and binds codecs for the tests of this folder: from documents of v3, and from configurations of v2."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Problems
from omnizarr.codecs.contract import ByteSpec, ChunkSpec
from omnizarr.codecs.numcodecs_.v2_ids import codec_from_config
from omnizarr.codecs.parsing import parse_codec

__all__ = [
    "bind",
    "bind_array",
    "bind_bytes",
    "bind_problems",
    "config_problems",
    "from_config",
    "object_array",
    "parse_problems",
    "parse_valid",
    "paths_of",
    "spec_of",
]

PATH = "$.codecs[0]"


def spec_of(array: npt.NDArray[Any], fill: Any = None) -> ChunkSpec:
    """The spec of chunks with this shape and type; the fill value is zero by default."""
    value = np.zeros((), array.dtype) if fill is None else np.array(fill).astype(array.dtype)
    return ChunkSpec(array.shape, array.dtype, value)


# -- documents of v3


def parse_valid(name: str, **configuration: Any) -> Any:
    """The codec of a document, which must be valid; its own document must parse to an equal codec."""
    problems = Problems()
    codec = parse_codec({"name": name, "configuration": configuration}, PATH, problems)
    assert codec is not None, problems.found
    assert not problems.found
    again = parse_codec(codec.to_json(), PATH, problems)
    assert again == codec
    assert hash(again) == hash(codec)
    return codec


def parse_problems(name: str, configuration: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The problems of an invalid configuration: paths relative to the codec, and messages."""
    problems = Problems()
    assert parse_codec({"name": name, "configuration": dict(configuration)}, PATH, problems) is None
    return _listed(problems)


def bind(codec: Any, spec: ChunkSpec | ByteSpec | npt.NDArray[Any]) -> Any:
    """The codec, bound to chunks of this spec."""
    problems = Problems()
    bound = codec.bind(spec_of(spec) if isinstance(spec, np.ndarray) else spec, PATH, problems)
    assert bound is not None, problems.found
    return bound


def bind_problems(codec: Any, spec: ChunkSpec | ByteSpec | npt.NDArray[Any]) -> list[tuple[str, str]]:
    """The problems of binding a codec to chunks that it does not accept: relative paths, and messages."""
    problems = Problems()
    assert codec.bind(spec_of(spec) if isinstance(spec, np.ndarray) else spec, PATH, problems) is None
    return _listed(problems)


def _listed(problems: Problems) -> list[tuple[str, str]]:
    assert problems.found
    assert all(problem.path.startswith(PATH) for problem in problems.found)
    return [(problem.path.removeprefix(PATH), problem.message) for problem in problems.found]


def paths_of(problems: list[tuple[str, str]]) -> list[str]:
    """The paths of problems, without the messages."""
    return [path for path, _ in problems]


# -- configurations of v2


def from_config(config: dict[str, Any]) -> Any:
    """The codec of a configuration with an `id`, which must be valid."""
    problems = Problems()
    codec = codec_from_config(config, "$", problems)
    assert codec is not None, problems.found
    assert not problems.found
    assert not problems.warnings
    return codec


def bind_bytes(config: dict[str, Any], size: int | None, limit: int = 2**20, itemsize: int = 1) -> Any:
    """A bytes → bytes codec, bound to `size` bytes, or to at most `limit`."""
    problems = Problems()
    codec = from_config(config).bind(ByteSpec(size, limit if size is None else size, itemsize), "$", problems)
    assert codec is not None, problems.found
    return codec


def bind_array(config: dict[str, Any], array: npt.NDArray[Any]) -> Any:
    """A codec that encodes arrays, bound to chunks with this shape and type."""
    problems = Problems()
    codec = from_config(config).bind(spec_of(array), "$", problems)
    assert codec is not None, problems.found
    return codec


def config_problems(config: dict[str, Any], spec: ByteSpec | ChunkSpec) -> list[tuple[str, str]]:
    """The problems of binding a codec to a spec that it does not accept: paths and messages."""
    problems = Problems()
    assert from_config(config).bind(spec, "$", problems) is None
    return [(problem.path, problem.message) for problem in problems.found]


def object_array(items: list[Any], shape: tuple[int, ...] | None = None) -> npt.NDArray[Any]:
    """An array of objects; NumPy does not take lists among them apart."""
    shape = (len(items),) if shape is None else shape
    assert math.prod(shape) == len(items)
    array = np.empty(len(items), object)
    for index, item in enumerate(items):
        array[index] = item
    return array.reshape(shape)
