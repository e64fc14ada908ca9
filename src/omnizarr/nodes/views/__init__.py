"""Lazy views: selections of arrays, and arrays side by side, that are read when their elements are needed."""

from omnizarr.nodes.views.concat import Concatenation
from omnizarr.nodes.views.view import LazyView

__all__ = ["Concatenation", "LazyView"]
