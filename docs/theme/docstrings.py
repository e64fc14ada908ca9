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
            text = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
            obj.docstring.value = with_sentence_first(text)

    def on_class(self, *, cls: griffe.Class, **arguments: Any) -> None:
        """Leave out the special methods of a class."""
        for name in [name for name in cls.members if name.startswith("__") and name != "__init__"]:
            del cls.members[name]


def with_sentence_first(text: str) -> str:
    """The docstring with its first sentence as its first line, which lists of members show."""
    paragraph, blank, rest = text.partition("\n\n")
    sentence = re.sub(r"(?<=[.:]) (?=[A-Z`])", "\n", " ".join(paragraph.split()), count=1)
    return sentence + blank + rest
