"""Makes the notebooks from the scripts of this folder, and one from the page of the tutorial: runs each, and stores its
cells with their output.

Run `python examples/make_notebooks.py`. In a script, `# %%` begins a cell of code and `# %% [markdown]` one of text. On
a page, blocks of Python are cells of code. Their output is left out, and everything else is text.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
NAMES = ("climate", "microscopy", "genomics", "machine_learning", "from_zarr_python")
PAGES = {"tutorial": FOLDER.parent / "docs/start/tutorial.md"}
SITE = "https://omnizarr.github.io/omnizarr"


def cells_of(name: str) -> list[tuple[str, str]]:
    """The kind, `code` or `markdown`, and the source of each cell of a script or a page."""
    if name in PAGES:
        return cells_of_page(PAGES[name])
    parts = re.split(
        r"^# %%( \[markdown\])?\n", (FOLDER / f"{name}.py").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    cells = []
    for markdown, source in zip(parts[1::2], parts[2::2], strict=True):
        if markdown:
            cells.append(("markdown", re.sub(r"^# ?", "", source, flags=re.MULTILINE).strip()))
        else:
            cells.append(("code", source.strip()))
    return cells


def cells_of_page(page: Path) -> list[tuple[str, str]]:
    """The cells of a page. Links to other pages lead to the site."""
    parts = re.split(r"^```(python|text)\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    cells = []
    for text, kind, code in zip(parts[::3], [*parts[1::3], ""], [*parts[2::3], ""], strict=True):
        if text.strip():
            cells.append(
                ("markdown", re.sub(r"\]\(([^):]+)\)", lambda link: f"]({on_the_site(page, link[1])})", text.strip()))
            )
        if kind == "python":
            cells.append(("code", code.strip()))
    return cells


def on_the_site(page: Path, target: str) -> str:
    """The address of another page, for a link on `page`."""
    name, mark, anchor = target.partition("#")
    there = (page.parent / name).resolve().relative_to(FOLDER.parent.resolve()).as_posix()
    if not there.startswith("docs/"):
        return f"https://github.com/omnizarr/omnizarr/blob/main/{there}"
    return f"{SITE}/{there.removeprefix('docs/').removesuffix('.md')}/{mark}{anchor}"


def notebook_of(name: str) -> Any:
    """The notebook of a script, without output."""
    from nbformat import v4

    make = {"code": v4.new_code_cell, "markdown": v4.new_markdown_cell}
    notebook = v4.new_notebook(cells=[make[kind](source) for kind, source in cells_of(name)])
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"{name}-{number}"  # otherwise random, and every run would change the file
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook


def execute(notebook: Any, folder: str) -> None:
    """Runs a notebook; its temporary files lie in `folder`."""
    from nbclient import NotebookClient

    NotebookClient(
        notebook, timeout=240, startup_timeout=240, kernel_name="python3", resources={"metadata": {"path": folder}}
    ).execute()


def without_places(text: str, folder: str) -> str:
    """The text of a notebook with the same name for every temporary folder."""
    return re.sub(re.escape(folder) + r"(/tmp\w+)?", "/data", text)


def main() -> None:
    import nbformat

    for name in (*NAMES, *PAGES):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TMPDIR"] = folder
            notebook = notebook_of(name)
            execute(notebook, folder)
            for cell in notebook.cells:
                cell.metadata.pop("execution", None)  # when each cell ran
            notebook.metadata.pop("language_info", None)  # the version of Python
            text = without_places(nbformat.writes(notebook), folder)
        (FOLDER / f"{name}.ipynb").write_text(text + "\n", encoding="utf-8")
        print(f"{name}.ipynb")


if __name__ == "__main__":
    main()
