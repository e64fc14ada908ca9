"""The oracle reads the stored corpus of the draft of December 2022, and finds the expected content."""

from __future__ import annotations

import pytest

from tests.oracles import draft_2022_corpus as corpus
from tests.oracles.draft_2022 import DraftError, describe, read_array, read_hierarchy

DESCRIBED = ("data_type", "fallback", "separator", "layout", "fill_value", "codecs", "storage_transformers",
             "extensions", "attributes")  # fmt: skip


@pytest.mark.parametrize("name", corpus.valid_names())
def test_valid_hierarchies_have_the_expected_content(name):
    store, expected = corpus.load(name), corpus.expected(name)

    found = read_hierarchy(store)
    assert {path: (node.kind, node.explicit, node.attributes) for path, node in found.items()} == {
        path: (node["kind"], node["explicit"], node["attributes"]) for path, node in expected.items()
    }
    for path, node in expected.items():
        if node["kind"] == "group":
            continue
        array = describe(store, path)
        assert {key: getattr(array, key) for key in DESCRIBED} == {key: node[key] for key in DESCRIBED}
        assert (list(array.shape), list(array.chunk_shape)) == (node["shape"], node["chunk_shape"])
        assert array.dtype.newbyteorder("<") == node["dtype"]
        assert array.fill_element.tobytes() == node["fill_element"].tobytes()
        if node["elements"] is not None:
            elements = read_array(store, path)
            assert (elements.shape, elements.dtype) == (node["elements"].shape, node["elements"].dtype), path
            assert elements.tobytes() == node["elements"].tobytes(), path


@pytest.mark.parametrize("case", corpus.cases("invalid"), ids=lambda case: case.name)
def test_invalid_hierarchies_are_rejected(case):
    if case.stage == "open":
        with pytest.raises(DraftError):
            read_hierarchy(case.store)
        if case.path is not None:
            with pytest.raises(DraftError):
                describe(case.store, case.path)
    else:
        describe(case.store, case.path)
        with pytest.raises(DraftError):
            read_array(case.store, case.path)


@pytest.mark.parametrize("case", corpus.cases("open"), ids=lambda case: case.name)
def test_open_questions_have_the_outcome_that_was_chosen(case):
    if case.outcome == "read":
        read_hierarchy(case.store)
        if case.path is not None:
            elements = read_array(case.store, case.path)
            assert elements.dtype == case.elements.dtype
            assert elements.tobytes() == case.elements.tobytes()
    elif case.stage == "open":
        with pytest.raises(DraftError):
            read_hierarchy(case.store)
    else:
        with pytest.raises(DraftError):
            read_array(case.store, case.path)


def test_names_of_cases_are_unique():
    for kind in ("invalid", "open"):
        names = [case.name for case in corpus.cases(kind)]
        assert len(names) == len(set(names))
