"""Makes the notebooks from the scripts of this folder: runs each, and stores its cells with their output.

Run `python examples/make_notebooks.py`. In a script, `# %%` begins a cell of code and `# %% [markdown]` one of text.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
NAMES = ("climate", "microscopy", "genomics", "machine_learning", "from_zarr_python")


def cells_of(name: str) -> list[tuple[str, str]]:
    """The kind, `code` or `markdown`, and the source of each cell of a script."""
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

    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()


def without_places(text: str, folder: str) -> str:
    """The text of a notebook with the same name for every temporary folder."""
    return re.sub(re.escape(folder) + r"/tmp\w+", "/data", text)


def main() -> None:
    import nbformat

    for name in NAMES:
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
