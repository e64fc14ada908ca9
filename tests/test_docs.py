"""Tests of the documentation: examples and commands print the shown output, links and file names are valid, and every
page and every public name is listed."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
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

import omnizarr.engine.route
from omnizarr.cli.program import COMMANDS
from omnizarr.extending import register_data_type, register_storage_transformer
from tests.pages import ROOT, blocks, classes, read, run_console, run_python
from tests.registries import restoring_all

# `make tables` makes the pages in docs/cli and runs their commands.
PAGES = sorted(
    path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md") if path.parent.name not in ("cli", "quick")
)
PROSE = [*sorted(path.name for path in ROOT.glob("*.md")), *PAGES]


def test_the_overview_of_the_command_line_lists_every_command() -> None:
    text = read("docs/cli.md")
    commands = [name for section in COMMANDS.values() for name in section]
    assert [name for name in commands if f"](cli/{name}.md)" not in text] == []


@pytest.mark.parametrize("page", [page for page in PAGES if any(block.kind == "python" for block in blocks(page))])
def test_python_examples(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(numcodecs.registry, "codec_registry", dict(numcodecs.registry.codec_registry))
    if page == "docs/xarray.md":
        importlib.import_module("omnizarr.integrations.xarray")  # its entry point is missing in a mere source tree
    with restoring_all():
        for line, shown, printed in run_python(page):
            assert printed == shown, f"{page}, line {line}"


@pytest.mark.parametrize("page", [page for page in PAGES if any(block.kind == "console" for block in blocks(page))])
def test_commands(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands read the dataset of examples/weather.py."""
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


def test_the_pages_of_commands_are_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "docs" / "make_cli.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, f"{result.stderr}\nrun `make tables`"


SITE = sorted(path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md"))
SITE = [page for page in SITE if not page.startswith("quick/")]

PUBLIC = ("", "aio", "codecs", "compat", "config", "errors", "extending", "integrations.xarray", "serve", "store")
PUBLIC = (*PUBLIC, "testing", "tools")
"""The modules whose names docs/reference describes."""


def configuration() -> dict[str, Any]:
    """The content of mkdocs.yml, with the tags of Python objects ignored."""
    yaml = pytest.importorskip("yaml")

    class Loader(yaml.SafeLoader):  # type: ignore[misc, name-defined]
        pass

    Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: None)
    loaded: dict[str, Any] = yaml.load(read("mkdocs.yml"), Loader)
    return loaded


