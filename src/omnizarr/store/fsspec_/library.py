"""The optional library fsspec: whether it is installed, and the file system for a URL."""

from __future__ import annotations

from typing import Any

from omnizarr.errors import LocationError, MissingDependencyError
from omnizarr.store.object.error_mapping import without_secrets
from omnizarr.store.object.options import secrets

__all__ = ["fsspec_installed", "fsspec_knows", "fsspec_library", "open_filesystem"]


def fsspec_library() -> Any:
    """The module fsspec."""
    try:
        import fsspec
    except ImportError:
        raise MissingDependencyError("this location", "omnizarr[fsspec]") from None
    return fsspec


def fsspec_installed() -> bool:
    """Whether fsspec is installed."""
    try:
        return fsspec_library() is not None
    except MissingDependencyError:
        return False


def fsspec_knows(scheme: str) -> bool:
    """Whether fsspec is installed and has a file system for URLs of this scheme."""
    return fsspec_installed() and scheme in fsspec_library().available_protocols()


def open_filesystem(url: str, storage_options: dict[str, Any]) -> tuple[Any, str]:
    """The file system for a URL, also a chained one, and the path in it."""
    library = fsspec_library()
    try:
        filesystem, path = library.core.url_to_fs(url, **storage_options)
    except ImportError as error:
        raise LocationError(
            f"fsspec cannot open this `{url.partition('://')[0]}://` address: {error}",
            hint="install the package that it names",
        ) from None
    except Exception as error:  # a file system may raise anything; some connect here
        text = without_secrets(str(error) or type(error).__name__, secrets(storage_options))
        raise LocationError(f"fsspec cannot open this `{url.partition('://')[0]}://` address: {text}") from None
    return filesystem, path
