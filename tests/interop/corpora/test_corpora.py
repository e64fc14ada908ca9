"""The stored corpora of the older generations are complete, small, and match their PROVENANCE.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.corpora.reading import CORPORA, Stored, about, all_stored, generations

# The minimum number of arrays of each generation: a corpus that lost files must not pass for a small one.
LEAST = {"draft-2020": 65, "n5": 69, "v1": 60, "v2": 310}
WRITERS = {
    "draft-2020": {"zarr"},
    "n5": {"zarr", "tensorstore", "z5py"},
    "v1": {"zarr"},
    "v2": {"zarr", "tensorstore", "gdal", "netcdf"},
}
DOCUMENTS = {"n5": "attributes.json", "v1": "meta", "v2": ".zarray"}


def folders(generation: str) -> list[str]:
    places = (place for place in (CORPORA / generation).iterdir() if place.is_dir() and place.name != "expected")
    return sorted(place.name for place in places)


def files(place: Path) -> list[Path]:
    return [file for file in place.rglob("*") if file.is_file()]


def document(stored: Stored) -> Path:
    """The metadata of an array."""
    path = stored.expected.path.lower() if "lower-case" in stored.expected.marks else stored.expected.path
    if stored.generation == "draft-2020":
        return stored.location / (f"meta/root/{path}.array.json" if path else "meta/root.array.json")
    return stored.location / path / DOCUMENTS[stored.generation]


def test_every_generation_has_a_corpus() -> None:
    assert generations() == sorted(LEAST)


@pytest.mark.parametrize("generation", LEAST)
def test_the_corpus_is_complete(generation: str) -> None:
    assert {folder.rpartition("-")[0] for folder in folders(generation)} == WRITERS[generation]
    assert folders(generation) == sorted(about(generation))
    assert len(list(all_stored(generation))) >= LEAST[generation]
    stored = list(all_stored(generation, kind=None))
    assert len({(one.writer, one.name) for one in stored}) == len(stored)


@pytest.mark.parametrize("generation", LEAST)
def test_every_array_exists_and_is_described(generation: str) -> None:
    described = {document(one) for one in all_stored(generation)}
    assert [place for place in described if not place.is_file()] == []
    name = "*.array.json" if generation == "draft-2020" else DOCUMENTS[generation]
    assert described == {
        place
        for folder in folders(generation)
        for place in (CORPORA / generation / folder).rglob(name)
        if generation != "n5" or b"dataType" in place.read_bytes()  # groups have the same name of documents
    }


@pytest.mark.parametrize("generation", LEAST)
def test_descriptions_are_consistent(generation: str) -> None:
    for one in all_stored(generation):
        expected = one.expected
        assert expected.elements is not None
        assert expected.agrees(expected.elements), one
        assert expected.elements.shape == expected.shape, one
        assert expected.elements.dtype == expected.dtype, one
        assert len(expected.chunks) == len(expected.shape), one
        assert expected.read_back is None or not expected.agrees(expected.read_back), one


@pytest.mark.parametrize("generation", LEAST)
def test_the_provenance_matches_the_corpus(generation: str) -> None:
    text = (CORPORA / generation / "PROVENANCE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(.+?)` \| (\d+) \| (\d+) \|", text, re.MULTILINE)
    assert rows == [
        (
            folder,
            str(len(list(all_stored(generation, folder, kind=None)))),
            str(len(files(CORPORA / generation / folder))),
        )
        for folder in folders(generation)
    ]
    for folder, notes in about(generation).items():
        for name, reason in notes["left_out"].items():
            assert f"- `{folder}` `{name}`: {reason}" in text


def test_the_corpora_are_small_and_contain_nothing_of_the_machine_that_made_them() -> None:
    everything = [file for generation in [*LEAST, "v3"] for file in files(CORPORA / generation)]
    assert len(everything) < 3000
    contents = [file.read_bytes() for file in everything]
    assert sum(map(len, contents)) < 3 * 2**20
    traces = [f"/{name}/".encode() for name in ("tmp", "home", "Users")]
    assert [trace for trace in traces if any(trace in content for content in contents)] == []
