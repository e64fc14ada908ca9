"""`omnizarr validate`: checks a hierarchy against the rules of the format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnizarr.cli.exit_codes import NO, YES
from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Output
from omnizarr.cli.progress import progress

if TYPE_CHECKING:
    from omnizarr.tools import FixResult
    from omnizarr.tools.validation import Finding, Report

__all__ = ["command"]

_MOST = 50  # findings on a terminal


@click.command()
@location_argument()
@click.option("--strict", is_flag=True, help="Count warnings as errors: what is read although a rule forbids it.")
@click.option("--data", is_flag=True, help="Decode every chunk, and look for keys that belong to no node.")
@click.option(
    "--convention",
    "conventions",
    multiple=True,
    type=click.Choice(["cf", "ome", "geozarr", "anndata"]),
    help="Check what a convention adds; may be repeated.",
)
@click.option("--readers", is_flag=True, help="Tell which other programs can read it, and why not.")
@click.option("--advice", is_flag=True, help="Also show what rules only recommend.")
@click.option("--fix", is_flag=True, help="Fix documents first, where that has one meaning and loses nothing.")
@click.option("--dry-run", is_flag=True, help="With --fix: show what would change, and change nothing.")
@click.option("--zarr-format", metavar="FORMAT", help="Check this generation, where documents of several lie.")
@store_options
@output_options()
def command(
    location: str,
    strict: bool,
    data: bool,
    conventions: tuple[str, ...],
    readers: bool,
    advice: bool,
    fix: bool,
    dry_run: bool,
    zarr_format: str | None,
    storage: StoreOptions,
    output: Output,
) -> int:
    """Check the arrays and groups at LOCATION against the rules of the format.

    Every finding has the number of its rule, its place, what was found and
    how to fix it. The exit code is 0 if there are no errors, else 1. --fix
    corrects documents before the check; `omnizarr repair --undo` puts the old
    ones back, and repairs chunks.

    \b
    Examples:
      omnizarr validate weather.zarr
      omnizarr validate weather.zarr --data
      omnizarr validate image.ome.zarr --convention ome --strict
      omnizarr validate weather.zarr --readers
      omnizarr validate weather.zarr --fix --dry-run
    """
    from omnizarr.errors import NodeNotFoundError
    from omnizarr.tools.locations import node_not_found
    from omnizarr.tools.validation import validate

    if dry_run and not fix:
        raise click.UsageError("--dry-run needs --fix.")
    number = int(zarr_format) if zarr_format is not None and zarr_format.isdigit() else zarr_format
    fixed: FixResult | None = None
    if fix:
        from omnizarr.tools import fix as fix_documents

        fixed = fix_documents(
            location,
            zarr_format=number,  # type: ignore[arg-type]
            dry_run=dry_run,
            storage_options=storage.storage_options,
        )
    with progress("checking") as report_progress:
        try:
            report = validate(
                location,
                zarr_format=number,  # type: ignore[arg-type]
                strict=strict,
                data=data,
                conventions=conventions,
                readers=readers,
                storage_options=storage.storage_options,
                progress=report_progress,
            )
        except NodeNotFoundError as error:
            raise node_not_found(location, storage.storage_options or None, error) from None
    if output.form == "json":
        output.json(report if fixed is None else {"fix": fixed, "report": report})
    else:
        if fixed is not None:
            _print_fixes(fixed, output)
        _print(report, output, advice=advice)
    return YES if report.valid else NO


def _print(report: Report, output: Output, *, advice: bool) -> None:
    shown = [finding for finding in report.findings if advice or finding.level != "advice"]
    cut = shown[:_MOST] if output.cuts else shown
    for finding in cut:
        _print_finding(finding, output)
    if len(cut) < len(shown):
        output.line(f"… and {len(shown) - len(cut):,} more (--full shows all)", "dim")
    if report.readers:
        output.line("Readers", "name")
        for reader in report.readers:
            reasons = f": {'; '.join(reader.reasons)}" if reader.reasons else ""
            output.paragraph(
                f"  {'yes' if reader.reads else 'no '}  ",
                f"{reader.program} {reader.versions}{reasons}",
                "good" if reader.reads else "bad",
            )
    output.line(_summary(report, advice), "good" if report.valid else "bad")


def _print_fixes(result: FixResult, output: Output) -> None:
    for one in result.fixes:
        output.line(f"{'would fix' if result.dry_run else 'fixed'} {one.key} ({', '.join(one.rules)})", "good")
        for line in one.diff.splitlines():
            output.line(f"  {line}", "good" if line.startswith("+") else "bad" if line.startswith("-") else "dim")
    if not result.fixes:
        output.line("nothing to fix without loss")
    if result.backup is not None:
        output.line(f"`omnizarr repair LOCATION --undo {result.backup}` puts the old documents back")


def _print_finding(finding: Finding, output: Output) -> None:
    place = finding.path if finding.key is None else finding.key
    if finding.place not in (None, "$"):
        place = f"{place} {finding.place}"
    styles = {"error": "bad", "warning": "warning", "advice": "dim"}
    output.line(f"{finding.level} {finding.rule} {place}", styles[finding.level])  # type: ignore[arg-type]
    kind = "" if finding.kind in ("document", "hierarchy", "convention") else f"{finding.kind}: "
    output.paragraph("  found: ", f"{kind}{finding.message}")
    output.paragraph("  fix:   ", finding.mend)


def _summary(report: Report, advice: bool) -> str:
    parts = [_count(report.arrays, "array"), _count(report.groups, "group")]
    if report.chunks is not None:
        parts.append(_count(report.chunks, "chunk"))
    counts = [_count(report.errors, "error"), _count(report.warnings, "warning")]
    if report.advice:
        more = "" if advice else " (--advice shows it)"
        counts.append(f"{report.advice} × advice{more}")
    verdict = "valid" if report.valid else "not valid"
    return f"{report.generation}, {', '.join(parts)}: {verdict}; {', '.join(counts)}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
