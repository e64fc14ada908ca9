"""Loaders: batches of samples from arrays, for programs that train models."""

from __future__ import annotations

from omnizarr.loaders.forms import as_form
from omnizarr.loaders.loader import Loader
from omnizarr.loaders.map_style import Samples
from omnizarr.loaders.rows import Rows
from omnizarr.loaders.sources import SampleSource, check_arrays
from omnizarr.loaders.windows import Windows, window_axes

__all__ = ["Loader", "Rows", "SampleSource", "Samples", "Windows", "as_form", "check_arrays", "window_axes"]
