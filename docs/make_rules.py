"""Writes the rules of docs/rules.md, by number, into the package, so that `omnizarr validate` can quote them."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/rules.md"
TABLE = ROOT / "src/omnizarr/tools/validation/rules.json"

_ITEM = re.compile(r"^- \*\*([A-Z]\d+|§[\d.]+)\*\* (.*(?:\n  .*)*)", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def rules() -> dict[str, str]:
    """The text of each rule, in one line and without links."""
    page = PAGE.read_text(encoding="utf-8")
    texts = {number: _LINK.sub(r"\1", " ".join(text.split())) for number, text in _ITEM.findall(page)}
    sections = re.findall(r"^## (§[\d.]+): (.*)$", page, re.MULTILINE)
    return texts | {number: f"{title[0].upper()}{title[1:]}: a form that readers accept." for number, title in sections}


def main() -> None:
    lines = [
        f"  {json.dumps(number, ensure_ascii=False)}: {json.dumps(text, ensure_ascii=False)}"
        for number, text in rules().items()
    ]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
