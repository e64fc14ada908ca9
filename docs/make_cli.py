"""Writes `cli/<command>.md`, one page per command: its help text, and the examples of `cli/examples.toml` with the
output of a real run.

`python docs/make_cli.py` writes the pages. With `--check` it only reports which pages are not up to date.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from omnizarr.cli.program import COMMANDS, program

FOLDER = Path(__file__).with_name("cli")
EXAMPLES = FOLDER / "examples.toml"


def run(command: str) -> str:
    """The output of a command, messages included, with the current directory shown as `/data`."""
    arguments = shlex.split(command)
    assert arguments[0] == "omnizarr", command
    result = CliRunner().invoke(program, arguments[1:], prog_name="omnizarr", env={"COLUMNS": "80"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output.replace(os.getcwd(), "/data").rstrip()


def prepare(setup: str) -> None:
    """Writes the dataset of examples/weather.py into the current directory, and runs `setup`."""
    path = FOLDER.parents[1] / "examples" / "weather.py"
    specification = importlib.util.spec_from_file_location("weather", path)
    assert specification is not None
    assert specification.loader is not None
    weather = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(weather)
    weather.write(Path("weather.zarr"))
    exec(compile(setup, str(EXAMPLES), "exec"), {})


def page(name: str, content: dict[str, Any]) -> str:
    """The page of a command. Examples whose output differs from run to run have it in `examples.toml`."""
    parts = [f"# omnizarr {name}", "<!-- made by docs/make_cli.py from the help text and cli/examples.toml -->"]
    if content.get("text"):
        parts.append(content["text"].strip())
    for example in content.get("examples", []):
        if example.get("text"):
            parts.append(example["text"].strip())
        output = example["output"].rstrip() if "output" in example else run(example["command"])
        parts.append(f"```console\n$ {example['command']}\n{output}\n```")
    for command in content.get("help", [f"omnizarr {name} --help"]):
        parts.append(f"## {command.removesuffix(' --help')}: all options" if "help" in content else "## All options")
        parts.append(f"```text\n{run(command)}\n```")
    return "\n\n".join(parts) + "\n"


def pages() -> Iterator[tuple[Path, str]]:
    contents = tomllib.loads(EXAMPLES.read_text(encoding="utf-8"))
    for name in (name for section in COMMANDS.values() for name in section):
        content = contents.get(name, {})
        with tempfile.TemporaryDirectory() as directory, chdir(directory):
            prepare(content.get("setup", ""))
            yield FOLDER / f"{name}.md", page(name, content)


def main() -> None:
    check = "--check" in sys.argv
    outdated = []
    for path, text in pages():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            outdated.append(path.name)
            if not check:
                path.write_text(text, encoding="utf-8")
    if check and outdated:
        sys.exit(f"not up to date: {', '.join(outdated)}")


if __name__ == "__main__":
    main()
