"""`omnizarr migrate`: turns a hierarchy of one generation into one of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnizarr.cli.exit_codes import YES
from omnizarr.cli.options import StoreOptions, location_argument, output_options, parse_pair, store_options
from omnizarr.cli.output import Column, Output
from omnizarr.cli.plans import FORMATS, PlanOptions, parse_format, plan_options, run_plan

if TYPE_CHECKING:
    from omnizarr.tools import MigrationPlan

__all__ = ["command"]


@click.command()
@location_argument()
@location_argument("target", required=False)
@click.option("--to", type=click.Choice(FORMATS), required=True, help="The new generation.")
@click.option("--accept-losses", is_flag=True, help="Migrate even if something cannot be expressed.")
@click.option("--remove-old", is_flag=True, help="In place, erase the old documents and objects afterwards.")
@click.option("--include", multiple=True, metavar="PATTERN", help="Migrate only nodes with such a name or path.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out nodes with such a name or path.")
@click.option("--target-option", multiple=True, metavar="K=V", help="Option of the store of TARGET.")
@plan_options
@store_options
@output_options()
def command(
    location: str,
    target: str | None,
    to: str,
    accept_losses: bool,
    remove_old: bool,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    target_option: tuple[str, ...],
    run_options: PlanOptions,
    storage: StoreOptions,
    output: Output,
) -> int:
    """Turn the hierarchy at LOCATION into one of another generation.

    Each array takes the cheapest way: new metadata alone, the same objects
    under other keys (rename), the same encoded chunks in other objects
    (repack), or encoding again. The ways are printed before anything is
    written, and --dry-run only prints them.

    Without TARGET, the hierarchy is migrated in place: readers see the old
    one until a single write or erasure makes them see the new one, and
    --remove-old erases what is left of the old one. What the new generation
    cannot express is listed, and needs --accept-losses.

    \b
    Examples:
      omnizarr migrate old.zarr --to 3 --dry-run
      omnizarr migrate old.zarr --to 3 --remove-old
      omnizarr migrate data.n5 s3://bucket/data.zarr --to 3
    """
    from omnizarr.tools import migrate

    if target is None:  # in place, only the documents of the nodes themselves count
        storage = storage._replace(use_consolidated=False)
    plan = migrate(
        storage.open(location, writable=target is None).node,
        target,
        to=parse_format(to),
        accept_losses=accept_losses,
        remove_old=remove_old,
        include=include,
        exclude=exclude,
        force=run_options.force,
        resume=run_options.resuming,
        verify=run_options.verify,
        storage_options=dict(parse_pair(text, "--target-option") for text in target_option) or None,
    )
    if output.form == "text":
        _show(plan, output)
    elif run_options.dry_run:
        output.json({"plan": plan.describe(), "arrays": plan.arrays, "losses": plan.losses})
        return YES
    return run_plan(plan, run_options, output)


def _show(plan: MigrationPlan, output: Output) -> None:
    """The way of each array, the cheapest ones as a number only."""
    counts = {way: count for way, count in plan.counts().items() if count}
    if counts:
        output.line("arrays: " + ", ".join(f"{count:,} {way}" for way, count in counts.items()))
    rows = [[array.path or "/", array.way, array.reason] for array in plan.arrays if array.way != "metadata"]
    if rows:
        output.table([Column("array"), Column("way"), Column("because")], rows)
