"""The form that all extension points of a document share."""

from __future__ import annotations

from typing import Any

import pytest

import omnizarr
from omnizarr._extension import Extension, check_members, find_registered, parse_extension
from omnizarr._json import Problems
from omnizarr._registry import Registry


def read(value: Any, **options: Any) -> tuple[Extension | None, Problems]:
    problems = Problems()
    return parse_extension(value, "$.x", problems, kind="codec", **options), problems


@pytest.mark.parametrize("value", ["gzip", {"name": "gzip"}, {"name": "gzip", "configuration": {}}])
def test_R34_short_form_is_the_object_with_only_a_name(value: Any) -> None:
    found, problems = read(value)
    assert found is not None
    assert found._replace(name_path="$") == Extension("gzip", {}, True)
    assert not problems
    assert not problems.warnings


def test_R33_object_form() -> None:
    found, _ = read({"name": "gzip", "configuration": {"level": 1}, "must_understand": False})
    assert found is not None
    assert found._replace(name_path="$") == Extension("gzip", {"level": 1}, False)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (None, "$.x"),
        (3, "$.x"),
        (["gzip"], "$.x"),
        ("", "$.x"),
        ({}, "$.x.name"),
        ({"name": 3}, "$.x.name"),
        ({"name": ""}, "$.x.name"),
        ({"name": "gzip", "configuration": []}, "$.x.configuration"),
        ({"name": "gzip", "configuration": None}, "$.x.configuration"),
        ({"name": "gzip", "must_understand": "no"}, "$.x.must_understand"),
        ({"name": "gzip", "level": 1}, "$.x.level"),
    ],
)
def test_R33_other_values_are_problems_with_their_path(value: Any, path: str) -> None:
    found, problems = read(value)
    assert found is None
    assert [problem.path for problem in problems.found] == [path]


def test_all_problems_are_found_at_once() -> None:
    _, problems = read({"name": 1, "configuration": 2, "must_understand": 3, "other": 4})
    assert len(problems.found) == 4


def test_R35_must_understand_is_implicitly_true() -> None:
    found, _ = read({"name": "gzip"})
    assert found is not None
    assert found.must_understand


def test_R36_must_understand_false_is_rejected_where_nothing_can_be_ignored() -> None:
    found, problems = read({"name": "gzip", "must_understand": False}, ignorable=False)
    assert found is None
    assert problems.found[0].path == "$.x.must_understand"
    found, problems = read({"name": "gzip", "must_understand": True}, ignorable=False)
    assert found is not None


def test_type_is_read_as_name_in_documents_of_early_2023() -> None:
    found, problems = read({"type": "gzip", "configuration": {"level": 1}})
    assert found is not None
    assert found._replace(name_path="$") == Extension("gzip", {"level": 1})
    assert problems.warnings
    found, problems = read({"type": "gzip", "name": "gzip"})
    assert found is None


def test_obsolete_members_are_skipped_with_a_warning() -> None:
    found, problems = read({"name": "x1", "fallback": "int8"}, obsolete=("fallback",))
    assert found is not None
    assert found._replace(name_path="$") == Extension("x1", {})
    assert [warning.path for warning in problems.warnings] == ["$.x.fallback"]


def test_R37_unknown_name_is_a_problem_that_suggests_the_nearest() -> None:
    registry: Registry[int] = Registry("codec", "omnizarr.tests.nothing")
    registry.register("gzip", 1)
    problems = Problems()
    assert find_registered(Extension("gzip", {}), registry, problems) == 1
    assert find_registered(Extension("gzipp", {}, name_path="$.codecs[0].name"), registry, problems) is None
    (problem,) = problems.found
    assert problem.path == "$.codecs[0].name"
    assert problem.hint == "did you mean `gzip`?"


def test_unknown_members_of_a_configuration_are_problems() -> None:
    problems = Problems()
    check_members({"level": 1, "levle": 2}, ("level",), "$.c", problems)
    assert [(problem.path, problem.hint) for problem in problems.found] == [("$.c.levle", "did you mean `level`?")]


@pytest.mark.parametrize(
    "options",
    [
        {"storage_transformers": [{"name": "omnizarr.versions", 3: {}}]},
        {"storage_transformers": [{"name": "omnizarr.hashed_directories", "configuration": {3: 1}}]},
        {"compressors": [{"name": "zstd", None: 1}]},
        {"compressors": [{"name": "zstd", "configuration": {3: 1}}]},
        {"chunk_key_encoding": {"name": "default", (1,): 1}},
        {"chunk_key_encoding": {"name": "default", "configuration": {b"x": 1}}},
    ],
)
def test_dicts_of_users_with_names_that_are_no_text(options: Any) -> None:
    with pytest.raises(omnizarr.OmnizarrError):
        omnizarr.create_array({}, shape=3, dtype="u1", **options)
