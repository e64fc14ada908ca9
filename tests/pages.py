"""Finds and runs the examples of a page of documentation.

The output of a `python` block is the `text` block after it. The output of an `omnizarr` command is the text after it in
its `console` block. A `python` block whose title is a key of `PEERS` runs in the environment of that library.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from omnizarr.cli.program import program
from tests.peers.environments import find

ROOT = Path(__file__).resolve().parents[1]

PEERS = {"TensorStore": "zarr3", "zarr-python": "together", "zarr-python and Icechunk": "together"}
"""The environments of `.peers` in which blocks with these titles run."""
OPTIONAL = {"PyTorch": "torch"}
"""Blocks with these titles go on with the page, if the library is installed: `make test-torch` runs them."""

_FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: language, text, first line, the text between it and the previous block, and title."""

    kind: str
    text: str
    line: int
    between: str
    title: str = ""


def read(page: str) -> str:
    """The text of a page; `page` is its path relative to the root of the project."""
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    """All fenced blocks of a page, in order."""
    text = read(page)
    fenced, end = [], 0
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start(3)) + 1
        fenced.append(Block(match[1], match[3], line, text[end : match.start()], match[2] or ""))
        end = match.end()
    return fenced


def compiled(block: Block, page: str) -> types.CodeType:
    """A block as a program. Tracebacks show the line numbers of the page."""
    return compile("\n" * (block.line - 1) + block.text, page, "exec", dont_inherit=True)


def run_python(page: str) -> Iterator[tuple[int, str, str]]:
    """Runs the `python` blocks of a page as one program in the current directory.

    Yields the line of each block, the output on the page, and the output of the run.
    """
    names: dict[str, object] = {"__name__": "page"}
    fenced = blocks(page)
    for block, after in zip(fenced, [*fenced[1:], None], strict=True):
        if block.kind != "python":
            continue
        shown = after.text if after is not None and after.kind == "text" and not after.between.strip() else ""
        if block.title in PEERS:
            printed = run_in_peer(block)
            yield block.line, shown, shown if printed is None else here_as_data(printed)
            continue
        if block.title in OPTIONAL and importlib.util.find_spec(OPTIONAL[block.title]) is None:
            yield block.line, shown, shown
            continue
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compiled(block, page), names)
        yield block.line, shown, here_as_data(output.getvalue())


def run_in_peer(block: Block) -> str | None:
    """The output of a block in the environment of another library; None if it is not installed."""
    environment = find(PEERS[block.title])
    if environment is None:
        return None
    command = [environment.python, "-W", "ignore", "-c", block.text]
    with tempfile.TemporaryDirectory() as folder:
        points = tomllib.loads(read("pyproject.toml"))["project"]["entry-points"]
        lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items()) for group, names in points.items()]
        installed = Path(folder, "omnizarr-0.dist-info")  # as if omnizarr was installed there
        installed.mkdir()
        (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: omnizarr\nVersion: 0\n")
        (installed / "entry_points.txt").write_text("".join(lines))
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), folder])}
        result = subprocess.run(command, capture_output=True, text=True, env=variables)
    assert result.returncode == 0, result.stderr
    return result.stdout


def classes(page: str) -> types.ModuleType:
    """A module with the classes that a page defines. It is in `sys.modules`, so the classes can be pickled."""
    module = types.ModuleType("classes_of_" + re.sub(r"\W", "_", page))
    sys.modules[module.__name__] = module
    for block in blocks(page):
        if block.kind == "python" and re.search(r"^class ", block.text, re.MULTILINE):
            exec(compiled(block, page), module.__dict__)
    return module


def run_console(page: str) -> Iterator[tuple[str, str, str]]:
    """Runs every `$ omnizarr` command of a page in the current directory, and no other commands (pip, make).

    Yields each command, the output on the page, and the output of the run.
    """
    for block in blocks(page):
        if block.kind != "console":
            continue
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            command = shlex.split(line, comments=True)
            if command[0] == "omnizarr":
                result = CliRunner().invoke(program, command[1:], prog_name="omnizarr")
                if result.exception is not None and not isinstance(result.exception, SystemExit):
                    raise result.exception
                yield line, shown.strip("\n"), here_as_data(result.output).strip("\n")


def here_as_data(text: str) -> str:
    """`text` with the current directory replaced by `/data`, which the pages use."""
    return text.replace(os.getcwd(), "/data")
