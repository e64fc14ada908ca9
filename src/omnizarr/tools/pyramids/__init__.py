"""Pyramids: images and rasters at several resolutions, with the metadata of OME-Zarr or GeoZarr."""

from omnizarr.tools.pyramids.plan import pyramid
from omnizarr.tools.pyramids.reduce import METHODS

__all__ = ["METHODS", "pyramid"]
