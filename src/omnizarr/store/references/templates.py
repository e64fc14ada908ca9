"""The templates of reference files: names, numbers, texts and simple arithmetic between `{{` and `}}`.

kerchunk has jinja2 fill them in, which is a programming language. Nothing here is run: an expression is taken apart,
and what is not one of the few forms that reference files need is rejected.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from itertools import product
from typing import Any

from omnizarr.errors import MetadataError

__all__ = ["MOST_REFERENCES", "expand", "fill", "needs_filling"]

MOST_REFERENCES = 2**20
"""A limit on generated references, far above the number of lines of a real file."""

_SLOT = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_LONGEST = 200  # characters of an expression
_DEEPEST = 4  # templates that use templates
_LARGEST = 2**63
_LONGEST_TEXT = 2**14
_FORMAT = re.compile(r"[^%]*%0?[0-9]{0,2}d[^%]*")

Value = int | str


class _TemplateError(Exception):
    """The reason why an expression is rejected."""


def needs_filling(text: str) -> bool:
    """Whether `text` contains an expression."""
    return "{{" in text or "{%" in text or "{#" in text


def fill(text: str, names: Mapping[str, Value], templates: Mapping[str, str], what: str) -> str:
    """`text` with every expression replaced by its value. `names` are values; `templates` are texts, used by name, or
    as functions if they contain names themselves. `what` is the location in errors."""
    try:
        return _filled(text, names, templates, 0)
    except (_TemplateError, SyntaxError, ValueError, RecursionError, MemoryError, ArithmeticError) as error:
        raise MetadataError(f"{what}: cannot fill in {text[:100]!r}: {error}") from None


def _filled(text: str, names: Mapping[str, Value], templates: Mapping[str, str], depth: int) -> str:
    if depth > _DEEPEST:
        raise _TemplateError(f"templates use templates more than {_DEEPEST} times")
    if "{%" in text or "{#" in text:
        raise _TemplateError("statements are not supported, only values")

    def value(match: re.Match[str]) -> str:
        source = match[1].strip()
        if len(source) > _LONGEST:
            raise _TemplateError(f"an expression has more than {_LONGEST} characters")
        return str(_value(ast.parse(source, mode="eval").body, names, templates, depth))

    result = _SLOT.sub(value, text)
    if len(result) > _LONGEST_TEXT:
        raise _TemplateError(f"it would have more than {_LONGEST_TEXT} characters")
    return result


def _value(node: ast.expr, names: Mapping[str, Value], templates: Mapping[str, str], depth: int) -> Value:
    if isinstance(node, ast.Constant) and type(node.value) in (int, str):
        constant: Any = node.value
        return _bounded(constant)
    if isinstance(node, ast.Name):
        if node.id in names:
            return names[node.id]
        if node.id in templates:
            return _filled(templates[node.id], names, templates, depth + 1)
        raise _TemplateError(f"`{node.id}` is not defined")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args and node.func.id in templates:
        arguments = {argument.arg: _value(argument.value, names, templates, depth) for argument in node.keywords}
        if None in arguments:
            raise _TemplateError("arguments must be given by name")
        inner = {**names, **{str(name): value for name, value in arguments.items()}}
        return _filled(templates[node.func.id], inner, templates, depth + 1)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(_value(node.operand, names, templates, depth))
    if isinstance(node, ast.BinOp):
        left, right = (_value(side, names, templates, depth) for side in (node.left, node.right))
        return _bounded(_computed(node.op, left, right))
    raise _TemplateError("only names, numbers, texts, `+ - * // %` and templates with named arguments are supported")


def _computed(operator: ast.operator, left: Value, right: Value) -> Value:
    if isinstance(operator, ast.Mod) and isinstance(left, str):
        if not _FORMAT.fullmatch(left):
            raise _TemplateError("the only format is one number, as in `'%02d' % i`")
        return left % _number(right)
    if isinstance(operator, ast.Add) and isinstance(left, str) and isinstance(right, str):
        return left + right
    one, two = _number(left), _number(right)
    if isinstance(operator, ast.Add):
        return one + two
    if isinstance(operator, ast.Sub):
        return one - two
    if isinstance(operator, ast.Mult):
        return one * two
    if isinstance(operator, ast.FloorDiv):
        return one // two
    if isinstance(operator, ast.Mod):
        return one % two
    raise _TemplateError("of arithmetic, only `+ - * // %` are supported")


def _number(value: Value) -> int:
    if isinstance(value, str):
        raise _TemplateError(f"{value[:40]!r} is not a number")
    return value


def _bounded(value: Value) -> Value:
    if isinstance(value, int) and abs(value) >= _LARGEST:
        raise _TemplateError("a number has more than 64 bits")
    return value


def expand(item: Any, templates: Mapping[str, str], what: str) -> dict[str, Any]:
    """The references of one generator: a key, a URL, and optionally an offset and a length, for every combination of
    the values of its dimensions."""
    if not isinstance(item, dict) or not all(isinstance(item.get(name), str) for name in ("key", "url")):
        raise MetadataError(f"{what}: expected an object with the texts `key` and `url`")
    dimensions = item.get("dimensions")
    if not isinstance(dimensions, dict) or not dimensions:
        raise MetadataError(f"{what}.dimensions: expected an object with at least one name")
    values = {name: _steps(steps, f"{what}.dimensions.{name}") for name, steps in dimensions.items()}
    count = 1
    for steps in values.values():
        count *= len(steps)
        if count > MOST_REFERENCES:
            raise MetadataError(f"{what}: generates more than {MOST_REFERENCES} references")
    references: dict[str, Any] = {}
    for combination in product(*values.values()):
        names = dict(zip(values, combination, strict=True))
        reference: list[Any] = [fill(item["url"], names, templates, f"{what}.url")]
        if item.get("offset") is not None or item.get("length") is not None:
            for part in ("offset", "length"):
                text = fill(str(item.get(part)), names, templates, f"{what}.{part}")
                if not re.fullmatch("[0-9]{1,19}", text):
                    raise MetadataError(f"{what}.{part}: expected an integer, found {text[:40]!r}")
                reference.append(int(text))
        references[fill(item["key"], names, templates, f"{what}.key")] = reference
    return references


def _steps(steps: Any, what: str) -> range | list[Any]:
    if isinstance(steps, list):
        if all(type(step) in (int, str) for step in steps):
            return steps
    elif isinstance(steps, dict) and "stop" in steps and not steps.keys() - {"start", "stop", "step"}:
        start, stop, step = steps.get("start", 0), steps["stop"], steps.get("step", 1)
        if all(type(number) is int and abs(number) < _LARGEST for number in (start, stop, step)) and step:
            return range(start, stop, step)
    raise MetadataError(f"{what}: expected a list of numbers and texts, or an object with `stop`")
