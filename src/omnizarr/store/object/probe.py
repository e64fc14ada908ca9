"""A check whether a server honours the conditions of writes. Some servers that imitate S3 ignore them."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from omnizarr.errors import StoreError
from omnizarr.store.object import error_mapping
from omnizarr.store.object.client import ClientFactory
from omnizarr.store.object.reader import ObjectReader

__all__ = ["check_conditions"]

_NO_VALUE = '"00000000000000000000000000000000"'  # an ETag that no object has
_OWN_HOSTS = (".amazonaws.com", ".amazonaws.com.cn")

_results: dict[tuple[str, str], bool] = {}
"""Whether the server honours conditions, by server and bucket."""


def check_conditions(factory: ClientFactory, prefix: str, reader: ObjectReader) -> None:
    """Raise StoreError if the server of an S3 bucket ignores the conditions of writes.

    Amazon's own servers are not checked. Others are, once per process and bucket, with four requests for a key of its
    own: it is created, then written twice under conditions that do not hold, and erased.
    """
    place = (factory.server, factory.location)
    honours = _results.get(place)
    if honours is None:
        honours = _results[place] = not _is_foreign(factory) or _honours(factory, prefix, reader)
    if not honours:
        raise StoreError(
            f"{reader.store}: this server ignores the conditions `If-Match` and `If-None-Match` of writes, so that "
            "concurrent writers would undo each other's changes without an error",
            hint='`conditional="off"` in `storage_options` writes without conditions, for a single process',
            store=reader.store,
        )


def _is_foreign(factory: ClientFactory) -> bool:
    if factory.kind != "s3":
        return False
    endpoint = factory.endpoint
    return bool(endpoint) and not (urlsplit(str(endpoint)).hostname or "").endswith(_OWN_HOSTS)


def _honours(factory: ClientFactory, prefix: str, reader: ObjectReader) -> bool:
    name = f".omnizarr-probe-{os.urandom(8).hex()}"
    client = factory.process_client().client
    try:
        with error_mapping.no_panic():
            _rejects(client, prefix + name, "create")  # rejects only if obstore sent it twice
            try:
                return all(_rejects(client, prefix + name, mode) for mode in ("create", {"e_tag": _NO_VALUE}))
            finally:
                client.delete(prefix + name)
    except Exception as error:
        if type(error).__name__ in ("NotSupportedError", "NotImplementedError"):
            return False
        raise reader.error(error, "write", name) from None


def _rejects(client: object, path: str, mode: object) -> bool:
    try:
        client.put(path, b"", mode=mode, use_multipart=False)  # type: ignore[attr-defined]
    except Exception as error:
        if error_mapping.condition_failed(error, created=mode == "create"):
            return True
        raise
    return False
