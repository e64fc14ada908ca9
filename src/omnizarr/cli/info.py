"""`omnizarr info`: describes an array or a group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from omnizarr.nodes import Array, Group

__all__ = ["command"]


@click.command()
@click.argument("location")
@click.option("--path", help="Path of the array or group in the store.")
@click.option("--complete", is_flag=True, help="Also show stored sizes and chunks (lists the store).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--no-consolidated", is_flag=True, help="Read each node's own metadata, not consolidated metadata.")
def command(location: str, path: str | None, complete: bool, as_json: bool, no_consolidated: bool) -> None:
    """Describe the array or group at LOCATION.

    For an array: shape, data type, chunks, codecs and attributes. For a group: members and attributes.
    """
    from omnizarr.api import open
    from omnizarr.cli.info_json import array_facts, group_facts
    from omnizarr.nodes import Array

    node = open(location, path=path, mode="r", use_consolidated=False if no_consolidated else None)
    if not as_json:
        _print_rows(_array_rows(node, complete) if isinstance(node, Array) else _group_rows(node, complete))
        return
    import json

    facts = array_facts(node, complete=complete) if isinstance(node, Array) else group_facts(node, complete=complete)
    # Attributes of other writers may contain NaN, which is not JSON: print it as a string.
    strict = json.loads(json.dumps(facts), parse_constant=str)
    click.echo(json.dumps(strict, indent=2))


def _array_rows(array: Array, complete: bool) -> Iterator[tuple[str, Any]]:
    for name, value in (array.info_complete() if complete else array.info).items:
        if name == "Store":
            yield name, array.store.location
        elif name != "Read-only":  # always true here, because this command opens read-only
            yield name, value
    yield "Attributes", array.attrs.asdict()


def _group_rows(group: Group, complete: bool) -> Iterator[tuple[str, Any]]:
    from omnizarr.cli.info_json import group_facts
    from omnizarr.display.texts import human_bytes

    facts = group_facts(group, complete=complete)
    kinds = [member.get("node_type", "unreadable") for member in facts["members"].values()]
    yield "Name", group.name
    yield "Type", "Group"
    yield "Zarr format", group.zarr_format
    yield "Store", group.store.location
    yield "Consolidated", "yes" if facts["consolidated"] else "no"
    counts = [(kinds.count("array"), "array"), (kinds.count("group"), "group")]
    texts = [f"{count} {kind}{'' if count == 1 else 's'}" for count, kind in counts if count]
    if "unreadable" in kinds:
        texts.append(f"{kinds.count('unreadable')} unreadable")
    yield "Members", ", ".join(texts) or "none"
    if complete:
        yield "Arrays below", facts["arrays"]
        for title, count in (("Size", facts["nbytes"]), ("Stored", facts["nbytes_stored"])):
            yield title, f"{human_bytes(count)} ({count} bytes)"
    yield "Unreadable", {name: member["error"] for name, member in facts["members"].items() if "error" in member}
    yield "Attributes", group.attrs.asdict()


def _print_rows(rows: Iterator[tuple[str, Any]]) -> None:
    """Prints one line per row; for a mapping one line per member, and nothing if it is empty."""
    from omnizarr.cli.terminal import row
    from omnizarr.display.terminal import printable

    shown = [(name, value) for name, value in rows if value != {}]
    width = max(len(name) for name, _ in shown)
    for name, value in shown:
        if not isinstance(value, dict):
            row(name.ljust(width), str(value))
            continue
        row(name.ljust(width), "")
        members = {printable(member): item for member, item in value.items()}
        inner = max(len(member) for member in members)
        for member, item in members.items():
            row(f"  {member.ljust(inner)}", _text(item))


def _text(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
