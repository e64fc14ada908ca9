"""Whether the codecs of two arrays decode the same bytes to the same elements: tried out on a few made-up elements.

Two generations describe the same codecs in different ways, and often differ in what they leave out. Instead of
comparing descriptions, this module encodes a small chunk with the old codecs, and decodes it with both.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from omnizarr._json import Problems
from omnizarr.codecs import Chain, ChunkSpec, Codec, Sharding
from omnizarr.dtypes import same_bits
from omnizarr.errors import OmnizarrError
from omnizarr.model import ArrayModel

__all__ = ["decodes_alike", "same_elements", "same_index"]

_LENGTHS = (3, 2, 4)  # of the first dimensions of the sample; they differ, so that a wrong order of dimensions shows
_MOST_LONG = 9  # dimensions of a sample that are longer than 1


def decodes_alike(old: ArrayModel, new: ArrayModel) -> bool:
    """Whether the stored chunks of `old` are also those of `new`, if they have the same keys."""
    if old.dtype != new.dtype or old.shape != new.shape or old.grid.chunks != new.grid.chunks:
        return False
    return same_bits(old.filler, new.filler) and _alike(old.codecs, new.codecs, old)


def _alike(old: Sequence[Codec], new: Sequence[Codec], model: ArrayModel) -> bool:
    first, second = (next((codec for codec in codecs if isinstance(codec, Sharding)), None) for codecs in (old, new))
    if first is not None or second is not None:
        if first is None or second is None or len(old) > 1 or len(new) > 1:
            return tuple(old) == tuple(new)
        same = first.chunk_shape == second.chunk_shape and same_index(first, second)
        return same and _alike(first.codecs, second.codecs, model)
    rank = len(model.shape)
    if rank > _MOST_LONG:
        return tuple(old) == tuple(new)
    shape = tuple(_LENGTHS[axis] if axis < len(_LENGTHS) else 2 for axis in range(rank))
    spec = ChunkSpec(shape, model.dtype, model.filler)
    try:
        chains = [Chain.bind(tuple(codecs), spec, "$", Problems()) for codecs in (old, new)]
        if chains[0] is None or chains[1] is None:
            return False
        encoded = bytes(chains[0].encode(_sample(model, shape)))
        one, other = (np.asarray(chain.decode(encoded)) for chain in chains if chain is not None)
    except (OmnizarrError, ValueError, TypeError):
        return False
    return one.shape == other.shape == shape and same_elements(one, other)


def same_index(first: Sharding, second: Sharding) -> bool:
    """Whether two sharding codecs store the same index at the same place."""
    return first.index_location == second.index_location and [
        codec.to_json() for codec in first.index_codecs or ()
    ] == [codec.to_json() for codec in second.index_codecs or ()]


def same_elements(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Whether all elements are equal; NaN equals NaN."""
    if one.dtype != other.dtype:
        return False
    if one.dtype.hasobject or one.dtype.kind == "T":
        return repr(one.tolist()) == repr(other.tolist())
    return one.tobytes() == other.tobytes()


def _sample(model: ArrayModel, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Elements that all differ, as far as the type has enough values."""
    count = prod(shape)
    sample = _values(model.dtype, count)
    if model.dtype.hasobject and model.data_type.name in ("bytes", "variable_length_bytes"):
        for index in range(count):
            sample[index] = str(index).encode()
    return sample.reshape(shape)


def _values(dtype: np.dtype[Any], count: int) -> npt.NDArray[Any]:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return _values(base, count * prod(shape)).reshape(count, *shape)
    if dtype.names is not None:
        records = np.zeros(count, dtype)
        for number, name in enumerate(dtype.names):
            records[name] = np.roll(_values(records[name].dtype, records[name].size), number).reshape(
                records[name].shape
            )
        return records
    numbers = np.arange(1, count + 1)  # not 0, whose bytes are the same in either order
    if dtype.kind in "OUST":
        return np.array([str(number) for number in numbers], dtype=object).astype(dtype)
    if dtype.kind == "V" and dtype.name.startswith("void"):
        return np.frombuffer(bytes(number % 251 for number in range(count * dtype.itemsize)), dtype)
    if dtype.kind in "mM":
        return numbers.astype("i8").astype(dtype.newbyteorder("=")).astype(dtype)
    return (numbers % 2 if dtype.kind == "b" else numbers).astype(dtype)
