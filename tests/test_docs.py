"""The documentation tells the truth: its examples run and print what they say, its commands too, and its links lead
somewhere."""

from __future__ import annotations

import importlib.util
import re
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numcodecs
import pytest

from omnizarr.chunk_keys import DefaultKeys
from omnizarr.extending import register_data_type
from omnizarr.store import MemoryStore, Store
from omnizarr.testing import StoreSuite
from omnizarr.transformers import ArrayPlace
from tests.pages import ROOT, blocks, classes, read, run_console, run_python
from tests.registries import all_as_they_were

PAGES = sorted(str(path.relative_to(ROOT).as_posix()) for path in ROOT.glob("docs/*.md"))
PROSE = ["README.md", "ARCHITECTURE.md", *PAGES]


@pytest.mark.parametrize("page", [page for page in PAGES if any(block.kind == "python" for block in blocks(page))])
def test_python_examples(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(numcodecs.registry, "codec_registry", dict(numcodecs.registry.codec_registry))
    with all_as_they_were():
        for line, shown, printed in run_python(page):
            assert printed == shown, f"{page}, line {line}"


@pytest.mark.parametrize("page", [page for page in PAGES if any(block.kind == "console" for block in blocks(page))])
def test_commands(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They look at what the example of the project writes."""
    specification = importlib.util.spec_from_file_location("weather", ROOT / "examples" / "weather.py")
    assert specification is not None
    assert specification.loader is not None
    weather = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(weather)
    weather.write(tmp_path / "weather.zarr")
    monkeypatch.chdir(tmp_path)
    for command, shown, printed in run_console(page):
        assert printed == shown, f"{page}: {command}"


def test_the_table_of_extensions_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "docs" / "make_extensions.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, f"{result.stderr}\nrun `make tables`"


def anchors(page: str) -> set[str]:
    """The names by which the headings of a page can be linked to."""
    titles = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", read(page), flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PROSE)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", read(page)):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        there = (ROOT / page).parent / path if path else ROOT / page
        assert there.exists(), f"{page} links to {target}"
        if anchor:
            assert anchor in anchors(str(there.resolve().relative_to(ROOT))), f"{page} links to {target}"


def test_the_index_names_every_page() -> None:
    index = read("docs/index.md")
    assert [page for page in PAGES if page != "docs/index.md" and f"]({Path(page).name})" not in index] == []


class TestTheStoreOfTheDocs(classes("docs/stores.md").TestMappingStore):  # type: ignore[misc]
    """The store that the page tells how to write passes the suite, by the very class that the page shows."""


class TestTheTransformerOfTheDocs(StoreSuite):
    """And so does what the transformer of the page makes of a store, when some keys of the suite are chunks."""

    pickled_is_equal = False

    def make_store(self, tmp_path: Path) -> Store:
        place = ArrayPlace("a/b/", (4, 4), (1, 1), DefaultKeys())
        store: Store = classes("docs/stores.md").Spread().wrap(MemoryStore(), place)
        return store


with all_as_they_were():  # what the page registers is not there for all tests
    EXTENSIONS = classes("docs/extensions.md")


class TestTheCodecOfTheDocs(EXTENSIONS.TestBzip):  # type: ignore[misc, name-defined]
    """And the extensions that another page tells how to write."""


class TestTheDataTypeOfTheDocs(EXTENSIONS.TestColour):  # type: ignore[misc, name-defined]
    @pytest.fixture(autouse=True)
    def registered(self) -> Iterator[None]:
        with all_as_they_were():
            register_data_type(EXTENSIONS.Colour)
            yield


class TestTheStoreOfTheTutorial(EXTENSIONS.TestSqliteStore):  # type: ignore[misc, name-defined]
    @pytest.fixture(autouse=True)
    def without_waiting_for_the_disk(self, monkeypatch: pytest.MonkeyPatch) -> None:
        connect = sqlite3.connect

        def quick(*arguments: Any, **options: Any) -> sqlite3.Connection:
            database = connect(*arguments, **options)
            database.execute("PRAGMA synchronous = OFF")
            database.execute("PRAGMA journal_mode = MEMORY")
            return database

        monkeypatch.setattr(sqlite3, "connect", quick)


def test_the_picture_of_the_architecture_shows_the_storeys_that_are_checked() -> None:
    """But for the entrance, and for those that are kept for later and have no code yet."""
    (picture,) = (block.text for block in blocks("ARCHITECTURE.md"))
    contracts = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    source = ROOT / "src" / "omnizarr"
    storeys = [
        {name for name in re.findall(r"\w+", layer) if (source / name / "__init__.py").exists()}
        | {name for name in re.findall(r"\w+", layer) if (source / f"{name}.py").exists()}
        for layer in layers
    ]
    expected = [storey for storey in storeys if storey - {"__main__"}]
    lines = picture.splitlines()
    assert len(lines) == len(expected)
    for line, storey in zip(lines, expected, strict=True):
        assert set(re.findall(r"\w+", line)[: len(storey)]) == storey, line


def test_the_files_that_the_architecture_names_exist() -> None:
    named = set(re.findall(r"`([a-z_]+/[a-z_0-9]+)(?:\.\w+)?`", read("ARCHITECTURE.md")))
    assert len(named) > 8
    assert {name for name in named if not (ROOT / "src" / "omnizarr" / f"{name}.py").exists()} == set()
