"""`functools.cached_property` without the lock that it has until Python 3.11.

That lock belongs to the class, not to the object. A child that was forked while another thread computed such a property
would wait for it forever, in the same property of any object.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:
        """A property that is computed once per object and kept in its `__dict__`. Two threads may both compute it."""

        def __init__(self, function: Any) -> None:
            self._function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            if instance is None:
                return self
            value = self._function(instance)
            # The first value counts, so that all threads use the same object.
            return instance.__dict__.setdefault(self._name, value)