def listed(entries: list[Any]) -> Iterator[str]:
    """The pages of a navigation."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
            continue
        for content in entry.values():
            yield from listed(content) if isinstance(content, list) else [content]


def test_the_navigation_lists_every_page_once() -> None:
    pages = list(listed(configuration()["nav"]))
    assert pages.count("cli/*") == 1, "all pages of commands"
    assert sorted(page for page in pages if not page.endswith("/*")) == [
        page for page in SITE if not page.startswith("cli/")
    ], "list a new page in `nav` of mkdocs.yml"


def test_every_command_has_a_page() -> None:
    assert sorted(page for page in SITE if page.startswith("cli/")) == sorted(
        f"cli/{name}.md" for section in COMMANDS.values() for name in section
    )


def names_of(module: str) -> list[str]:
    """The public names of a module of omnizarr, with their modules."""
    full = f"omnizarr.{module}".rstrip(".")
    names = [name for name in importlib.import_module(full).__all__ if not name.startswith("__")]
    return [f"{full}.{name}" for name in names]


def value_of(name: str) -> Any:
    """The value of a name with its module."""
    owner, _, short = name.rpartition(".")
    return getattr(importlib.import_module(owner), short)


def test_the_reference_names_everything_public() -> None:
    """A directive `::: omnizarr.errors` stands for all names of the module."""
    pytest.importorskip("xarray")
    text = "\n".join(read(f"docs/{page}") for page in SITE if page.startswith("reference/"))
    directives = set(re.findall(r"^::: (\S+)$", text, re.MULTILINE))
    anchors = set(re.findall(r'<a id="(\S+)"></a>', text))
    modules = {f"omnizarr.{module}" for module in PUBLIC if module}
    described = {id(value_of(name)) for module in modules & directives for name in names_of(module[9:])}
    missing = [
        name
        for module in PUBLIC
        for name in names_of(module)
        if name not in directives | modules | anchors and id(value_of(name)) not in described
    ]
    assert missing == [], "add it to a page of docs/reference"
    for directive in directives:
        assert directive in modules or value_of(directive) is not None
    named = re.findall(r"`([\w.]+)`", read("docs/reference/index.md").partition("## What is public")[2])
    assert set(PUBLIC) - {""} <= set(named)


def undocumented(owner: str, value: Any) -> Iterator[str]:
    """The name of a value, and those of its public members, that have no docstring, not even an inherited one."""
    if not (inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value)):
        return
    text = inspect.getdoc(value) or ""
    if not text or (inspect.isclass(value) and text.startswith(f"{value.__name__}(")):  # made by `dataclass`
        yield owner
    if inspect.isclass(value) and not owner.startswith("omnizarr.testing."):  # tests of suites: their names say it
        for name, member in inspect.getmembers(value):
            if name.startswith("_") or name in getattr(value, "__dataclass_fields__", ()):
                continue
            if not str(getattr(member, "__module__", "omnizarr")).startswith("omnizarr"):
                continue
            if (inspect.isroutine(member) or isinstance(member, property)) and not inspect.getdoc(member):
                yield f"{owner}.{name}"


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_has_a_docstring(module: str) -> None:
    if module == "integrations.xarray":
        pytest.importorskip("xarray")
    assert [missing for name in names_of(module) for missing in undocumented(name, value_of(name))] == []


def anchors(page: str) -> set[str]:
    """The link targets of a page: its headings, and the names that the reference describes."""
    described = set(re.findall(r"^::: (\S+)$", read(page), re.MULTILINE))
    titles = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", read(page), flags=re.DOTALL), re.MULTILINE)
    return described | {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


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


class TestTheStoreOfTheDocs(classes("docs/stores.md").TestMappingStore):  # type: ignore[misc]
    """The store and the test class on the page pass the suite."""


with restoring_all():  # undo the registrations of the page
    EXTENSIONS = classes("docs/extensions.md")
    TRANSFORMERS = classes("docs/transformers.md")


class TestTheCodecOfTheDocs(EXTENSIONS.TestBzip):  # type: ignore[misc, name-defined]
    """The extensions on docs/extensions.md pass their suites."""


class TestTheDataTypeOfTheDocs(EXTENSIONS.TestColour):  # type: ignore[misc, name-defined]
    @pytest.fixture(autouse=True)
    def registered(self) -> Iterator[None]:
        with restoring_all():
            register_data_type(EXTENSIONS.Colour)
            yield


class TestTheTransformerOfTheDocs(TRANSFORMERS.TestSummed):  # type: ignore[misc, name-defined]
    shared_by_processes = False  # another process cannot import the page

    @pytest.fixture(autouse=True)
    def registered(self) -> Iterator[None]:
        with restoring_all():
            register_storage_transformer(TRANSFORMERS.Summed)
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


def test_the_picture_of_the_architecture_shows_the_checked_layers() -> None:
    """The module `__main__` and layers without code are not in the picture."""
    (picture,) = (block.text for block in blocks("ARCHITECTURE.md"))
    contracts = tomllib.loads(read("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    source = ROOT / "src" / "omnizarr"
    modules = [
        {name for name in re.findall(r"\w+", layer) if (source / name / "__init__.py").exists()}
        | {name for name in re.findall(r"\w+", layer) if (source / f"{name}.py").exists()}
        for layer in layers
    ]
    expected = [names for names in modules if names - {"__main__"}]
    lines = picture.splitlines()
    assert len(lines) == len(expected)
    for line, names in zip(lines, expected, strict=True):
        assert set(re.findall(r"\w+", line)[: len(names)]) == names, line


def test_the_architecture_repeats_the_route_tables() -> None:
    def cells(text: str) -> list[list[str]]:
        rows = (line.strip().strip("|").split("|") for line in text.splitlines() if line.strip().startswith("|"))
        return [[cell.strip() for cell in row] for row in rows if "---" not in row[0]]

    assert omnizarr.engine.route.__doc__ is not None
    expected = cells(omnizarr.engine.route.__doc__)
    assert len(expected) > 8
    shown = cells(read("ARCHITECTURE.md"))
    assert [row for row in expected if row not in shown] == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "CORRECTNESS.md", "docs/decisions.md"])
def test_named_files_exist(page: str) -> None:
    """A name such as `engine/route` may leave out the suffix `.py` and the folders above it."""
    named = set(re.findall(r"`((?:[a-z_0-9]+/)+(?:\w+(?:\.\w+)?)?)`", read(page)))
    assert named
    folders = (ROOT / folder for folder in ("src", "tests", "docs", "benchmarks", "examples"))
    files = [path.as_posix() for folder in folders for path in folder.rglob("*.*")]
    missing = {
        name
        for name in named
        if not any(file.endswith((f"/{name}", f"/{name}.py")) or f"/{name.rstrip('/')}/" in file for file in files)
    }
    assert missing == set()
