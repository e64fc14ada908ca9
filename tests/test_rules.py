"""The rules of the format by number: docs/rules.md explains each rule that code or tests name, and each rule of the
older generations has a test named after it."""

from __future__ import annotations

import ast
import io
import re
import tokenize

import pytest

from tests.pages import ROOT, read

PROGRAMS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for folder in ("src", "tests", "examples", "benchmarks")
    for path in sorted(ROOT.glob(f"{folder}/**/*.py"))
}

RULE = re.compile(r"(?<![A-Za-z0-9%])([RSTUVZAK])(\d{1,3})(?:–\1(\d{1,3}))?(?![A-Za-z0-9])")
"""One rule, or a range: `S13–S37`."""


def comments(text: str) -> str:
    """The comments and docstrings of a program, without text in backquotes."""
    texts = [
        token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.COMMENT
    ]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            texts.append(node.value.value)
    return re.sub("`[^`]*`", "", "\n".join(texts))


def rules_in(text: str) -> set[str]:
    ranges = RULE.findall(text)
    return {
        f"{letter}{number}" for letter, first, last in ranges for number in range(int(first), int(last or first) + 1)
    }


def rules_of_tests() -> dict[str, str]:
    """The rules in names of tests, each with one file."""
    return {
        rule: name
        for name, text in PROGRAMS.items()
        for rules in re.findall(r"def test_((?:[RSTUVZAK]\d{1,3}_)+)", text)
        for rule in rules.strip("_").split("_")
    }


@pytest.fixture(scope="module")
def explained() -> set[str]:
    """The rules on the page."""
    rules = re.findall(r"^- \*\*([A-Z]\d+)\*\*", read("docs/rules.md"), re.MULTILINE)
    assert len(rules) == len(set(rules))
    return set(rules)


def test_rules_are_found_in_comments() -> None:
    text = '"""As in S13–S15 (T7), not `S3`."""\nx = "<U12 V7"  # A5, R102; %A1, V2x\n\n\ndef f():\n    """Z1"""\n'
    assert rules_in(comments(text)) == {"S13", "S14", "S15", "T7", "A5", "R102", "Z1"}


def test_every_cited_rule_is_explained(explained: set[str]) -> None:
    """Outside comments `S10` is a NumPy type, so only the letters R and A are searched there."""
    assert len(PROGRAMS) > 100
    cited = rules_of_tests()
    for name, text in PROGRAMS.items():
        anywhere = rules_in(text)
        if not anywhere <= explained:  # parsing all files takes seconds
            anywhere = {rule for rule in anywhere if rule[0] in "RA"} | rules_in(comments(text))
        cited.update(dict.fromkeys(anywhere, name))
    assert {rule[0] for rule in cited} == set("RSTUVZAK")
    assert {rule: name for rule, name in cited.items() if rule not in explained} == {}


def test_every_rule_of_the_older_generations_has_a_test_of_its_number(explained: set[str]) -> None:
    older = {rule for rule in explained if rule[0] in "STUVZK"}
    assert len(older) == 16 + 30 + 28 + 86 + 23 + 24
    assert sorted(older - rules_of_tests().keys()) == []


def test_every_cited_section_is_on_the_page() -> None:
    sections = re.findall(r"^(?:## |- \*\*)(§[\d.]*\d)", read("docs/rules.md"), re.MULTILINE)
    cited = {section: name for name, text in PROGRAMS.items() for section in re.findall(r"§\d[\d.]*(?<!\.)", text)}
    assert cited
    assert {section: name for section, name in cited.items() if section not in sections} == {}
