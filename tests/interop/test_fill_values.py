"""Fill values of v2 in many spellings: omnizarr reads what zarr-python 2 or 3 reads, and the same values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import MetadataError
from tests.formats.old_documents import array_v2
from tests.peers import Peer, PeerError, Unsupported

SPELLINGS: list[Any] = [
    *(0, 1, -1, 300, 0.0, 1.0, 1.5, True, False, 2**63 - 1, 1e39, -1e39),
    *("0", "0.0", "1", "-1", "+5", "1.5", "1.0", "1e5", "1E5", "1e-3", ".5", " 1 ", "300", "18446744073709551615"),
    *("nan", "NaN", "NAN", "-nan", "inf", "Inf", "+inf", "-inf", "Infinity", "-Infinity", "+Infinity", "infinity"),
    *("", "x", "true", "False", "0x7fc00000", "0x10", "NaT", "1+2j", "1j", "2020-01-01", "AAAA", "AAA=", "AAAAAA=="),
    *([1, 2], [1.0, "NaN"], [1], {}),
]
TYPES = ("|b1", "|i1", "<i4", "<u8", "<f2", ">f4", "<f8", "<c8", "<M8[s]", "<m8[s]", "|S3", "<U3", "|V3")

REJECTED = {
    "|b1": "zarr-python takes the truth value of any object, so `false` in quotes would be true",
    "|S3": "zarr-python decodes other text as base64 and cuts it",
    "|V3": "zarr-python decodes other text as base64 and cuts it",
}
"""Types that zarr-python fills with anything. omnizarr reads what has an evident meaning."""


def rejects_list(dtype: str, value: Any) -> bool:
    """Whether `value` is a list or an object, for a type of single values. zarr 2 reads its first item."""
    return isinstance(value, (list, dict)) and dtype != "<c8"


def means_something_else(dtype: str, value: Any) -> bool:
    """Whether zarr 2 reads a value in a way that no writer can mean."""
    return (
        (dtype == "<c8" and isinstance(value, str))  # as a list of characters
        or (dtype in ("<i4", "|i1", "<u8") and value == 1.5)  # cut
        or (dtype == "<M8[s]" and isinstance(value, str) and value.strip("+-").isdigit())  # as a year
        or (dtype in ("<M8[s]", "<m8[s]") and value in ("", "18446744073709551615"))
        or (dtype == "<U3" and not isinstance(value, str))
    )


@pytest.mark.filterwarnings("ignore::omnizarr.errors.OmnizarrWarning")
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("library", ["zarr", "zarr2"])
def test_V10_V29_reads_every_fill_value_that_zarr_python_reads(
    request: pytest.FixtureRequest, tmp_path: Path, library: str, dtype: str
) -> None:
    peer: Peer = request.getfixturevalue("zarr3_peer" if library == "zarr" else "zarr2_peer")
    wrong = []
    for index, value in enumerate(SPELLINGS):
        folder = tmp_path / str(index)
        folder.mkdir()
        document = array_v2(shape=[2], chunks=[2], dtype=dtype, fill_value=value, compressor=None)
        (folder / ".zarray").write_text(json.dumps(document))
        try:
            expected = peer.read(library, folder)
        except (PeerError, Unsupported):
            continue
        try:
            elements = omnizarr.open_array(folder, mode="r")[:]
        except MetadataError:
            if dtype not in REJECTED and not rejects_list(dtype, value) and not means_something_else(dtype, value):
                wrong.append((value, "rejected", expected[0]))
            continue
        default = value == 0 and dtype in ("|S3", "<U3")  # the default of old writers, which meant empty text
        if not default and not (dtype == "|b1" and isinstance(value, str)):
            same = elements.tobytes() == np.asarray(expected, elements.dtype).tobytes()
            same |= elements.dtype.kind in "fc" and np.array_equal(elements, expected, equal_nan=True)
            if not same and not means_something_else(dtype, value):
                wrong.append((value, elements[0], expected[0]))
    assert not wrong
