"""The table of rules in the package, and that every rule which `validate` can name is in it."""

from __future__ import annotations

import importlib.util
import re

import pytest

from omnizarr.formats import dialect_for
from omnizarr.tools.validation.rules import _MENDS, mend, rules
from tests.pages import ROOT


def test_the_table_is_that_of_the_page() -> None:
    specification = importlib.util.spec_from_file_location("make_rules", ROOT / "docs/make_rules.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    assert rules() == module.rules(), "run `make tables`"


def test_every_rule_that_code_cites_is_in_the_table() -> None:
    cited = {
        rule
        for path in (ROOT / "src/omnizarr").rglob("*.py")
        for rule in re.findall(r'rule="([^"]+)"', path.read_text(encoding="utf-8"))
    }
    assert len(cited) > 80
    assert cited <= rules().keys()
    assert rules().keys() >= _MENDS.keys()


@pytest.mark.parametrize("zarr_format", [1, 2, 3, "3-draft-2020", "3-draft-2022", "n5"])
def test_every_generation_has_rules_for_members_chunks_and_places(zarr_format: object) -> None:
    table = dialect_for(zarr_format).rules
    named = {*table.members.values(), *table.codecs.values(), *table.hierarchy.values(), *table.keeps}
    assert named <= rules().keys()
    assert "" in table.members
    assert "" in table.codecs
    assert all(mend(rule) for rule in named)
