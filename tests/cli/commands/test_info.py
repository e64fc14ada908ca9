"""`omnizarr info`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import omnizarr

Run = Callable[..., Result]


def rows(result: Result) -> dict[str, str]:
    """The printed lines by title."""
    assert result.exit_code == 0, result.stderr
    pairs = (line.strip().partition("  ") for line in result.stdout.splitlines())
    return {title.strip(): text.strip() for title, _, text in pairs}


@pytest.mark.smoke
def test_an_array(run: Run, location: Path) -> None:
    result = run("info", location / "temperature")
    assert result.stdout.startswith(f"Array /temperature in {location}\nZarr v3, float32, 3 × 4, 48 B\n")
    shown = rows(result)
    assert shown["Dimensions"] == "y 3 × x 4"
    assert shown["Chunks"] == "2 × 4, 2 in total"
    assert shown["Fill value"] == "NaN"
    assert shown["units"] == "K"
    assert shown["valid"] == "[0, 400]"


def test_a_group_shows_its_arrays_and_unreadable_members(run: Run, location: Path) -> None:
    result = run("info", location)
    lines = result.stdout.splitlines()
    assert lines[:2] == [
        f"Group / in {location}",
        "Zarr v3, not consolidated, 5 nodes (2 arrays, 1 group, 1 unreadable), 176 B",
    ]
    assert " ".join(lines[3].split()) == "name dimensions shape type chunks shards codecs fill attrs size"
    shown = rows(result)
    assert "uint16" in shown["inner/sharded"]
    assert "unknown chunk grid `reguler`" in shown["inner/broken"]
    assert shown["title"] == "for tests"


def test_json_of_an_array_has_the_spelling_of_the_document(run: Run, location: Path) -> None:
    facts = json.loads(run("info", location / "temperature", "--json").stdout)
    document = json.loads((location / "temperature" / "zarr.json").read_text())
    same = ("node_type", "zarr_format", "shape", "data_type", "fill_value", "attributes", "dimension_names")
    assert {name: facts[name] for name in same} == {name: document[name] for name in same}
    assert facts["chunks"] == [2, 4]
    assert (facts["store"], facts["path"]) == (str(location), "temperature")
    assert [facts["serializer"], *facts["compressors"]] == document["codecs"]


def test_json_of_a_group(run: Run, location: Path) -> None:
    facts = json.loads(run("info", location / "inner", "--json").stdout)
    assert facts["node_type"] == "group"
    assert facts["path"] == "inner"
    members = {member["path"]: member for member in facts["members"]}
    assert (members["sharded"]["shape"], members["sharded"]["shards"]) == ([8, 8], [4, 4])
    assert "reguler" in members["broken"]["error"]
    assert facts["nbytes"] == 128


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
    assert "a\\x1b]0;b  c\\x1b[2Jd\\ne" in shown


def test_an_array_that_cannot_be_read_does_not_hide_the_others(run: Run, tmp_path: Path) -> None:
    group = omnizarr.create_group(tmp_path / "g")
    for name in ("bad", "good"):
        group.create_array(name, data=np.arange(4), compressors=None)
    (tmp_path / "g/bad/c/0").write_bytes(b"short")
    result = run("info", tmp_path / "g", "--stats")
    assert result.exit_code == 3
    assert result.stderr.startswith("error: cannot read chunk (0,) of array `bad`")
    assert re.search(r"\ngood .* 0 +3 +1.5 +", result.stdout)
    shown = json.loads(run("info", tmp_path / "g", "--stats", "--json").stdout)
    assert [member.get("statistics", {}).get("max") for member in shown["members"]] == [None, 3]


def test_times_are_not_cut_in_a_pipe(run: Run, tmp_path: Path) -> None:
    omnizarr.create_array(tmp_path / "a", data=np.array(["2020-01-01", "2020-12-31"], "M8[ns]"))
    assert "Minimum        2020-01-01T00:00:00.000000000\n" in run("info", tmp_path / "a", "--stats").stdout
