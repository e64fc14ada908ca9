"""We read the stored corpus of v2, from zarr-python 2.1 to TensorStore."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.corpora.reading import Stored, all_stored

import omnizarr
from omnizarr._json import same
from omnizarr.errors import MetadataError

ARRAYS = list(all_stored("v2"))
GROUPS = list(all_stored("v2", kind="group"))

# Every type without a fill value got zero. Releases differ in what that means for text. Later ones, and we, treat it as
# no fill value.
ZERO_AS_TEXT = {"types/bytes24", "types/record", "fills/bytes-default", "fills/text-default"}
# Every complex number with a NaN part was written as "NaN", which its writer, and we, read as a real number.
NAN_LOST = ("zarr-2.1.4", "fills/complex-nan")


def opened(stored: Stored, **options: Any) -> omnizarr.Array:
    options.setdefault("allow_pickle", "reject" in stored.expected.marks)
    return omnizarr.open_array(stored.location, path=stored.expected.path, mode="r", **options)


def quietly(stored: Stored, **options: Any) -> omnizarr.Array:
    with warnings.catch_warnings():
        if "lower-case" in stored.expected.marks:
            warnings.simplefilter("ignore", omnizarr.OmnizarrWarning)
        return opened(stored, **options)


def elements_as_read(stored: Stored, array: omnizarr.Array) -> Any:
    """The elements as we read them: text and bytes of variable length represent no value by the empty one."""
    expected = stored.expected
    assert expected.elements is not None
    if (stored.writer, stored.name) == NAN_LOST:
        return expected.read_back
    empty = {"string": "", "bytes": b""}.get(array.data_type.name)
    if empty is None:
        return expected.elements
    flat = np.empty(expected.elements.size, object)
    flat[:] = [empty if item is None or (type(item) is int and item == 0) else item for item in expected.elements.flat]
    return flat.reshape(expected.shape)


@pytest.mark.parametrize("stored", ARRAYS, ids=str)
def test_we_read_the_corpus(stored: Stored) -> None:
    if stored.name == "codecs/blosc-snappy":
        pytest.importorskip("imagecodecs")
    expected = stored.expected
    array = quietly(stored)
    assert array.zarr_format == 2
    assert array.shape == expected.shape
    assert array.chunks == expected.chunks
    assert array.attrs.asdict() == expected.attributes
    found = array[...]
    adapted = replace(expected, elements=elements_as_read(stored, array))
    assert adapted.agrees(found)
    part = (*(slice(length // 3, length, 2) for length in expected.shape), ...)
    defined = None if expected.defined is None else expected.defined[part]
    some = replace(adapted, elements=adapted.elements[part], shape=found[part].shape, defined=defined)
    assert some.agrees(array[part])


@pytest.mark.parametrize("stored", ARRAYS, ids=str)
def test_V21_we_report_the_order(stored: Stored) -> None:
    array = quietly(stored)
    if len(array.shape) > 1 and stored.expected.order is not None:
        shaped = {"json2", "msgpack2"} & {getattr(codec, "id", None) for codec in array.metadata.codecs}
        assert array.order == ("C" if shaped else stored.expected.order)


@pytest.mark.parametrize("stored", ARRAYS, ids=str)
def test_we_report_the_fill_value(stored: Stored) -> None:
    array, fill = quietly(stored), stored.expected.fill_value
    if fill is None or (stored.writer == "zarr-2.1.4" and stored.name in ZERO_AS_TEXT):
        return
    if array.data_type.name in ("string", "bytes") and type(fill[()]) is int:
        assert array.fill_value in ("", b"")
        return
    found = np.empty((), array.dtype)
    found[()] = array.fill_value
    assert replace(stored.expected, shape=(), elements=fill, defined=None).agrees(found)


@pytest.mark.parametrize("stored", [one for one in ARRAYS if "reject" in one.expected.marks], ids=str)
def test_A61_pickles_are_rejected_unless_allowed(stored: Stored) -> None:
    with pytest.raises(MetadataError, match="allow_pickle=True") as caught:
        opened(stored, allow_pickle=False)
    assert [problem.path for problem in caught.value.problems] == ["$.filters[0]"]


@pytest.mark.parametrize("stored", [one for one in ARRAYS if "separator-unsaid" in one.expected.marks], ids=str)
def test_V28_keys_with_slashes_are_found_although_no_document_says_so(stored: Stored) -> None:
    assert opened(stored).metadata.guessed_keys
    assert opened(stored).nchunks_initialized == opened(stored).nchunks


@pytest.mark.parametrize("stored", [one for one in ARRAYS if "lower-case" in one.expected.marks], ids=str)
def test_names_written_in_lower_case_are_found(stored: Stored) -> None:
    with pytest.warns(omnizarr.OmnizarrWarning, match="in lower case") as caught:
        array = opened(stored)
    assert len(caught) == 1
    assert array.path == stored.expected.path.lower() != stored.expected.path


@pytest.mark.parametrize("use_consolidated", [None, False])
@pytest.mark.parametrize("stored", GROUPS, ids=str)
def test_we_find_the_members(stored: Stored, use_consolidated: bool | None) -> None:
    expected = stored.expected
    group = omnizarr.open_group(stored.location, path=expected.path, mode="r", use_consolidated=use_consolidated)
    assert group.zarr_format == 2
    assert same(group.attrs.asdict(), expected.attributes)  # some attributes are NaN, which equals nothing
    assert sorted(name for name, _ in group.members(max_depth=None)) == sorted(expected.members)
