"""`RuleTable`: the numbers of the rules of one generation, for the problems that parsers find in its documents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from omnizarr.errors import Problem

__all__ = ["Placement", "RuleTable"]

_MEMBER = re.compile(r"\$(?:\(([^)]*)\))?\.?([^.\[]*)")


Placement = Literal["json", "duplicate", "orphan", "foreign", "child", "group", "consolidated", "other generation"]
"""`json`: what a document is. `duplicate`: repeated members. `orphan`: a chunk outside the grid. `foreign`: a key that
belongs to no node. `child`: a node below an array. `group`: a group without a document. `consolidated`: consolidated
metadata that differs from the documents. `other generation`: documents of two generations at one path."""


@dataclass(frozen=True, slots=True)
class RuleTable:
    """The rule of each member of the documents of a generation.

    Generations share parsers, which cite the rules of one of them. A cited rule counts if it belongs to the generation;
    otherwise `translations`, then the member in which the problem lies, give the rule."""

    letters: str
    """The letters of the generation's rules."""
    members: Mapping[str, str]
    """The rule of each member. Names in parentheses are documents, such as `(.zattrs)`; "" is the whole document."""
    keeps: frozenset[str] = frozenset()
    """Rules of other letters that hold for this generation."""
    translations: Mapping[str, str] = field(default_factory=dict)
    codecs: Mapping[str, str] = field(default_factory=dict)
    """The rule that a damaged chunk breaks, by the name of the codec that rejects it; "" stands for all others."""
    hierarchy: Mapping[Placement, str] = field(default_factory=dict)
    """The rules about what lies where in a hierarchy."""

    def of(self, problem: Problem) -> str:
        """The number of the rule that a problem breaks."""
        rule = problem.rule
        if rule is not None:
            if rule[0] in self.letters or rule in self.keeps:
                return rule
            if rule in self.translations:
                return self.translations[rule]
        match = _MEMBER.match(problem.path)
        document, member = (match[1], match[2]) if match else (None, "")
        if document:
            return self.members[f"({document})"]
        return self.members.get(member, self.members[""])
