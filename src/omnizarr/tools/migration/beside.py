"""A migration to another location."""

from __future__ import annotations

from functools import partial

from omnizarr.api.hierarchy import consolidate_metadata
from omnizarr.errors import ArgumentError, NodeExistsError
from omnizarr.nodes import Group
from omnizarr.nodes.create.node import create_node
from omnizarr.tools.migration.work import MigrationPlan, MigrationWork
from omnizarr.tools.plans.copy import check_free, contains, shown_location
from omnizarr.tools.plans.objects import Page, store_pages

__all__ = ["plan_beside"]


def plan_beside(work: MigrationWork, *, accept_losses: bool, force: bool) -> MigrationPlan:
    """The plan of a migration whose target is another location."""
    node, store, path = work.node, work.store, work.path
    store.check_writable()
    if contains(node.store, node.path, store, path):
        raise ArgumentError("`target` lies in the source, or the source in it", argument="target")
    if node.zarr_format == work.dialect.zarr_format:
        raise ArgumentError(
            f"{node.store.location} is of {work.dialect.format_name} already", argument="to", hint="`copy` copies it"
        )
    stages, pages = work.stages()
    places = f"{shown_location(node.store, node.path)} to {shown_location(store, path)}"
    return work.plan(
        f"migrate {places} in {work.dialect.format_name}",
        stages,
        begin=partial(_create, work, pages, force=force),
        end=partial(_publish, work, consolidated=isinstance(node, Group) and node.consolidated),
        free=_pass if force else partial(check_free, store, path),
        erases=force,
        accept_losses=accept_losses,
    )


def _pass() -> None:
    pass


def _create(work: MigrationWork, pages: dict[str, list[Page]], *, force: bool) -> None:
    """Writes the documents of the target, and the pages of the journal."""
    for number, (below, member) in enumerate(work.members):
        try:
            create_node(*work.new_node(below, member), overwrite=force and number == 0)
        except NodeExistsError:
            if not number and not work.journal.begun():
                raise  # otherwise an interrupted run has created it
    work.journal.claim("migrate")  # replacing the root of a store erased the journal, too
    for tag, each in pages.items():
        store_pages(work.journal, each, tag)


def _publish(work: MigrationWork, *, consolidated: bool) -> None:
    """Consolidates the new hierarchy if the old one was, and publishes what a store keeps back."""
    if consolidated and work.dialect.can_consolidate(work.path) and work.store.listable:
        consolidate_metadata(work.store, path=work.path, zarr_format=work.dialect.zarr_format)
    work.store.flush()
