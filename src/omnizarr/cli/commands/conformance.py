"""`omnizarr conformance`: the interface that github.com/Bisaloo/zarr-conformance-tests expects of an implementation."""

from __future__ import annotations

import click

from omnizarr.cli.exit_codes import YES
from omnizarr.cli.output import write

__all__ = ["command"]


@click.command()
@click.option("--array_path", "--array-path", required=True, metavar="PATH", help="Path or URL of the array.")
def command(array_path: str) -> int:
    """Read one array and print its elements as JSON.

    The tests of github.com/Bisaloo/zarr-conformance-tests call every
    implementation like this. The exit code is 0 if the array can be read.

    \b
    Examples:
      omnizarr conformance --array_path=data/int32.zarr
      ZARR_CLI="omnizarr conformance" bats tests.bats
    """
    import json

    from omnizarr.tools import as_json, open_location

    array = open_location(array_path).array
    write(json.dumps(as_json(array[...]), ensure_ascii=False))
    return YES
