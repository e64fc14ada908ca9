"""`omnizarr serve`: serves locations over HTTP, until Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from omnizarr.cli.exit_codes import YES
from omnizarr.cli.options import StoreOptions, location_argument, output_options, store_options
from omnizarr.cli.output import Output

if TYPE_CHECKING:
    from omnizarr.serve.http_server import HttpServer

__all__ = ["command", "open_server", "server_options", "wait"]

F = TypeVar("F", bound=Callable[..., Any])
_PORT = 8765


def server_options(port: int) -> Callable[[F], F]:
    """Adds the options of the server: `--port` with this default, `--bind`, `--host-name` and `--allow-origin`."""
    decorators = (
        click.option(
            "--port", type=click.IntRange(0, 65535), default=port, show_default=True, help="0 picks a free one."
        ),
        click.option("--bind", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Address to listen on."),
        click.option(
            "--host-name",
            multiple=True,
            metavar="NAME",
            help="A name under which clients reach this server, besides localhost; may be repeated, '*' allows all.",
        ),
        click.option(
            "--allow-origin",
            multiple=True,
            default=("*",),
            metavar="ORIGIN",
            help="A site whose pages may read /data and /as, such as https://neuroglancer.org; default: all.",
        ),
    )

    def decorate(function: F) -> F:
        for each in reversed(decorators):
            function = each(function)
        return function

    return decorate


@click.command()
@location_argument("locations", nargs=-1, required=True)
@server_options(_PORT)
@store_options
@output_options(full=False)
def command(
    locations: tuple[str, ...],
    port: int,
    bind: str,
    host_name: tuple[str, ...],
    allow_origin: tuple[str, ...],
    storage: StoreOptions,
    output: Output,
) -> int:
    """Serve LOCATIONS over HTTP, read-only, until Ctrl-C.

    The first line of the output is the address. /data/KEY gives stored values;
    /as/v3/KEY and /as/v2/KEY give every generation as plain Zarr, for programs
    that read only one. With several locations, the name of one comes before KEY.

    \b
    Examples:
      omnizarr serve weather.zarr
      omnizarr serve weather.zarr --port 0
      omnizarr serve s3://bucket/old.zarr --anon --allow-origin https://viewer.example.org
    """
    server = open_server(locations, port, bind, host_name, allow_origin, storage)
    with server:
        address = server.address
        if output.form == "json":
            output.json({"address": address, "token": server.application.token})
        else:
            output.line(address)
            for title, place in (
                ("stored values", "data/"),
                ("as Zarr v3", "as/v3/"),
                ("as Zarr v2", "as/v2/"),
                ("viewer", f"?token={server.application.token}"),
            ):
                output.line(f"  {title:<15}{address}{place}")
        wait(server)
    return YES


def open_server(
    locations: tuple[str, ...],
    port: int,
    bind: str,
    host_name: tuple[str, ...],
    allow_origin: tuple[str, ...],
    storage: StoreOptions,
) -> HttpServer:
    """A server that listens, but does not answer yet."""
    from omnizarr.serve.application import Application
    from omnizarr.serve.http_server import HttpServer
    from omnizarr.serve.mounts import Site

    options, use_consolidated = storage
    site = Site.of(locations, storage_options=options, use_consolidated=use_consolidated)
    return HttpServer(Application(site, host_names=host_name, allow_origin=allow_origin), bind, port)


def wait(server: HttpServer) -> None:
    """Answers requests until Ctrl-C, which is the usual end of a server and no failure."""
    sys.stdout.flush()
    try:
        server.run()
    except KeyboardInterrupt:
        pass
