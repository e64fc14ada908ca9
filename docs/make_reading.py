"""Writes the table in `generations.md` that says how many arrays of other writers each library reads.

`python docs/make_reading.py` writes the table from `reading.json`, which
`python -m tests.interop.corpora.reading_table` measures. With `--check` it only reports whether the page is up to date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE / "generations.md"
START, END = "<!-- made by docs/make_reading.py -->\n", "<!-- end -->\n"


def _rows(results: dict[str, Any]) -> list[str]:
    versions = results["versions"]
    header = f"| source | arrays | omnizarr | zarr-python {versions['zarr']} | TensorStore {versions['tensorstore']} |"
    lines = [header, "|---|---|---|---|---|"]
    for row in results["corpora"]:
        lines.append(_row(f"corpus {row['source']}", row))
    for row in results["repositories"]:
        lines.append(_row(f"[{row['source']}](https://github.com/{row['source']}) at `{row['commit']}`", row))
    return lines


def _row(source: str, row: dict[str, Any]) -> str:
    return f"| {source} | {row['arrays']} | {row['omnizarr']} | {row['zarr']} | {row['tensorstore']} |"


def main() -> int:
    results = json.loads((HERE / "reading.json").read_text("utf-8"))
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(START)
    after = rest.partition(END)[2]
    written = "".join([before, START, "\n", *(f"{line}\n" for line in _rows(results)), "\n", END, after])
    if "--check" in sys.argv[1:]:
        sys.exit(0 if written == page else f"{PAGE.name} is out of date: run `make tables`")
    PAGE.write_text(written, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
