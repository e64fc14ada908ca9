"""Codecs of version 3 for the tests of this folder: read as a document names them, bound to what they will meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Problems
from omnizarr.codecs.contract import ByteSpec, ChunkSpec
from omnizarr.codecs.parsing import parse_codec

__all__ = ["at", "bind", "misfits", "read", "refused", "spec_of"]

PATH = "$.codecs[0]"


def read(name: str, **configuration: Any) -> Any:
    """The codec that a document means, which must be without fault; and it must say the same again."""
    problems = Problems()
    codec = parse_codec({"name": name, "configuration": configuration}, PATH, problems)
    assert codec is not None, problems.found
    assert not problems.found
    again = parse_codec(codec.to_json(), PATH, problems)
    assert again == codec
    assert hash(again) == hash(codec)
    return codec


def refused(name: str, configuration: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What is wrong with a configuration whatever the codec meets: places, without what is the same in all, and
    messages."""
    problems = Problems()
    assert parse_codec({"name": name, "configuration": dict(configuration)}, PATH, problems) is None
    return _told(problems)


def spec_of(array: npt.NDArray[Any], fill: Any = 0) -> ChunkSpec:
    """What a codec is told of chunks like this one."""
    return ChunkSpec(array.shape, array.dtype, np.array(fill).astype(array.dtype))


def bind(codec: Any, spec: ChunkSpec | ByteSpec | npt.NDArray[Any]) -> Any:
    """The codec, for chunks like this."""
    problems = Problems()
    found = codec.bind(spec_of(spec) if isinstance(spec, np.ndarray) else spec, PATH, problems)
    assert found is not None, problems.found
    return found


def misfits(codec: Any, spec: ChunkSpec | ByteSpec | npt.NDArray[Any]) -> list[tuple[str, str]]:
    """What is wrong with using a codec for chunks like this."""
    problems = Problems()
    assert codec.bind(spec_of(spec) if isinstance(spec, np.ndarray) else spec, PATH, problems) is None
    return _told(problems)


def _told(problems: Problems) -> list[tuple[str, str]]:
    assert problems.found
    assert all(problem.path.startswith(PATH) for problem in problems.found)
    return [(problem.path.removeprefix(PATH), problem.message) for problem in problems.found]


def at(problems: list[tuple[str, str]]) -> list[str]:
    """The places alone."""
    return [place for place, _ in problems]
