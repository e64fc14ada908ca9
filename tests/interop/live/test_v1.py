"""zarr-python 1 reads what we write as v1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.interop.live.old_cases import (
    BLOSC,
    CHUNKS,
    NUMBERS,
    RECORDS,
    OldCase,
    cases_of_fills,
    judge,
    same,
    sample,
    undefined_fills,
)
from tests.peers import Peer

import omnizarr

pytestmark = pytest.mark.filterwarnings("error")

LARGE = (np.arange(1200, dtype="<i4") // 7).reshape(40, 30)
TIMES = ("<M8[ns]", ">M8[D]", "<m8[10us]", ">m8[h]")


def types() -> Iterator[OldCase]:
    for dtype in (*NUMBERS, "<U3", ">U3", "S3", "V3", *RECORDS.values()):
        for how in ("auto", None, "zlib"):
            yield OldCase(f"{dtype} {how}", sample(dtype), {"chunks": CHUNKS, "compressors": how})
        yield OldCase(f"{dtype} F", sample(dtype), {"chunks": CHUNKS, "order": "F"})
    for dtype in TIMES:
        for how in ("auto", None, "bz2"):
            yield OldCase(f"{dtype} {how}", sample(dtype), {"chunks": CHUNKS, "compressors": how})


def compressors() -> Iterator[OldCase]:
    codecs: list[Any] = [
        *("auto", None, "zlib", "bz2", "lzma"),
        *BLOSC,
        {"id": "blosc", "cname": "lz4", "shuffle": -1},
        *({"id": "zlib", "level": level} for level in (-1, 0, 9)),
        {"id": "bz2", "level": 9},
        *({"id": "lzma", **options} for options in ({"format": 2}, {"check": 10}, {"preset": 1, "check": 0})),
        {"id": "lzma", "format": 3, "filters": [{"id": 33, "preset": 1}]},
    ]
    for codec in codecs:
        for data in (LARGE, LARGE.astype(">f8"), LARGE % 2 == 0):
            yield OldCase(f"{codec} {data.dtype}", data, {"chunks": (20, 15), "compressors": codec})
    for codec in BLOSC:
        yield OldCase(f"{codec} F", LARGE, {"chunks": (20, 15), "compressors": codec, "order": "F"})


def shapes() -> Iterator[OldCase]:
    for shape, chunks in (((5,), (10,)), ((5, 7), (5, 7)), ((1, 1, 1), (2, 2, 2)), ((3, 4, 5), (2, 3, 4))):
        for order in "CF":
            yield OldCase(f"{shape} {order}", sample("<i4", shape), {"chunks": chunks, "order": order})


def fills() -> Iterator[OldCase]:
    values: list[tuple[Any, list[Any]]] = [
        ("|b1", [True, False]),
        *((dtype, [0, np.iinfo(dtype).min, np.iinfo(dtype).max]) for dtype in ("|i1", "<i4", ">i8", "<u8")),
        *((dtype, [0.0, -0.0, 1.5, np.nan, np.inf, -np.inf, np.finfo(dtype).max]) for dtype in ("<f2", ">f4", "<f8")),
        *((dtype, [0, 1.5, complex(np.nan, 0), complex(np.inf, 0)]) for dtype in ("<c8", ">c16")),
        *((dtype, [np.array(number, dtype)[()] for number in (0, 5, "NaT")]) for dtype in TIMES),
        ("S3", [b"", b"a", b"abc", b"0"]),
        *((dtype, ["", "a", "ü", "0"]) for dtype in ("<U3", ">U3")),
        (RECORDS["truths"], [(False, 0)]),
    ]
    yield from cases_of_fills(values)


GROUPS: Mapping[str, Callable[[], Iterator[OldCase]]] = {
    "types": types,
    "compressors": compressors,
    "shapes": shapes,
    "fills": fills,
    "undefined fills": undefined_fills,
}


@pytest.mark.parametrize("group", GROUPS)
def test_zarr_python_1_reads_our_arrays(zarr1_peer: Peer, tmp_path: Path, group: str) -> None:
    judge(zarr1_peer, "zarr1", GROUPS[group](), tmp_path, 1)


def test_zarr_python_1_reads_our_attributes_and_resized_arrays(zarr1_peer: Peer, tmp_path: Path) -> None:
    attributes = {"größe": ["\U0001f600", None, 1.5]}
    array = omnizarr.create_array(tmp_path, data=LARGE, chunks=(7, 8), attributes=attributes, zarr_format=1)
    array.append(LARGE)
    assert same(zarr1_peer.read("zarr1", tmp_path), np.concatenate([LARGE, LARGE]))
    assert zarr1_peer.describe("zarr1", tmp_path)["attributes"] == attributes
    zarr1_peer.resize("zarr1", tmp_path, [20, 30])
    assert same(omnizarr.open_array(tmp_path)[...], LARGE[:20])


@pytest.mark.parametrize("compression", ["zlib", "bz2", "lzma", "none", "blosc"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_U16_we_write_into_its_arrays(zarr1_peer: Peer, tmp_path: Path, compression: str, order: str) -> None:
    """Also of order F, where its chunks have another order than its document says."""
    options: dict[str, Any] = {"chunks": [7, 8], "compression": compression, "order": order}
    zarr1_peer.write("zarr1", tmp_path, LARGE, **options)
    mislabelled = order == "F" and compression != "blosc"
    if mislabelled:
        with pytest.warns(omnizarr.OmnizarrWarning, match="in C order") as caught:
            array = omnizarr.open_array(tmp_path)
        assert len(caught) == 1
    else:
        array = omnizarr.open_array(tmp_path)
    assert same(array[...], LARGE)
    array[3:20, 5:25] = -LARGE[3:20, 5:25]
    array.attrs["a"] = 1
    expected = LARGE.copy()
    expected[3:20, 5:25] *= -1
    assert same(zarr1_peer.read("zarr1", tmp_path), expected)
    assert zarr1_peer.describe("zarr1", tmp_path)["order"] == order
