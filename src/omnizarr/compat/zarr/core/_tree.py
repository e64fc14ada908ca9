"""The hierarchy below a group as text and HTML."""

from __future__ import annotations

import html
import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["TreeRepr"]

_BOLD = ("\x1b[1m", "\x1b[0m")


class TreeRepr:
    """A printable tree. Names are bold on terminals and in HTML."""

    def __init__(self, root: str, nodes: dict[str, Any], *, max_nodes: int, plain: bool) -> None:
        self._root, self._plain, self._max_nodes = root, plain, max_nodes
        self._children: dict[str, list[tuple[str, str, str]]] = {}
        self._truncated = len(nodes) > max_nodes
        for path in sorted(nodes)[:max_nodes]:
            node = nodes[path]
            above, _, name = path.rpartition("/")
            details = f" {node.shape} {node.dtype}" if hasattr(node, "dtype") else ""
            self._children.setdefault(above, []).append((path, name, details))

    def _lines(self, path: str, indent: str) -> Iterator[tuple[str, str, str]]:
        """The text before each name, the name, and the text after it."""
        children = self._children.get(path, [])
        for index, (child, name, details) in enumerate(children):
            last = index == len(children) - 1
            yield indent + ("└── " if last else "├── "), name, details
            yield from self._lines(child, indent + ("    " if last else "│   "))

    def _text(self, bold: tuple[str, str], escape: Any = str) -> str:
        rows = [("", self._root, ""), *self._lines("", "")]
        text = "".join(f"{before}{bold[0]}{escape(name)}{bold[1]}{after}\n" for before, name, after in rows)
        if self._truncated:
            return f"Truncated at max_nodes={self._max_nodes}, some nodes and their children may be missing\n" + text
        return text

    def __repr__(self) -> str:
        return self._text(_BOLD if sys.stdout.isatty() and not self._plain else ("", ""))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        text = self._text(("", ""))
        if self._plain:
            return {"text/plain": text}
        return {"text/plain": text, "text/html": f"<pre>{self._text(('<b>', '</b>'), html.escape)}</pre>"}
