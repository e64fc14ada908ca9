"""What mkdocstrings shows of the source: examples as code, and no special methods."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Docstrings(griffe.Extension):
    """`Example:` begins a section of code, as in a terminal; the methods of operators are not listed."""

    def on_object(self, *, obj: griffe.Object, **arguments: Any) -> None:
        """Change the docstring of an object when it is loaded."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)

    def on_class(self, *, cls: griffe.Class, **arguments: Any) -> None:
        """Leave out the special methods of a class."""
        for name in [name for name in cls.members if name.startswith("__") and name != "__init__"]:
            del cls.members[name]
