"""The model of an array: bitwise equality, bound codecs, and reasons not to write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import omnizarr
from omnizarr._json import Problems
from omnizarr.codecs import Bytes, Gzip, Sharding, Skipped
from omnizarr.model import ArrayModel, GroupModel


def model(**options: Any) -> ArrayModel:
    return omnizarr.create_array(None, **{"shape": (4, 6), "dtype": "float32", "chunks": (2, 3), **options}).metadata


def test_derived_properties() -> None:
    found = model()
    assert (found.size, found.nbytes, found.dtype) == (24, 96, np.dtype("float32"))
    assert found.sharding is None
    sharded = model(shards=(4, 6)).sharding
    assert sharded is not None
    assert sharded.chunk_shape == (2, 3)


def test_equality_compares_the_bits_of_the_fill_value() -> None:
    assert model(fill_value=np.nan) == model(fill_value=np.nan)
    assert model(fill_value=0.0) != model(fill_value=-0.0)
    assert model(fill_value="0x7fc00001") != model(fill_value=np.nan)
    assert replace(model(), fill=None) != model()
    assert replace(model(), fill=None) == replace(model(), fill=None)


@pytest.mark.parametrize(
    "change",
    [
        {"shape": (4, 7)},
        {"attributes": {"a": 1}},
        {"dimension_names": ("x", None)},
        {"extra": {"x": 1}},
        {"codecs": (Bytes("little"),)},
        {"ignored_transformers": ({"name": "x"},)},
    ],
)
def test_equality_compares_all_other_fields(change: dict[str, Any]) -> None:
    assert replace(model(), **change) != model()
    assert replace(model(), **change) == replace(model(), **change)
    assert model() != "model"
    with pytest.raises(TypeError):
        hash(model())


def test_chains_are_bound_once_and_not_compared() -> None:
    found = model()
    problems = Problems()
    chain = found.chain((2, 3), "$.codecs", problems)
    assert chain is not None
    assert found.chain((2, 3), "$.codecs", problems) is chain
    assert found == model()


SKIPPED = Skipped({"name": "mystery", "must_understand": False})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"codecs": (Bytes("little"), Gzip(1))}, None),
        ({"codecs": (Bytes("little"), SKIPPED)}, "names unknown codecs"),
        ({"codecs": (Sharding((1, 1), (Bytes("little"), SKIPPED)),)}, "names unknown codecs"),
        ({"codecs": (Sharding((1, 1), (Sharding((1, 1), (Bytes("little"), SKIPPED)),)),)}, "names unknown codecs"),
        ({"codecs": (Sharding((1, 1), index_codecs=(Bytes("little"), SKIPPED)),)}, "names unknown codecs"),
        ({"codecs": (Sharding((1, 1), index_codecs=None),)}, "index"),
        ({"ignored_transformers": ({"name": "mystery", "must_understand": False},)}, "names unknown codecs"),
    ],
)
def test_R38_reasons_not_to_write_an_array(change: dict[str, Any], reason: str | None) -> None:
    found = replace(model(), **change).read_only_reason
    assert (found is None) if reason is None else (found is not None and reason in found)


def test_problems_with_codecs_have_their_path_in_the_document() -> None:
    problems = Problems()
    found = replace(model(), codecs=(SKIPPED, Bytes()))
    assert found.chain((2, 3), "$.codecs", problems) is None
    assert problems.found[0].path == "$.codecs[1].configuration"


def test_A60_nan_in_attributes_is_equal_to_itself() -> None:
    assert replace(model(), attributes={"a": float("nan")}) == replace(model(), attributes={"a": float("nan")})
    assert GroupModel({"a": float("nan")}) == GroupModel({"a": float("nan")})


def test_groups_are_values() -> None:
    assert GroupModel() != "group"
    assert GroupModel({"a": 1}) == GroupModel({"a": 1})
    assert GroupModel(consolidated={}) != GroupModel()
