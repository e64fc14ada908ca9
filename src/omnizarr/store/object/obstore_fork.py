"""The obstore library, usable in a forked process.

Its requests run in threads that a forked child does not have, and parent and child would share one epoll descriptor: a
request in the child would hang, and make the parent hang. A child therefore loads a second copy of the library, which
shares nothing with the first, and does not use the first.
"""

from __future__ import annotations

import os
import sys
import threading
from types import ModuleType
from typing import Any

from omnizarr.errors import LocationError, MissingDependencyError

__all__ = ["in_this_process", "obstore"]

_lock = threading.RLock()
_stale: list[dict[str, ModuleType]] = []
"""Copies of the library that belong to parent processes; kept, because they must not be destroyed."""
_forked = False


def _mark_in_child() -> None:
    global _lock, _forked
    _lock = threading.RLock()
    _forked = _forked or "obstore._obstore" in sys.modules


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark_in_child)


def obstore() -> Any:
    """The library, in the copy for this process."""
    global _forked
    if _forked:
        with _lock:
            if _forked:
                _load_again()
                _forked = False
    try:
        import obstore.store
    except ImportError:
        raise MissingDependencyError("a bucket or a web address", "omnizarr[obstore]") from None
    return obstore


def _load_again() -> None:
    import shutil
    import tempfile
    from importlib.machinery import ExtensionFileLoader
    from importlib.util import module_from_spec, spec_from_file_location

    name = "obstore._obstore"
    old = {known: sys.modules.pop(known) for known in list(sys.modules) if known.partition(".")[0] == "obstore"}
    _stale.append(old)
    with tempfile.TemporaryDirectory(prefix="omnizarr-") as folder:  # a loaded library does not need its file
        # The system identifies a library by its file, so that a copy is another library.
        copy = shutil.copy(str(old[name].__file__), folder)
        loader = ExtensionFileLoader(name, copy)
        spec = spec_from_file_location(name, copy, loader=loader)
        assert spec is not None
        module = module_from_spec(spec)
        sys.modules[name] = module
        loader.exec_module(module)
        module.__file__ = old[name].__file__


def in_this_process(client: Any) -> Any:
    """A client that the user created before the fork, created again from its arguments."""
    library = obstore()
    kind = type(client)
    again = getattr(library.store, kind.__name__, None)
    if again is kind or kind.__module__.partition(".")[0] not in ("obstore", "builtins"):
        return client
    if again is None or not hasattr(client, "__getnewargs_ex__") or kind.__name__ == "MemoryStore":
        raise LocationError(
            f"this {kind.__name__} was created before the process was forked and cannot be used in the child",
            hint="open it again in the child, or start processes by `spawn`",
        )
    arguments, keywords = client.__getnewargs_ex__()
    return again(*arguments, **keywords)
