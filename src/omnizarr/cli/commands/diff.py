"""`omnizarr diff`: compares two hierarchies or arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from omnizarr.cli.exit_codes import NO, YES
from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Output
from omnizarr.cli.progress import progress

if TYPE_CHECKING:
    from omnizarr.tools import Diff

__all__ = ["command"]

_MOST = 100  # differences on a terminal


@click.command()
@location_argument("first")
@location_argument("second")
@click.option(
    "--data-only", is_flag=True, help="Compare elements, not attributes, names of dimensions and fill values."
)
@click.option("--rtol", type=float, default=0.0, metavar="R", help="Relative tolerance of numbers (default: 0).")
@click.option("--atol", type=float, default=0.0, metavar="A", help="Absolute tolerance of numbers (default: 0).")
@click.option("--equal-nan", is_flag=True, help="NaNs of different bits are equal, too.")
@store_options
@output_options()
def command(
    first: str,
    second: str,
    data_only: bool,
    rtol: float,
    atol: float,
    equal_nan: bool,
    storage: StoreOptions,
    output: Output,
) -> int:
    """Compare the arrays and groups at FIRST and SECOND: metadata, then elements.

    Chunks, codecs, the store and the generation do not count. Chunks whose
    stored bytes are identical are not decoded. The exit code is 0 if both are
    equal, else 1.

    \b
    Examples:
      omnizarr diff old.zarr new.zarr
      omnizarr diff a.zarr/temperature b.zarr/temperature --atol 1e-6
      omnizarr diff a.zarr s3://bucket/a.zarr --data-only
    """
    from omnizarr.tools import diff

    with progress("comparing", bytes=True) as report:
        result = diff(
            storage.open(first).node,
            storage.open(second).node,
            data_only=data_only,
            rtol=rtol,
            atol=atol,
            equal_nan=equal_nan,
            progress=report,
        )
    if output.form == "json":
        output.json(result)
    else:
        _print(result, output)
    return YES if result.equal else NO


def _print(result: Diff, output: Output) -> None:
    from omnizarr._json import describe
    from omnizarr.display.texts import human_bytes

    lines = [
        (f"{item.path} {item.place}: ", f"{describe(item.first)} | {describe(item.second)}") for item in result.metadata
    ]
    for item in result.data:
        index = ", ".join(map(str, item.index))
        largest = "" if item.largest is None else f"; largest difference {item.largest:g}"
        lines.append(
            (
                f"{item.path}[{index}]: ",
                f"{item.first} | {item.second}; {item.count:,} of {item.size:,} elements differ{largest}",
            )
        )
    shown = lines[:_MOST] if output.cuts else lines
    for place, text in shown:
        output.paragraph(place, text, "name")
    if len(shown) < len(lines):
        output.line(f"… and {len(lines) - len(shown):,} more (--full shows all)", "dim")
    identical = f", {human_bytes(result.identical_bytes)} of them stored identically" if result.identical_bytes else ""
    arrays = "1 array" if result.arrays == 1 else f"{result.arrays:,} arrays"
    verdict = "equal" if result.equal else "different"
    output.line(
        f"{verdict}: compared {arrays}, {human_bytes(result.compared_bytes)}{identical}",
        "good" if result.equal else "bad",
    )
