"""References of kerchunk: values that lie in other files."""

from __future__ import annotations

from omnizarr.nodes import Array, Group
from omnizarr.store import ReferenceStore
from omnizarr.tools.recognize.contract import Recognized

__all__ = ["recognize"]


def recognize(node: Array | Group) -> Recognized | None:
    """The references through which a node is read."""
    store = getattr(node.store, "inner", node.store)
    if not isinstance(store, ReferenceStore):
        return None
    where = store.location.removeprefix("reference::")
    kind = "parquet" if where.rstrip("/").lower().endswith((".parq", ".parquet")) else "JSON"
    return Recognized("kerchunk", None, {"References": where, "Form": kind})
