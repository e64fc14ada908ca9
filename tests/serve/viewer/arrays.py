"""Arrays that the page must open: one of every data type and odd shape, and those of the corpora."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import omnizarr
from omnizarr import Array
from omnizarr.dtypes import data_types
from omnizarr.errors import ArgumentError, OmnizarrError
from tests.corpora.reading import CORPORA, all_stored, generations

__all__ = ["corpora", "make_matrix", "members"]


def make_matrix(place: Path) -> None:
    """Writes an array of every data type, in two dimensions where possible, and arrays of odd shapes and values."""
    group = omnizarr.create_group(place)
    with_parameters = {"fixed_length_utf32", "null_terminated_bytes", "numpy.datetime64", "numpy.timedelta64", "struct"}
    for name in sorted(set(data_types.names()) - with_parameters):
        try:
            z = group.create_array(f"type-{name}", shape=(3, 4), chunks=(2, 2), dtype=name)
        except ArgumentError:
            continue  # it can only be read
        if name == "string":
            z[...] = np.array([["a", "ü", "<b>", ""]] * 3, dtype=object)
        elif name == "bytes":
            z[...] = np.array([[b"a", b"\x00", b"", b"\xff"]] * 3, dtype=object)
        else:
            z[...] = np.arange(12).reshape(3, 4).clip(0, 1).astype(z.dtype)
    for name in ("M8[ns]", "m8[s]"):
        group.create_array(f"time-{name[:2]}", data=np.arange(12).reshape(3, 4).astype(name))
    for name in ("S3", "U3", "V4"):
        group.create_array(f"fixed-{name}", data=np.array([b"abc", b"de"]).astype(name))
    group.create_array("record", data=np.zeros((2, 3), [("a", "<i4"), ("b", "<f4"), ("c", "S2")]))
    group.create_array("nothing", shape=(0, 5), dtype="f4")
    group.create_array("nan", data=np.full((3, 4), np.nan))
    group.create_array("constant", data=np.full((3, 4), 5.0))
    group.create_array("one", data=np.ones((1, 1)))
    group.create_array("long", data=np.ones((2, 3000)))
    group.create_array("deep", data=np.ones((1, 2, 1, 2, 3, 4)))
    group.create_array("scalar", data=np.array(1.5))


def members(place: Path) -> list[Array]:
    """The arrays of a group."""
    group = omnizarr.open_group(place, mode="r")
    return [node for _, node in group.members() if isinstance(node, Array)]


def corpora() -> Iterator[Array]:
    """The arrays of all corpora, one of each metadata document: others look the same."""
    known = set()
    for array in _stored():
        text = repr(array.metadata)
        if text not in known:
            known.add(text)
            yield array


def _stored() -> Iterator[Array]:
    for generation in generations():
        for stored in all_stored(generation):
            try:
                yield omnizarr.open_array(stored.location, path=stored.expected.path, mode="r")
            except OmnizarrError:
                continue  # the tree tells the reason
    for name in ("v3", "ome"):
        for document in sorted((CORPORA / name).rglob("zarr.json")):
            try:
                node = omnizarr.open(document.parent, mode="r")
            except OmnizarrError:
                continue
            if isinstance(node, Array):
                yield node
