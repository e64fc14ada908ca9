"""What documents cannot say of an array that name a NumPy type, an order, and a list of codecs: those of v1 and v2."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from omnizarr.codecs import ArrayCodec, Bytes, Codec, Serializer, Sharding, StoredBytes, Transpose
from omnizarr.codecs.numcodecs_ import Pickle
from omnizarr.codecs.numcodecs_.v2_ids import config_of
from omnizarr.dtypes import data_type_of_stored, dump_typestr
from omnizarr.dtypes.record_padding import leaf_types
from omnizarr.errors import ArgumentError
from omnizarr.formats.numpy_arrays import keeps_shape, order_of, stored_dtype_of, swaps, untransposed
from omnizarr.grids import Regular
from omnizarr.model import ArrayModel

__all__ = ["flat_losses", "holds_record"]


def flat_losses(model: ArrayModel, generation: str) -> list[str]:
    """What such a document cannot say of an array."""
    found = []
    rest = untransposed(model)
    rank = len(model.shape)
    if order_of(model) == "F" and model.codecs[0] not in (Transpose(tuple(reversed(range(rank)))), Transpose("F")):
        found.append(f"{generation} stores elements in C order or with all dimensions reversed, not otherwise")
    for codec in rest:
        if isinstance(codec, Sharding):
            found.append(f"{generation} has no shards")
        elif isinstance(codec, Transpose):
            found.append(f"{generation} stores elements in C order or with all dimensions reversed, not otherwise")
        elif not isinstance(codec, (Bytes, StoredBytes)) and config_of(codec) is None:
            found.append(f"{generation} has no codec `{codec.name}`")
    if order_of(model) == "F" and rank > 1 and keeps_shape(rest):
        found.append("zarr-python cannot read objects in F order that are stored with their shape")
    found += _filter_losses(model, rest)
    if not isinstance(model.grid, Regular):
        found.append(f"the chunks of {generation} are equally large")
    if model.dtype.hasobject and isinstance(rest[0], (Bytes, StoredBytes)):
        found.append("there is no codec that turns objects into bytes")
    if "dtype" not in model.spelled and any(holds_record(codec) for codec in rest):
        found.append("records that hold objects are only read and changed")
    if _lacks_unit(model.dtype):
        found.append(f"a time needs a unit in {generation}, as in `M8[ns]`")
    elif not _has_type(model):
        found.append(f"{generation} has no data type `{model.data_type.name}`")
    if model.storage_transformers:
        found.append(f"{generation} has no storage transformers")
    if model.extensions or model.fallback is not None:
        found.append(f"{generation} has no extensions")
    return list(dict.fromkeys(found))


def holds_record(codec: Codec) -> bool:
    """Whether a codec stores records that hold objects, of which an array's type alone tells."""
    return isinstance(codec, Pickle) and codec.record is not None


def _has_type(model: ArrayModel) -> bool:
    """Whether such documents have the data type. Those that other packages bring would be read as another one."""
    if "dtype" in model.spelled:
        return True
    stored = stored_dtype_of(model)
    try:
        dump_typestr(stored)
    except ArgumentError:
        return False
    return not model.data_type.only_v3 and (stored.hasobject or data_type_of_stored(stored) == model.data_type)


def _filter_losses(model: ArrayModel, codecs: Iterable[Codec]) -> list[str]:
    """Filters that name different byte orders for the same elements."""
    stored = stored_dtype_of(model)
    for codec in codecs:
        if isinstance(codec, Serializer):
            break
        if isinstance(codec, ArrayCodec) and not isinstance(codec, Transpose):
            if swaps(stored, codec):
                return [f"the filter `{codec.name}` takes another byte order than that of `{stored.str}`"]
            stored = getattr(codec, "encoded_dtype", None) or stored
    return []


def _lacks_unit(dtype: np.dtype[Any]) -> bool:
    """Whether there is a time in it that does not say in what it is counted (V8)."""
    return any(leaf.kind in "mM" and np.datetime_data(leaf)[0] == "generic" for _, leaf in leaf_types(dtype))
