"""We read the stored corpus of version 1, written by one program."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.corpora.reading import Stored, all_stored

import omnizarr

ARRAYS = list(all_stored("v1"))
MISLABELLED = [stored for stored in ARRAYS if "f-as-c" in stored.expected.marks]


def opened(stored: Stored, **options: Any) -> omnizarr.Array:
    with warnings.catch_warnings():
        if stored in MISLABELLED:
            warnings.simplefilter("ignore", omnizarr.OmnizarrWarning)
        return omnizarr.open_array(stored.location, path=stored.expected.path, mode="r", **options)


@pytest.mark.parametrize("stored", ARRAYS, ids=str)
def test_we_read_the_corpus(stored: Stored) -> None:
    expected = stored.expected
    array = opened(stored)
    assert array.zarr_format == 1
    assert array.shape == expected.shape
    assert array.chunks == expected.chunks
    assert array.attrs.asdict() == expected.attributes
    if "f-as-c" not in expected.marks and len(expected.shape) > 1:
        assert array.order == expected.order
    if expected.fill_value is None:
        assert array.fill_value is None
    else:
        fill = replace(expected, shape=(), elements=expected.fill_value, defined=None)
        assert fill.agrees(np.asarray(array.fill_value, array.dtype))
    assert expected.agrees(array[...])


@pytest.mark.parametrize("stored", MISLABELLED, ids=str)
def test_U16_order_F_without_blosc_is_read_as_it_was_written(stored: Stored) -> None:
    with pytest.warns(omnizarr.OmnizarrWarning, match="zarr 1.x stored such chunks in C order") as caught:
        array = omnizarr.open_array(stored.location, mode="r")
    assert len(caught) == 1
    assert array.order == "C"
    by_the_text = omnizarr.open_array(stored.location, mode="r", v1_f_order="document")
    assert by_the_text.order == "F"
    assert not stored.expected.agrees(by_the_text[...])
