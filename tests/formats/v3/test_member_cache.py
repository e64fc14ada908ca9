"""The cache of members that several v3 documents have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.formats.documents import LITTLE, array_document, parsed
from tests.registries import restoring

import omnizarr
from omnizarr._json import dump
from omnizarr.codecs import Gzip, codecs
from omnizarr.config import config
from omnizarr.formats import v3_member_cache
from omnizarr.model import ArrayModel


def read(**changes: Any) -> ArrayModel:
    model, problems = parsed(array_document(**changes))
    assert isinstance(model, ArrayModel)
    assert not problems
    return model


def test_arrays_that_differ_in_shape_and_attributes_share_the_rest() -> None:
    one, two = read(), read(shape=[99, 1], attributes={"b": 2})
    assert one.codecs is two.codecs
    assert one.fill is two.fill
    assert (two.shape, two.attributes) == ((99, 1), {"b": 2})
    assert read(shape=[5], chunk_grid={"name": "regular", "configuration": {"chunk_shape": [2]}}).codecs == one.codecs


def test_other_chunk_shapes_get_their_own_codecs() -> None:
    data = np.arange(60, dtype="int16").reshape(10, 6)
    for lengths in ([4, 3], [10, 6], [1, 1]):
        place: dict[str, Any] = {}
        grid = {"name": "regular", "configuration": {"chunk_shape": lengths}}
        place["zarr.json"] = dump(array_document(chunk_grid=grid))
        z = omnizarr.open_array(place)
        z[...] = data
        np.testing.assert_array_equal(omnizarr.open_array(place)[...], data)


@pytest.mark.parametrize(
    "changes",
    [
        {"fill_value": True},
        {"codecs": [LITTLE, {"name": "gzip", "configuration": {"level": True}}]},
        {"codecs": [LITTLE, {"name": "gzip", "configuration": {"level": 1.0}}]},
        {"codecs": [LITTLE, {"name": "transpose", "configuration": {"order": [1, 0]}}]},
    ],
)
def test_values_that_python_calls_equal_are_distinguished(changes: dict[str, Any]) -> None:
    read(codecs=[LITTLE, {"name": "gzip", "configuration": {"level": 1}}])
    for _ in range(2):
        model, problems = parsed(array_document(**changes))
        assert model is None
        assert problems


@pytest.mark.parametrize(
    "changes", [{"fill_value": 7.0}, {"codecs": [{"name": "gzip", "configuration": {"level": 1}}]}]
)
def test_warnings_are_repeated_for_each_document(changes: dict[str, Any]) -> None:
    read()
    for _ in range(2):
        _, problems = parsed(array_document(**changes))
        assert len(problems.warnings) == 1


def test_the_rank_is_part_of_the_cache_key() -> None:
    order = [{"name": "transpose", "configuration": {"order": [1, 0]}}, LITTLE]
    read(codecs=order)
    grid = {"name": "regular", "configuration": {"chunk_shape": [2]}}
    model, problems = parsed(array_document(shape=[5], chunk_grid=grid, codecs=order))
    assert model is None
    assert [problem.path for problem in problems.found] == ["$.codecs[0].configuration.order"]


def test_a_fill_value_that_can_be_changed_in_place_is_not_shared() -> None:
    fields = {"name": "struct", "configuration": {"fields": [{"name": "x", "data_type": "int8"}]}}
    one, two = (read(data_type=fields, fill_value={"x": 1}, codecs=[LITTLE]) for _ in range(2))
    assert one.fill is not two.fill


def test_registering_a_codec_again_invalidates_the_cache() -> None:
    class Louder(Gzip):
        pass

    assert type(read().codecs[1]) is Gzip
    with restoring(codecs):
        codecs.register("gzip", Louder, replace=True)
        assert type(read().codecs[1]) is Louder
    assert type(read().codecs[1]) is Gzip


def test_the_cache_is_bounded() -> None:
    for number in range(3 * v3_member_cache._MOST_ENTRIES):
        read(fill_value=number)
        assert len(v3_member_cache._cache) <= v3_member_cache._MOST_ENTRIES
    read(chunk_key_encoding="default", data_type="int16", fill_value=5)
    long = [LITTLE, *[{"name": "gzip", "configuration": {"level": 1}}] * (config.max_codecs - 1)]
    read(codecs=long)
    assert all(len(text) <= v3_member_cache._LONGEST_KEY for _, _, text in v3_member_cache._cache)
