"""Copying a version of an array to another location, as an array without versions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

from omnizarr.model import ArrayModel
from omnizarr.nodes.array import Array
from omnizarr.nodes.create.node import make_room
from omnizarr.nodes.metadata.documents import dump_node
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Buffer, Store
from omnizarr.transformers.versions import Session

__all__ = ["checkout_array"]

_BATCH = 256  # values that are copied together


def checkout_array(
    source: NodeContext, session: Session, model: ArrayModel, store: Store, path: str, *, overwrite: bool
) -> Array:
    """Copies the values of a session to `path` in `store`; the document comes last, so that readers see all or
    nothing."""
    store.check_writable()
    dialect = source.dialect
    path = dialect.normalize_path(path)
    dialect.check_path(path, "array")
    model = replace(model, storage_transformers=model.storage_transformers[:-1], verbatim=_verbatim(model))
    with ExitStack() as locks:
        context = make_room(
            source._replace(store=store, path=path),
            overwrite=overwrite,
            known_group=None,
            locks=locks,
            hint="choose another location",
        )
        prefix = context.dialect.chunk_prefix(path)
        keys = [key for key in session.list_prefix(session.prefix) if key != session.document]
        for start in range(0, len(keys), _BATCH):
            store.set_each(_values(session, keys[start : start + _BATCH], prefix))
        for key, value in dump_node(context.dialect, path, model).items():
            store.set(key, value)
    return Array(context, model)


def _values(session: Session, keys: list[str], prefix: str) -> Iterator[tuple[str, Buffer]]:
    for index, value in session.get_each([(key, None) for key in keys]):
        if value is not None:
            yield prefix + keys[index][len(session.prefix) :], value


def _verbatim(model: ArrayModel) -> dict[str, object]:
    return {name: value for name, value in model.verbatim.items() if name != "storage_transformers"}
