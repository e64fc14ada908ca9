"""`omnizarr info`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import omnizarr

Run = Callable[..., Result]


def rows(result: Result) -> dict[str, str]:
    """The printed lines by title."""
    assert result.exit_code == 0, result.stderr
    pairs = (line.partition(" :") for line in result.stdout.splitlines())
    return {title.strip(): text.strip() for title, _, text in pairs}


@pytest.mark.smoke
def test_an_array(run: Run, location: Path) -> None:
    shown = rows(run("info", location, "--path", "temperature"))
    assert shown["Name"] == "/temperature"
    assert shown["Type"] == "Array"
    assert shown["Shape"] == "(3, 4)"
    assert shown["Dimensions"] == "y, x"
    assert shown["Store"] == str(location)
    assert shown["units"] == "K"
    assert shown["valid"] == "[0, 400]"
    assert "Chunks stored" not in shown


def test_complete_shows_stored_chunks(run: Run, location: Path) -> None:
    shown = rows(run("info", location, "--path", "inner/sharded", "--complete"))
    assert shown["Shard shape"] == "(4, 4)"
    assert shown["Chunks stored"] == "4 of 16"


def test_a_group_shows_unreadable_members(run: Run, location: Path) -> None:
    shown = rows(run("info", location, "--path", "inner"))
    assert shown["Members"] == "1 array, 1 unreadable"
    assert "unknown codec `zstt`" in shown["broken"]


def test_complete_shows_the_totals_of_a_group(run: Run, location: Path) -> None:
    members = dict(omnizarr.open_group(location, mode="r").members(max_depth=None))
    nbytes = sum(node.nbytes for node in members.values() if isinstance(node, omnizarr.Array))
    shown = rows(run("info", location, "--complete"))
    assert shown["Members"] == "1 array, 1 group"
    assert shown["Arrays below"] == "2"
    assert f"({nbytes} bytes)" in shown["Size"]


def test_json_of_an_array_has_the_spelling_of_the_document(run: Run, location: Path) -> None:
    facts = json.loads(run("info", location, "--path", "temperature", "--json").stdout)
    document = json.loads((location / "temperature" / "zarr.json").read_text())
    same = ("node_type", "zarr_format", "shape", "data_type", "fill_value", "attributes", "dimension_names")
    assert {name: facts[name] for name in same} == {name: document[name] for name in same}
    assert facts["chunks"] == [2, 4]
    assert [facts["serializer"], *facts["compressors"]] == document["codecs"]
    assert "nbytes_stored" not in facts


def test_json_of_a_group(run: Run, location: Path) -> None:
    facts = json.loads(run("info", location, "--path", "inner", "--json", "--complete").stdout)
    assert facts["node_type"] == "group"
    assert facts["members"]["sharded"] == {"node_type": "array", "shape": [8, 8], "data_type": "uint16"}
    assert "reguler" in facts["members"]["broken"]["error"]
    assert facts["arrays"] == 1
    assert facts["nbytes_stored"] > 0


def test_json_output_is_valid_even_with_nan_attributes(run: Run, tmp_path: Path) -> None:
    """Older Python writers stored NaN without quotes, and it is read (A60)."""
    omnizarr.create_group(tmp_path / "g")
    document = tmp_path / "g" / "zarr.json"
    document.write_text('{"zarr_format": 3, "node_type": "group", "attributes": {"scale": NaN}}')
    text = run("info", tmp_path / "g", "--json").stdout

    def reject(constant: str) -> None:
        pytest.fail(f"{constant} is not JSON")

    assert json.loads(text, parse_constant=reject)["attributes"] == {"scale": "NaN"}


def test_control_characters_in_attributes_are_escaped(run: Run, tmp_path: Path) -> None:
    omnizarr.create_group(tmp_path / "g", attributes={"a\x1b]0;b": "c\x1b[2Jd\ne"})
    shown = run("info", tmp_path / "g").stdout
    assert "\x1b" not in shown
    assert "a\\x1b]0;b : c\\x1b[2Jd\\ne" in shown
