"""Tests of the documentation site, without its tools: its links, and what blocks of code may be.

`make docs` builds the site and checks the links in it (docs/theme/check_site.py).
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from types import ModuleType

import pytest

from omnizarr.cli.program import COMMANDS
from tests.pages import OPTIONAL, PEERS, ROOT, Block, blocks, read

PAGES = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("**/*.md"))
PAGES = [page for page in PAGES if not page.startswith("quick/")]


def hooks() -> ModuleType:
    """docs/theme/hooks.py."""
    specification = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "theme" / "hooks.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_nothing_is_loaded_from_the_network() -> None:
    assert "\n  font: false" in read("mkdocs.yml")
    assert not [name for name in (ROOT / "docs/theme").glob("*.css") if "http" in name.read_text()]


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith("cli/")])
def test_every_block_is_run_or_is_output(page: str) -> None:
    """tests/test_docs.py runs the blocks of Python and the commands of omnizarr, and compares their output."""
    fenced = blocks(f"docs/{page}")
    assert read(f"docs/{page}").count("\n```") + read(f"docs/{page}").startswith("```") == 2 * len(fenced)
    previous: Block | None = None
    for block in fenced:
        where = f"docs/{page}, line {block.line}"
        if block.kind == "python":
            assert block.title in ("", "omnizarr", "h5py", "netCDF4", *PEERS, *OPTIONAL), where
        elif block.kind == "console":
            for command in re.findall(r"^\$ (.*)$", block.text, re.MULTILINE):
                check_command(command, where)
        elif block.kind == "json":
            json.loads(block.text)
        elif block.kind == "toml":
            tomllib.loads(block.text)
        else:
            assert block.kind == "text", where
            output = previous is not None and previous.kind == "python" and not block.between.strip()
            server = re.match(r"\$ omnizarr (view|serve) ", block.text)
            assert output or server or set("│├└┬") & set(block.text) or "columns" in block.text, where
        previous = block


def check_command(command: str, where: str) -> None:
    """Commands of omnizarr run with the page; of others it is checked that they can work."""
    if command.startswith("python -c "):
        code = command.removeprefix("python -c ").strip('"')
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    elif command.startswith("pip install "):
        extras = set(re.findall(r"\[(.*?)\]", command))
        assert extras <= set(tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]), where
    elif command.startswith("python -m omnizarr "):
        assert command.split()[3] in {name for section in COMMANDS.values() for name in section}, where
    else:
        assert command.startswith("omnizarr "), where


def test_links_lead_to_pages_or_to_the_repository() -> None:
    corrected, repository = hooks().with_links_of_the_site, "https://example.org/omnizarr"
    text = "[a](guide.md#open) [b](../README.md) [c](../ARCHITECTURE.md#layers) [d](../examples) [e](https://x.org)"
    assert corrected(text, "stores.md", repository) == (
        f"[a](guide.md#open) [b]({repository}/blob/main/README.md) [c](project/architecture.md#layers) "
        f"[d]({repository}/tree/main/examples) [e](https://x.org)"
    )
    assert corrected("[a](docs/guide.md) [b](CHANGELOG.md)", "project/architecture.md", repository) == (
        "[a](../guide.md) [b](changelog.md)"
    )
    assert corrected("```text\n[a](../README.md)\n```", "stores.md", repository) == "```text\n[a](../README.md)\n```"


def test_summaries_are_the_first_sentence() -> None:
    summary = hooks().summary
    assert summary("# Title\n\nOne [link](x.md) here. Two.\n") == "One link here."
    assert summary('# T\n\n<div class="a" markdown>\n\n# T\n\nFirst: second.\n') == "First:"
