"""`omnizarr view`: opens the viewer in a browser."""

from __future__ import annotations

import sys
from importlib import import_module
from threading import Thread

import click

from omnizarr.cli.commands.serve import open_server, server_options, wait
from omnizarr.cli.exit_codes import YES
from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Output

__all__ = ["command"]


@click.command()
@location_argument("locations", nargs=-1, required=True)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@server_options(0)
@store_options
@output_options(full=False)
def command(
    locations: tuple[str, ...],
    no_browser: bool,
    port: int,
    bind: str,
    host_name: tuple[str, ...],
    allow_origin: tuple[str, ...],
    storage: StoreOptions,
    output: Output,
) -> int:
    """Show LOCATION, or compare two, in a browser, until Ctrl-C.

    The first line of the output is the address. It contains a token: every
    browser that sends the token can read LOCATION. Press ? in the page for its
    keys.

    \b
    Examples:
      omnizarr view weather.zarr
      omnizarr view weather.zarr/temperature
      omnizarr view old.zarr new.zarr
      omnizarr view s3://bucket/weather.zarr --anon --no-browser --port 9000
    """
    if len(locations) > 2:
        raise click.UsageError("give one location, or two to compare.")
    from omnizarr.serve.browser import open_page, tunnel_hint

    with open_server(locations, port, bind, host_name, allow_origin, storage) as server:
        address = f"{server.address}?token={server.application.token}"
        if output.form == "json":
            output.json({"address": address, "token": server.application.token})
        else:
            output.line(address)
            hint = tunnel_hint(server.port)
            if hint is not None:
                output.line(f"  from your own machine: {hint}", "dim")
        sys.stdout.flush()
        if not no_browser:
            open_page(address)
        # The first question would wait for these modules; the browser takes longer to ask it.
        Thread(target=import_module, args=("omnizarr.serve.api.questions",), daemon=True).start()
        wait(server)
    return YES
