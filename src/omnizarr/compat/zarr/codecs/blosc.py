"""BloscCname, BloscCodec, BloscShuffle."""

from __future__ import annotations

from omnizarr.compat.zarr.codecs._classes import BloscCname, BloscCodec, BloscShuffle

__all__ = ["BloscCname", "BloscCodec", "BloscShuffle"]
