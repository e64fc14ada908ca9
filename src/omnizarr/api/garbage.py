"""`collect_garbage`: removes stored objects of content-addressed arrays that no chunk uses any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnizarr.api.location import StoreLike
from omnizarr.api.open_nodes import open
from omnizarr.errors import ArgumentError
from omnizarr.nodes import Array, Group
from omnizarr.store import WrapperStore

if TYPE_CHECKING:
    from omnizarr.transformers.content import ContentStore, GarbageReport

__all__ = ["collect_garbage"]


def collect_garbage(
    store: StoreLike | Array | Group,
    *,
    path: str | None = None,
    min_age: float = 86_400,
    dry_run: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> GarbageReport:
    """Removes the objects of content-addressed arrays that no chunk refers to, while other programs read and write.

    An object is removed in two steps: a first collection condemns it, and one that starts at least `min_age` seconds
    later removes it, unless a writer has referred to it meanwhile. So call this function regularly, such as once a day.

    Args:
        store: an array, a group, whose arrays at all levels are cleaned, or the address of either.
        path: the path of the node in the store.
        min_age: seconds that an object stays condemned: 3600 or more, or 0. With 0, one call removes all garbage; no
            other program may write to the arrays at the same time.
        dry_run: change nothing, and return what would be done.
        storage_options: options for the store, as for `open`.
    """
    from omnizarr.transformers.content import GarbageReport, collect
    from omnizarr.transformers.versions import Session

    if isinstance(store, (Array, Group)):
        node = store
    else:
        node = open(store, path=path, mode="r" if dry_run else "r+", storage_options=storage_options)
    report = GarbageReport(0, 0, 0, 0, 0, 0, 0, dry_run)
    if isinstance(node, Group):
        arrays = [member for _, member in node.members(max_depth=None) if isinstance(member, Array)]
    else:
        arrays = [node]
    for array in arrays:
        contents = _content_store(array)
        if contents is not None and isinstance(array.store, Session):
            # Another session may refer to an object that this one erases; the two changes would merge.
            raise ArgumentError(
                f"array `{array.path or '/'}` in {array.store!r} keeps versions: its garbage cannot be collected",
                argument="store",
                hint="`prune` removes values that no version uses",
            )
        if contents is not None:
            report += collect(contents, min_age=min_age, dry_run=dry_run)
        elif array is node:
            raise ArgumentError(
                f"array `{array.path or '/'}` in {array.store!r} is not content-addressed", argument="store"
            )
    return report


def _content_store(array: Array) -> ContentStore | None:
    """The content-addressed store below an array, if it has one."""
    from omnizarr.transformers.content import ContentStore

    store = array._layout.store
    while isinstance(store, WrapperStore):
        if isinstance(store, ContentStore):
            return store
        store = store.inner
    return None
