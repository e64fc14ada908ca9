"""`omnizarr ls`, `find` and `attrs get`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import omnizarr

Run = Callable[..., Result]


def lines(result: Result) -> list[str]:
    return result.stdout.splitlines()


@pytest.mark.smoke
def test_ls_prints_names_for_scripts(run: Run, location: Path) -> None:
    assert lines(run("ls", location)) == ["inner", "temperature"]
    assert lines(run("ls", location / "inner")) == ["broken", "sharded"]
    assert lines(run("ls", location / "temperature")) == ["temperature"]
    assert lines(run("ls", "-R", location)) == ["inner", "inner/broken", "inner/sharded", "temperature"]


def test_ls_long(run: Run, location: Path) -> None:
    shown = lines(run("ls", "-l", location))
    assert shown[0].split() == ["kind", "type", "shape", "chunks", "size", "name"]
    assert shown[1].split() == ["group", "inner"]
    assert shown[2].split() == ["array", "float32", "3", "×", "4", "2", "×", "4", "48", "B", "temperature"]


def test_ls_json(run: Run, location: Path) -> None:
    members = json.loads(run("ls", "-R", "--json", location).stdout)
    streamed = [json.loads(line) for line in lines(run("ls", "-R", "--jsonl", location))]
    assert sorted(member["path"] for member in streamed) == [member["path"] for member in members]
    assert run("ls", "--json", "--jsonl", location).exit_code == 2


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--name", "t*"), ["temperature"]),
        (("--name", "inner/*"), ["inner/broken", "inner/sharded"]),
        (("--type", "array"), ["inner/sharded", "temperature"]),
        (("--type", "group"), ["/", "inner"]),
        (("--type", "<u2"), ["inner/sharded"]),
        (("--attr", "title"), ["/"]),
        (("--type", "unreadable"), ["inner/broken"]),
        (("--type", "float*"), ["temperature"]),
        (("--type", "uint16", "--type", "group"), ["/", "inner", "inner/sharded"]),
        (("--attr", "units"), ["temperature"]),
        (("--attr", "units=K", "--attr", "valid=[0, 400]"), ["temperature"]),
        (("--attr", "units=C"), []),
        (("--name", "nothing"), []),
    ],
)
def test_find(run: Run, location: Path, options: tuple[str, ...], expected: list[str]) -> None:
    for form in ((), ("--jsonl",)):
        result = run("find", location, *options, *form)
        assert result.exit_code == (0 if expected else 1)
        found = [json.loads(line)["path"] or "/" for line in lines(result)] if form else lines(result)
        assert sorted(found) == expected


def test_find_rejects_types_that_do_not_exist(run: Run, location: Path) -> None:
    result = run("find", location, "--type", "flaot32")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "did you mean `float32`?" in result.stderr


def test_attrs_get(run: Run, location: Path) -> None:
    assert lines(run("attrs", "get", location / "temperature")) == ["units  K", "valid  [0, 400]"]
    assert run("attrs", "get", location / "temperature", "units").stdout == "K\n"
    assert run("attrs", "get", location / "temperature", "valid").stdout == "[0, 400]\n"
    assert json.loads(run("attrs", "get", location / "temperature", "--json").stdout) == {
        "units": "K",
        "valid": [0, 400],
    }
    absent = run("attrs", "get", location / "temperature", "unit")
    assert (absent.exit_code, absent.stdout) == (1, "")
    assert "did you mean `units`?" in absent.stderr


def test_attrs_get_shows_every_kind_of_value(run: Run, tmp_path: Path) -> None:
    values = {"null": None, "empty": {}, "true": True, "text": "a\nb", "nested": {"x": [1.5]}}
    omnizarr.create_group(tmp_path / "g", attributes=values)
    assert lines(run("attrs", "get", tmp_path / "g")) == [
        "null    null",
        "empty   {}",
        "true    true",
        "text    a\\nb",
        'nested  {"x": [1.5]}',
    ]
    assert run("attrs", "get", tmp_path / "g", "text").stdout == "a\nb\n"
