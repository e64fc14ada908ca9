"""Parameters that several commands have: the location, the options of its store, and the form of the output."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from omnizarr.cli.output import Form, Output

if TYPE_CHECKING:
    from omnizarr.tools import OpenLocation

__all__ = ["StoreOptions", "dry_run_option", "location_argument", "output_options", "parse_pair", "store_options"]

F = TypeVar("F", bound=Callable[..., Any])


class StoreOptions(NamedTuple):
    """The options of a store, from the command line."""

    storage_options: dict[str, Any]
    use_consolidated: bool | None

    def open(self, location: str, *, select: bool = False, writable: bool = False) -> OpenLocation:
        """Opens a location with these options."""
        from omnizarr.tools import open_location

        storage_options, use_consolidated = self
        return open_location(
            location,
            storage_options=storage_options,
            use_consolidated=use_consolidated,
            select=select,
            writable=writable,
        )


def location_argument(name: str = "location", **attributes: Any) -> Callable[[F], F]:
    """The argument LOCATION, with shell completion."""
    from omnizarr.cli.completion import complete_location

    return click.argument(name, shell_complete=complete_location, **attributes)


def parse_pair(text: str, option: str = "--option") -> tuple[str, Any]:
    """A name and its value from `K=V`, an argument of `option`; the value is JSON if it can be."""
    import json

    name, separator, value = text.partition("=")
    if not separator or not name:
        raise click.BadParameter(f"expected K=V, found {text!r}", param_hint=option)
    try:
        return name, json.loads(value)  # numbers, `true`, objects
    except ValueError:
        return name, value


def store_options(function: F) -> F:
    """Adds `--anon`, `--endpoint`, `--region`, `--option` and `--no-consolidated`; the function gets `storage`."""

    def call(
        *arguments: Any,
        anon: bool,
        endpoint: str | None,
        region: str | None,
        option: tuple[str, ...],
        no_consolidated: bool,
        **keywords: Any,
    ) -> Any:
        storage = dict(parse_pair(text) for text in option)
        storage |= {"anon": True} if anon else {}
        storage |= {"endpoint": endpoint} if endpoint is not None else {}
        storage |= {"region": region} if region is not None else {}
        return function(*arguments, storage=StoreOptions(storage, False if no_consolidated else None), **keywords)

    _keep_name(call, function)
    decorators = (
        click.option("--anon", is_flag=True, help="Send no credentials, for public buckets."),
        click.option("--endpoint", metavar="URL", help="Address of the server, such as http://127.0.0.1:9000."),
        click.option("--region", metavar="NAME", help="Region of the bucket."),
        click.option("--option", multiple=True, metavar="K=V", help="Another option of the store; may be repeated."),
        click.option("--no-consolidated", is_flag=True, help="Read the metadata of each node, not its copy."),
    )
    for decorate in reversed(decorators):
        call = decorate(call)
    return call  # type: ignore[return-value]


def dry_run_option(function: F) -> F:
    """Adds `--dry-run`."""
    return click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")(function)


def output_options(*, jsonl: bool = False, full: bool = True) -> Callable[[F], F]:
    """Adds `--json` and, if asked for, `--jsonl` and `--full`; the function gets `output`."""

    def decorate(function: F) -> F:
        def call(*arguments: Any, as_json: bool, as_jsonl: bool = False, full: bool = False, **keywords: Any) -> Any:
            if as_json and as_jsonl:
                raise click.UsageError("--json and --jsonl exclude each other.")
            form: Form = "json" if as_json else "jsonl" if as_jsonl else "text"
            return function(*arguments, output=Output(form, full=full), **keywords)

        _keep_name(call, function)
        if full:
            call = click.option("--full", is_flag=True, help="Do not cut long values and listings on a terminal.")(call)
        if jsonl:
            call = click.option("--jsonl", "as_jsonl", is_flag=True, help="Print one JSON object per line.")(call)
        call = click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")(call)
        return call  # type: ignore[return-value]

    return decorate


def _keep_name(wrapper: Any, function: Any) -> None:
    """Gives a wrapper the name, the help text and the parameters of the function."""
    from functools import update_wrapper

    update_wrapper(wrapper, function)
