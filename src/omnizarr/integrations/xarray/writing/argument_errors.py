"""Errors about arguments that are also of the types that `to_zarr` of xarray raises."""

from __future__ import annotations

from omnizarr.errors import ArgumentError

__all__ = ["ArgumentKeyError", "ArgumentTypeError"]


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of the wrong type."""


class ArgumentKeyError(ArgumentError, KeyError):
    """An argument that names what does not exist."""

    __str__ = ArgumentError.__str__  # that of KeyError shows quotes
