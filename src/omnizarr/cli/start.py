"""Suggested next commands, which `omnizarr` prints without arguments."""

from __future__ import annotations

import os
from itertools import islice

from omnizarr import __version__
from omnizarr.cli.output import write
from omnizarr.cli.styles import styled
from omnizarr.display.texts import printable

__all__ = ["print_start"]

_ENDINGS = (".zarr", ".n5", ".zarr.zip")
_MOST_ENTRIES = 1000  # of the current directory that are looked at


def print_start() -> None:
    """Prints a few commands, for the first hierarchy in the current directory if there is one."""
    here = _first_here()
    location = here or "LOCATION"
    rows = [
        ("See what it does", "omnizarr demo", ""),
        ("Look at data", f"omnizarr info {location}", "what it is"),
        ("", f"omnizarr tree {location}", "what it contains"),
        ("", f"omnizarr view {location}", "pictures, in the browser"),
        ("Convert and copy", f"omnizarr copy {location} TARGET", "to any place, chunks and generation"),
        ("", "omnizarr import FILE LOCATION", "from npy, csv, HDF5, netCDF, TIFF"),
        ("Check", f"omnizarr validate {location}", "against the rules of the format"),
        ("", "omnizarr doctor", "this installation"),
        ("In Python", f"omnizarr.open({here or 'location'!r})", "then z[:10], as in NumPy"),
    ]
    width = max(len(command) for _, command, _ in rows)
    write(styled(f"omnizarr {__version__}", "title") + "  chunked, compressed N-dimensional arrays in the Zarr format")
    write("")
    for title, command, note in rows:
        write(f"{styled(f'{title:<18}', 'name')}{command:<{width}}  {styled(note, 'dim')}".rstrip())
    write("")
    if here is None:
        write("LOCATION is a path or a URL: data.zarr, data.zip/temperature, s3://bucket/data.zarr")
    write("omnizarr --help lists all commands; https://omnizarr.github.io/omnizarr/ is the documentation.")


def _first_here() -> str | None:
    """The name of a hierarchy in the current directory, by its ending; the first in the alphabet."""
    try:
        with os.scandir() as entries:
            names = [entry.name for entry in islice(entries, _MOST_ENTRIES) if entry.name.endswith(_ENDINGS)]
    except OSError:
        return None
    return next((name for name in sorted(names) if " " not in name and printable(name) == name), None)
