"""`omnizarr advise`: proposals for chunks, shards and codecs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from omnizarr.cli.exit_codes import YES
from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Column, Output
from omnizarr.cli.progress import progress

if TYPE_CHECKING:
    from omnizarr.tools.advice import Proposal

__all__ = ["command"]

_COLUMNS = (
    Column("", "name"),
    Column("chunks"),
    Column("shards", rank=1),
    Column("codecs"),
    Column("ratio", right=True),
    Column("encode", right=True, rank=3),
    Column("decode", right=True, rank=2),
    Column("files", right=True),
    Column("decoded", right=True, rank=1),
    Column("chunks read", right=True, rank=4),
    Column("time", right=True),
)


@click.command()
@location_argument()
@click.option(
    "--access", multiple=True, metavar="DIMS", help="How the array is read, such as time,lat:10; may be repeated."
)
@store_options
@output_options()
def command(location: str, access: tuple[str, ...], storage: StoreOptions, output: Output) -> int:
    """Propose how to store the array at LOCATION for certain reads.

    --access time,lat:10 means reads of all of `time`, 10 of `lat`, and one of
    every other dimension. Ratio and speed are measured on a sample of the
    data. The first row is the present state.

    \b
    Examples:
      omnizarr advise weather.zarr/temperature --access time
      omnizarr advise weather.zarr/temperature --access lat,lon --access time
    """
    from omnizarr.tools import advise

    array = storage.open(location).array
    with progress("measuring") as report:
        advice = advise(array, access, progress=report)
    if output.form == "json":
        output.json(advice)
        return YES
    rows = [_row("now", advice.present), *(_row("", proposal) for proposal in advice.proposals)]
    output.table(_COLUMNS, rows, noun="proposals")
    best = advice.proposals[0]
    if best.seconds < 0.8 * advice.present.seconds:
        factor = advice.present.seconds / best.seconds
        output.line(f"the first proposal needs about 1/{factor:,.1f} of the present time per read", "good")
    else:
        output.line("the present state fits these reads", "good")
    return YES


_PLAIN = {"name": "bytes", "configuration": {"endian": "little"}}
"""The serializer of nearly every array, which the table leaves out."""


def _row(name: str, proposal: Proposal) -> list[str]:
    from omnizarr.cli.texts import lengths_text
    from omnizarr.display.texts import human_bytes

    return [
        name,
        lengths_text(proposal.chunks),
        "" if proposal.shards is None else lengths_text(proposal.shards),
        ", ".join(_codec_text(codec) for codec in proposal.codecs if codec != _PLAIN) or "none",
        f"{proposal.ratio:.2f}",
        f"{human_bytes(int(proposal.encode_rate))}/s",
        f"{human_bytes(int(proposal.decode_rate))}/s",
        f"{proposal.files:,}",
        f"{proposal.amplification:,.1f} ×",
        f"{proposal.reads:,}",
        f"{1000 * proposal.seconds:,.1f} ms",
    ]


def _codec_text(codec: Any) -> str:
    configuration = codec.get("configuration", {})
    parts = [str(configuration[name]) for name in ("cname", "clevel", "shuffle", "level") if name in configuration]
    return f"{codec['name']}({' '.join(parts)})" if parts else str(codec["name"])
