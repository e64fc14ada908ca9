"""Summaries and trees on terminals."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

import omnizarr


def printed(shown: Any) -> str:
    output = StringIO()
    Console(file=output, width=120).print(shown)
    return output.getvalue()


def test_an_array() -> None:
    z = omnizarr.create_array({}, shape=(4, 6), dtype="f4", attributes={"units": "K\x1b[31m"})
    text = printed(z)
    assert "(4, 6)" in text
    assert r"K\x1b[31m" in text
    assert "\x1b" not in text


def test_all_values_begin_in_one_column() -> None:
    for node in (omnizarr.create_group({}), omnizarr.create_array({}, shape=4, dtype="f4")):
        node.attrs.update({"x": "VALUE", "a long name of an attribute": "VALUE"})
        lines = printed(node).splitlines()
        columns = {line.index("VALUE") for line in lines if "VALUE" in line}
        assert columns == {next(line for line in lines if "Zarr format" in line).index("3")}
        assert sum("Attributes" in line for line in lines) == 1


def test_names_of_attributes_are_text() -> None:
    z = omnizarr.create_array({}, shape=(4,), dtype="f4", attributes={"\x1b[31m": 1, "[/bold]": 2, "[red]x": 3})
    text = printed(z)
    assert "\x1b" not in text
    assert all(name in text for name in (r"\x1b[31m", "[/bold]", "[red]x"))


def test_long_and_many_attributes_are_cut() -> None:
    attributes = {"long": "x" * 100_000} | {f"a{number}": 0 for number in range(5000)}
    z = omnizarr.create_array({}, shape=(4,), dtype="f4", attributes=attributes)
    assert len(printed(z)) < 100_000
    assert "more" in printed(z)
    assert len(z._repr_html_()) < 100_000
    assert "more" in z._repr_html_()


def test_groups() -> None:
    store = omnizarr.MemoryStore()
    group = omnizarr.create_group(store, attributes={"title": "x"})
    group.create_array("a/b", shape=(4, 6), dtype="f4")
    assert "Zarr format" in printed(group)
    omnizarr.consolidate_metadata(store)
    assert "b (4, 6) float32" in printed(omnizarr.open_group(store, mode="r", use_consolidated=True))
    assert "b (4, 6) float32" in printed(group.tree())


def test_the_summary_of_a_group() -> None:
    group = omnizarr.create_group({}, attributes={"title": "x"})
    group.create_array("a/b", shape=(4, 6), dtype="f4")
    group.store.set("c/zarr.json", b"{")
    items = dict(group.info_complete().items)
    assert (items["Arrays below"], items["Groups below"], items["Unreadable"], items["Attributes"]) == (1, 1, 1, 1)
    assert items["Size"] == "96 B (96 bytes)"
    assert set(group.info.items) <= set(items.items())
    assert "Arrays below" in printed(group.info_complete())
