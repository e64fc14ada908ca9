"""Old releases of zarr-python 2 write v2, where they differ from the last release."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numcodecs
import numpy as np
import numpy.typing as npt
import zarr

from tests.corpora.making import Corpus, by_document, sample
from tests.corpora.writers.zarr2 import add, hierarchy

__all__ = ["write_all"]

MIDDLE = hasattr(zarr.storage, "FSStore")
RECORD = [("flag", "?"), ("count", "<i2"), ("value", ">f8"), ("name", "S3")]
PLANE = np.arange(20, dtype="<i4").reshape(4, 5)
WORDS = np.array([["a", "", "ü🦀"], ["omnizarr", "b", "cc"]], object)


def cases() -> Iterator[tuple[str, npt.NDArray[Any], dict[str, Any]]]:
    records = np.array([(True, -2, 0.5, b"a"), (False, 258, np.nan, b"xyz")], RECORD)[[0, 1, 0, 1]]
    yield "layouts/plane-F", PLANE, {"chunks": (3, 5), "order": "F"}
    if hasattr(zarr, "NestedDirectoryStore"):  # since 2.2
        nested = {"store": zarr.NestedDirectoryStore, "marks": ["separator-unsaid"]}
        yield "layouts/nested-store", PLANE, {"chunks": (3, 5), **nested}
    if MIDDLE:  # like the last release except for its stores
        return
    yield "types/complex64", sample("<c8"), {}
    yield "layouts/0-d", np.array(2.5), {}
    yield "layouts/attributes", sample("<i2"), {"attributes": {"unit": "K", "nan": float("nan")}}
    values: dict[str, tuple[str, Any]] = {
        "null": ("<i4", None),
        "nan": ("<f8", np.nan),
        "complex": ("<c8", 1.5 - 2j),
        "complex-nan": ("<c8", complex(np.nan, np.nan)),
        "date": ("<M8[s]", np.datetime64(86400, "s")),
        "bytes": ("S3", b"no"),
        "bytes-default": ("S3", 0),
        "text": ("<U3", "nö"),
        "text-default": ("<U3", 0),
    }
    for name, (dtype, fill) in values.items():
        yield f"fills/{name}", sample(dtype, (6,)), {"fill_value": fill, "chunks": 3, "written": slice(0, 3)}
    record = np.array((True, 7, 0.5, b"xy"), RECORD)[()]
    yield "fills/record", records, {"fill_value": record, "chunks": 2, "written": slice(0, 2)}
    if not hasattr(zarr, "NestedDirectoryStore"):  # before 2.2 it stored the memory addresses of objects
        return
    yield "objects/vlen-utf8", WORDS, {"object_codec": numcodecs.VLenUTF8()}
    things = np.empty(4, object)
    for index, thing in enumerate(["a", 1, None, {"k": "v"}]):
        things[index] = thing
    yield "objects/json2", things, {"object_codec": numcodecs.JSON()}
    if hasattr(numcodecs.json, "LegacyJSON"):  # as before numcodecs 0.6: without the shape
        yield "objects/json", things, {"object_codec": numcodecs.json.LegacyJSON()}
        yield "objects/json-plane", WORDS, {"object_codec": numcodecs.json.LegacyJSON()}
        yield "objects/msgpack", things, {"object_codec": numcodecs.msgpacks.LegacyMsgPack()}


def date_without_value(corpus: Corpus, name: str) -> None:
    """An array of dates with NaT as fill value. Release 2.2 writes it as an unsigned number, which is too large for
    itself: it creates the document, and fails."""
    place = corpus.place / name
    options = {"shape": 3, "dtype": "<M8[s]", "fill_value": np.datetime64("NaT", "s")}
    try:
        zarr.create(store=zarr.DirectoryStore(str(place)), **options)
    except Exception as error:
        reason = error
    else:
        reason = None

    def elements() -> npt.NDArray[Any]:
        if reason is not None:
            raise reason
        return np.asarray(zarr.open(str(place), mode="r")[...])

    seen = {**by_document(place), "elements": elements, "fill_value": np.datetime64("NaT", "s")}
    corpus.note(name, np.full(3, "NaT", "<M8[s]"), seen)


def lower_case(corpus: Corpus, name: str) -> None:
    """An array in a group, through a store that writes all keys in lower case."""
    data = sample("<i2")

    def write(place: Path) -> None:
        store = zarr.storage.FSStore(str(place))
        if not store.normalize_keys:
            raise ValueError("this release keeps the case of keys")
        zarr.create(data.shape, dtype=data.dtype, store=store, path="Upper/Case")[...] = data

    def look(place: Path, path: str) -> dict[str, Any]:
        array = zarr.open_array(zarr.storage.FSStore(str(place)), path=path, mode="r")
        seen = {key: getattr(array, key) for key in ("chunks", "order", "fill_value")}
        return {**seen, "attributes": array.attrs.asdict(), "elements": lambda: array[...]}

    corpus.array(name, data, write, look, path="Upper/Case", marks=["lower-case"])


def write_all(corpus: Corpus) -> None:
    for name, data, options in cases():
        add(corpus, name, data, options)
    date_without_value(corpus, "fills/date-nat")
    if MIDDLE:
        lower_case(corpus, "layouts/lower-case")
    else:
        hierarchy(corpus, "hierarchy")
    corpus.save()
