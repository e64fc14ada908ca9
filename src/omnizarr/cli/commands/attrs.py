"""`omnizarr attrs`: shows and changes the attributes of a node."""

from __future__ import annotations

import click

from omnizarr.cli.exit_codes import NO, YES, message
from omnizarr.cli.options import (
    StoreOptions,
    dry_run_option,
    location_argument,
    output_options,
    parse_pair,
    store_options,
)
from omnizarr.cli.output import Output

__all__ = ["command"]


@click.group()
def command() -> None:
    """Show or change the attributes of an array or a group.

    \b
    Examples:
      omnizarr attrs get weather.zarr
      omnizarr attrs set weather.zarr/temperature units=K valid='[0, 400]'
      omnizarr attrs del weather.zarr history
      omnizarr attrs get weather.zarr/temperature units
    """


@command.command("get")
@location_argument()
@click.argument("name", required=False)
@store_options
@output_options()
def get(location: str, name: str | None, storage: StoreOptions, output: Output) -> int:
    """Print the attributes of the node at LOCATION, or the one called NAME.

    Text is printed as it is, other values as JSON. Exits with 1 if there is
    no such attribute.

    \b
    Examples:
      omnizarr attrs get weather.zarr
      omnizarr attrs get weather.zarr/temperature units
      omnizarr attrs get weather.zarr --json
    """
    attributes = storage.open(location).node.attrs.asdict()
    if name is None:
        if output.form == "json":
            output.json(attributes)
        else:
            output.fields(attributes.items(), keep_none=True)
        return YES
    if name not in attributes:
        from omnizarr._json import nearest

        hint = nearest(name, attributes)
        message("error", f"`{location}` has no attribute `{name}`" + (f"\n\nhint: {hint}" if hint else ""))
        return NO
    value = attributes[name]
    if output.form == "json":
        output.json(value)
    elif isinstance(value, str):
        for line in value.split("\n"):  # alone, a text may have several lines
            output.line(line)
    else:
        output.value(value)
    return YES


@command.command("set")
@location_argument()
@click.argument("pairs", nargs=-1, required=True, metavar="NAME=VALUE...")
@dry_run_option
@store_options
@output_options()
def set_(location: str, pairs: tuple[str, ...], dry_run: bool, storage: StoreOptions, output: Output) -> int:
    """Set attributes of the node at LOCATION.

    A value is JSON if it can be, else text.

    \b
    Examples:
      omnizarr attrs set weather.zarr/temperature units=K valid='[0, 400]'
    """
    node = storage.open(location, writable=not dry_run).node
    values = dict(parse_pair(pair, "NAME=VALUE") for pair in pairs)
    if not dry_run:
        node.attrs.update(values)
    elif output.form != "json":
        output.line("would set")
    output.json(values) if output.form == "json" else output.fields(values.items(), keep_none=True)
    return YES


@command.command("del")
@location_argument()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@dry_run_option
@store_options
@output_options()
def delete(location: str, names: tuple[str, ...], dry_run: bool, storage: StoreOptions, output: Output) -> int:
    """Remove attributes of the node at LOCATION.

    Exits with 1, and removes nothing, if one of them does not exist.

    \b
    Examples:
      omnizarr attrs del weather.zarr history
    """
    node = storage.open(location, writable=not dry_run).node
    missing = [name for name in names if name not in node.attrs]
    if missing:
        message("error", f"`{location}` has no attribute `{missing[0]}`")
        return NO
    if not dry_run:
        node.attrs.put({name: value for name, value in node.attrs.asdict().items() if name not in names})
    output.json(list(names)) if output.form == "json" else output.line(
        f"{'would remove' if dry_run else 'removed'} {', '.join(names)}"
    )
    return YES
