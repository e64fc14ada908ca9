"""`omnizarr repair`: moves unreadable values to the quarantine, and finishes or reverts what crashed writers left
unfinished."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnizarr.cli.exit_codes import NO, YES
from omnizarr.cli.options import StoreOptions, dry_run_option, location_argument, output_options, store_options
from omnizarr.cli.output import Output
from omnizarr.cli.progress import progress

if TYPE_CHECKING:
    from omnizarr.tools import RepairResult

__all__ = ["command"]

_ALL = "all"


@click.command()
@location_argument()
@dry_run_option
@click.option("--no-data", is_flag=True, help="Do not decode the chunks.")
@click.option("--force", is_flag=True, help="Take chunks away even if most of an array cannot be decoded.")
@click.option(
    "--undo",
    metavar="NAME",
    is_flag=False,
    flag_value=_ALL,
    help="Put back what the quarantine NAME holds; without a name, what all hold.",
)
@click.option("--zarr-format", metavar="FORMAT", help="Repair this generation, where documents of several lie.")
@store_options
@output_options(full=False)
def command(
    location: str,
    dry_run: bool,
    no_data: bool,
    force: bool,
    undo: str | None,
    zarr_format: str | None,
    storage: StoreOptions,
    output: Output,
) -> int:
    """Repair the arrays and groups at LOCATION.

    Chunks that cannot be decoded and documents that are no JSON move to a
    quarantine in the same store; --undo puts them back. Of a shard, the
    inner chunks that can be decoded stay. Files of crashed writers are
    removed, shrinks and appends that they left are ended, and consolidated
    metadata that differ are rebuilt. The exit code is 0 if all is sound
    afterwards, else 1.

    \b
    Examples:
      omnizarr repair weather.zarr --dry-run
      omnizarr repair weather.zarr
      omnizarr repair weather.zarr --undo
    """
    from omnizarr.cli.plans import parse_format
    from omnizarr.tools import repair, restore

    options: dict[str, Any] = {"dry_run": dry_run, "storage_options": storage.storage_options}
    if undo is not None:
        restored = restore(location, None if undo == _ALL else undo, **options)
        if output.form == "json":
            output.json(restored)
        else:
            for key in restored.kept:
                output.line(
                    f"kept {key}: another writer has changed it since; its old value stays in quarantine", "bad"
                )
            verb = "would put back" if dry_run else "put back"
            output.line(f"{verb} {len(restored.restored):,} values", "good")
        return NO if restored.kept else YES
    with progress("checking") as report:
        result = repair(
            location, zarr_format=parse_format(zarr_format), data=not no_data, force=force, progress=report, **options
        )
    if output.form == "json":
        output.json(result)
    else:
        _print(result, output)
    return NO if result.unrepaired or (dry_run and not result.sound) else YES


def _print(result: RepairResult, output: Output) -> None:
    for one in result.repairs:
        output.line(f"{one.kind} {one.key or one.path}", "warning")
        output.paragraph("  found: ", one.message)
        output.paragraph("  would be: " if result.dry_run else "  done:  ", one.action)
    for left in result.unrepaired:
        output.line(f"not repaired {left.key or left.path}", "bad")
        output.paragraph("  found: ", left.message)
        output.paragraph("  hint:  ", left.hint)
    decoded = f", {result.chunks:,} chunks decoded" if result.chunks else ""
    if result.sound:
        output.line(f"sound{decoded}", "good")
        return
    verb = "would repair" if result.dry_run else "repaired"
    left_over = f", {len(result.unrepaired):,} not" if result.unrepaired else ""
    output.line(f"{verb} {len(result.repairs):,}{left_over}{decoded}", "bad" if result.unrepaired else "good")
    if result.quarantine is not None:
        output.line(
            f"quarantine {result.quarantine}: `omnizarr repair LOCATION --undo {result.quarantine}` puts it back"
        )
