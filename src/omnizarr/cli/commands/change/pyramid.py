"""`omnizarr pyramid`: makes lower resolutions of images and rasters."""

from __future__ import annotations

from typing import Any

import click

from omnizarr.cli.options import StoreOptions, location_argument, output_options, parse_pair, store_options
from omnizarr.cli.output import Output
from omnizarr.cli.plans import PlanOptions, plan_options, run_plan

__all__ = ["command"]


@click.command()
@location_argument()
@location_argument("target", required=False)
@click.option("--levels", type=click.IntRange(1), metavar="N", help="Reduced levels. Default: down to 256 elements.")
@click.option(
    "--method",
    type=click.Choice(["mean", "nearest", "mode", "max"]),
    help="What one element of a window of elements is. Default: mode for labels of OME-Zarr, else mean.",
)
@click.option("--ome", type=click.Choice(["0.4", "0.5"]), help="Write metadata of this version of OME-Zarr.")
@click.option("--geo", is_flag=True, help="Write metadata of GeoZarr.")
@click.option("--dims", metavar="NAMES", help="Dimensions to reduce: y,x. Default: the last two of space.")
@click.option("--axes", metavar="NAMES", help="All dimensions of an image without names: tczyx, or t,c,z,y,x.")
@click.option("--scale", metavar="NUMBERS", help="Size of a pixel, for OME-Zarr: y=0.5,x=0.5.")
@click.option("--units", metavar="NAMES", help="Units, for OME-Zarr: y=micrometer,x=micrometer.")
@click.option("--missing", metavar="VALUE", help="Value of missing elements. Default: that of the attributes.")
@click.option("--edges", type=click.Choice(["drop", "keep"]), help="What becomes of the last element of odd lengths.")
@click.option("--target-option", multiple=True, metavar="K=V", help="Option of the store of TARGET.")
@plan_options
@store_options
@output_options(full=False)
def command(
    location: str,
    target: str | None,
    levels: int | None,
    method: Any,
    ome: Any,
    geo: bool,
    dims: str | None,
    axes: str | None,
    scale: str | None,
    units: str | None,
    missing: str | None,
    edges: Any,
    target_option: tuple[str, ...],
    run_options: PlanOptions,
    storage: StoreOptions,
    output: Output,
) -> int:
    """Make lower resolutions of the image or the rasters at LOCATION.

    Each level is half as long as the one before. The levels lie beside
    LOCATION, in its group; a TARGET gets a copy of LOCATION as level 0, too.
    Missing elements (NaN, and those that the attributes name) do not count.
    The metadata are written last: OME-Zarr 0.4 for Zarr v2 and 0.5 for v3,
    or GeoZarr with --geo. Odd lengths are rounded down for OME-Zarr, as
    ome-zarr-py does, and up for GeoZarr, as GDAL does.

    \b
    Examples:
      omnizarr pyramid image.zarr --levels 4 --scale y=0.5,x=0.5
      omnizarr pyramid image.zarr/labels/cells --method mode
      omnizarr pyramid scan.zarr image.ome.zarr --ome 0.4 --axes zyx
      omnizarr pyramid weather.zarr overviews.zarr --geo --dims lat,lon
    """
    from omnizarr.tools import pyramid

    options: dict[str, Any] = dict(parse_pair(text, "--target-option") for text in target_option)
    plan = pyramid(
        storage.open(location, writable=target is None and not run_options.dry_run).node,
        target,
        levels=levels,
        method=method,
        ome=ome,
        geo=geo,
        dims=_names(dims),
        axes=_names(axes),
        scale=_pairs(scale, "--scale", float),
        units=_pairs(units, "--units", str),
        missing=_value(missing),
        edges=edges,
        force=run_options.force,
        resume=run_options.resuming,
        verify=run_options.verify,
        storage_options=options or None,
    )
    return run_plan(plan, run_options, output)


def _names(text: str | None) -> list[str] | None:
    """Names with commas between them, or of one letter each."""
    if text is None:
        return None
    return [name.strip() for name in text.split(",")] if "," in text else list(text)


def _pairs(text: str | None, option: str, kind: Any) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        pairs = [part.partition("=") for part in text.split(",")]
        return {name.strip(): kind(value) for name, _, value in pairs}
    except ValueError:
        raise click.BadParameter(f"expected values such as y=0.5,x=0.5, found {text!r}", param_hint=option) from None


def _value(text: str | None) -> Any:
    """A number if it is one, else the text."""
    if text is None:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
