"""`migrate`: a plan that turns a hierarchy of one generation into one of another, with little writing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnizarr.api.location import StoreLike, resolve
from omnizarr.errors import ArgumentError
from omnizarr.formats import dialect_for
from omnizarr.model import ZarrFormat
from omnizarr.nodes import Array, Group
from omnizarr.tools.locations import open_location
from omnizarr.tools.migration.beside import plan_beside
from omnizarr.tools.migration.in_place import open_hierarchy, plan_in_place, plan_rest
from omnizarr.tools.migration.work import MigrationPlan, MigrationWork
from omnizarr.tools.plans.copy import journal_store, plan_identity
from omnizarr.tools.plans.journal import PlanJournal

__all__ = ["migrate"]


def migrate(
    location: Array | Group | str,
    target: StoreLike = None,
    *,
    to: ZarrFormat,
    accept_losses: bool = False,
    remove_old: bool = False,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    force: bool = False,
    resume: bool = False,
    verify: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> MigrationPlan:
    """A plan that turns a hierarchy, or an array, into one of another generation: in place, or at another location.

    Each array takes the cheapest way, which `plan.arrays` tells before anything is written: new documents alone, the
    same objects under other keys, the same encoded chunks in other objects, or chunks that are encoded again.

    In place, readers see the old hierarchy until one write or erasure at the root, after which they see the new one. A
    crash leaves one of the two, and `resume` completes it. No other program may write meanwhile.

    Args:
        location: a handle, or a location. In place, a whole hierarchy.
        target: where the new hierarchy goes; None migrates in place.
        to: the new generation.
        accept_losses: migrate even if the new generation cannot express something, which `plan.losses` lists.
        remove_old: in place, erase the old documents and objects afterwards. Without it they stay beside the new ones;
            `remove_old` of a later call erases them. It is required where they would hide the new ones.
        include: migrate only nodes that match one of these patterns, and the groups above them; not in place.
        exclude: leave out nodes that match one of these patterns, and the nodes below them; not in place.
        force: replace a node at the target; in place, documents that an earlier migration left.
        resume: continue an earlier run.
        verify: read each object and each array back, and compare.
        storage_options: options of the target's store.

    Example:
        >>> plan = omnizarr.tools.migrate("old.zarr", to=3)
        >>> plan.counts()["metadata"]
        1
        >>> plan.run().finished
        True
    """
    dialect = dialect_for(to)
    if target is not None:
        node = open_location(location).node if isinstance(location, str) else location
        store, path = resolve(target, storage_options)
        identity = plan_identity("migrate", node, store, path, to, tuple(include), tuple(exclude))
        journal = PlanJournal(journal_store(store), identity)
        work = MigrationWork(node, store, path, dialect, journal, verify, include, exclude)
        return plan_beside(work, accept_losses=accept_losses, force=force)
    if include or exclude:
        argument = "include" if include else "exclude"
        raise ArgumentError(f"`{argument}`: a hierarchy is migrated as a whole in place", argument=argument)
    node = open_hierarchy(location)
    journal = PlanJournal(journal_store(node.store), plan_identity("migrate", node, node.store, "", to))
    if node.zarr_format == to:
        return plan_rest(node, journal, remove_old=remove_old, resume=resume)
    work = MigrationWork(node, node.store, "", dialect, journal, verify)
    return plan_in_place(work, accept_losses=accept_losses, remove_old=remove_old, force=force)
