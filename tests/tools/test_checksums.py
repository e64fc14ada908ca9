"""`checksum`: equal for equal content, and the digest of the DANDI archive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.tools import checksum, dandi_checksum
from tests.tools.test_differences import DATA, FORMS, array

DIGEST = checksum(array()).digest


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_digest_does_not_depend_on_how_elements_are_stored(form: dict[str, Any]) -> None:
    assert checksum(array(**form)).digest == DIGEST


def test_large_arrays_have_tiles_that_do_not_follow_chunks() -> None:
    data = np.random.default_rng(0).integers(0, 1000, (300, 500, 7)).astype("i4")
    digests = {
        checksum(array(data, chunks=chunks)).digest for chunks in ((300, 500, 7), (31, 17, 3), (300, 1, 7), (1, 500, 7))
    }
    assert len(digests) == 1


def test_everything_that_is_content_counts() -> None:
    changed = DATA.copy()
    changed[3, 5, 4] += 1
    others = [
        array(changed),
        array(DATA.astype("f8")),
        array(DATA.reshape(4, 5, 6)),
        array(attributes={"a": 1}),
        array(dimension_names=["a", "b", "c"]),
        omnizarr.create_group({}),
    ]
    assert len({DIGEST, *(checksum(other).digest for other in others)}) == 1 + len(others)
    assert checksum(array(attributes={"a": 1}), attributes=False) == checksum(array(), attributes=False)


def test_byte_order_and_variable_length() -> None:
    assert checksum(array(DATA.astype(">f4"))).digest == DIGEST
    text = np.array(["a", "bb", "", "ccc"], "T")
    assert checksum(array(text, chunks=2)).digest == checksum(array(text, chunks=3)).digest
    assert checksum(array(text, chunks=2)).digest != checksum(array(text[::-1].copy(), chunks=2)).digest


def test_the_digest_is_stable() -> None:
    """It must not change between releases, because people store it."""
    assert DIGEST == GOLDEN


def test_dandi_equals_zarr_checksum() -> None:
    """The digests were computed by zarr_checksum 0.4.7 on the same files."""
    files = {
        "zarr.json": b"{}",
        "a/zarr.json": b'{"x": 1}',
        "a/c/0/0": b"abc",
        "a/c/0/1": b"",
        "b.txt": b"hello",
        "a/é": b"1",
    }
    assert dandi_checksum(omnizarr.store.MemoryStore(dict(files))).digest == DANDI
    assert dandi_checksum(omnizarr.store.MemoryStore({})).digest == "481a2f77ab786a0f45aafd5db0971caa-0--0"


GOLDEN = "bfeb8c54a977b64b00932659e06ab6fd27cdbe429ff9b98118a0bc58cb712b69"
DANDI = "bcfe712f970cff3c074787b2dbd054e7-6--19"
