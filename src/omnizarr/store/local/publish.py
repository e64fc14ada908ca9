"""New files get their names under the lock of their directory in a single call, where there is compiled code for it."""

from __future__ import annotations

from omnizarr.config import config
from omnizarr.native import kernel
from omnizarr.store.contract import Version
from omnizarr.store.local.snapshot import FileVersion

__all__ = ["publish"]


def publish(folder: str, paths: tuple[list[str], list[str]], expected: tuple[Version] | None, *, follow: bool) -> int:
    """Gives the first of `paths` the names of the second, all in `folder`: how many, from the first on. None, if it
    cannot be done at once, or if a version is expected and what lies there may not be of it."""
    loop = kernel() if config.current.native else None
    if loop is None:
        return 0
    state: tuple[int, ...] | None = None
    if expected is not None:
        version = expected[0]
        if version is not None and not isinstance(version, FileVersion):
            return 0
        state = () if version is None else version.state
    try:
        done: int = loop.publish(folder, *paths, state, follow)
    except (ValueError, OverflowError):  # a name that is no text, or a number that is too large
        return 0
    return max(0, done)
