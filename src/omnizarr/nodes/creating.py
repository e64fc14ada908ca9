"""Creating nodes: the new document, and those of the groups above it where they are missing."""

from __future__ import annotations

from dataclasses import replace

from omnizarr.errors import NodeExistsError, NodeTypeError, OmnizarrError, StoreError
from omnizarr.formats import Node, foreign, suspects
from omnizarr.model import ArrayModel, GroupModel
from omnizarr.nodes.consolidated import Consolidated
from omnizarr.nodes.documents import describe_place, dumped, fetch_many
from omnizarr.nodes.site import Site
from omnizarr.store import Store

__all__ = ["create_node", "erase_node", "prepare"]


_REPLACE = "`overwrite=True` replaces it, with all that lies below it"


def create_node(
    site: Site, model: Node, *, overwrite: bool = False, known_group: str | None = None, hint: str | None = _REPLACE
) -> Site:
    """Stores a new node at `site.path`, and gives its site. `known_group` is the path of a group above it that is known
    to exist; `hint` says how what is there can be replaced."""
    store, path = site.store, site.path
    store.check_writable()
    site.dialect.check_path(path)
    documents = dumped(site.dialect, path, model)  # what cannot be written is refused before anything is changed
    site, groups = prepare(site, overwrite=overwrite, known_group=known_group, hint=hint)
    for key, value in documents.items():
        if overwrite:
            store.set(key, value)
        elif not store.set_if(key, value, None):
            raise _exists(site, "a node that somebody else just created", hint)
    if site.consolidated is not None:
        site.consolidated.written({**groups, path: model})
    return site


def prepare(
    site: Site, *, overwrite: bool, known_group: str | None, hint: str | None = None
) -> tuple[Site, dict[str, Node]]:
    """Makes room for a node at `site.path`: erases what lies there, if that is allowed, and creates the groups above it
    that do not exist yet. Gives the site, with consolidated metadata above it that it was not known to have, and the
    groups that were created."""
    store, path, dialect = site.store, site.path, site.dialect
    above = [group for group in dialect.ancestors(path) if known_group is None or len(group) > len(known_group)]
    missing = []
    occupant = None
    inside = known_group is not None  # below a group of ours there is nothing of other generations
    for place, there in fetch_many(store, [*above, path]):
        if isinstance(there, StoreError) or (isinstance(there, OmnizarrError) and place != path):
            raise there
        model = there if isinstance(there, OmnizarrError) or there is None else there[1]
        if place == path:
            occupant = _foreign(store, path) if model is None and not inside else _kind(model)
            if occupant is not None and not overwrite:
                raise _exists(site, occupant, hint)
        elif model is None:
            what = None if inside else _foreign(store, place)
            if what is not None:
                raise NodeTypeError(
                    f"`{path}` cannot be created: {what} lies at {describe_place(store, place)}", path=path
                )
            missing.append(place)
        elif isinstance(model, ArrayModel):
            raise NodeTypeError(
                f"`{path}` cannot be created: {describe_place(store, place)} is an array, which has no members",
                path=path,
            )
        elif isinstance(model, GroupModel):
            inside = True
            if model.consolidated is not None and site.consolidated is None:
                gathered = Consolidated(store, dialect, place, model.consolidated, trusted=False)
                site = replace(site, consolidated=gathered)
    if overwrite and (occupant or path):
        # Where there is no node, chunks of a half-erased one may be; but other files at the root are not ours.
        erase_node(site)
    new = GroupModel(zarr_format=dialect.zarr_format)
    for group in missing:
        for key, value in dumped(dialect, group, new).items():
            store.set_if(key, value, None)  # a group that somebody else just created is as good
    return site, dict.fromkeys(missing, new)


def _exists(site: Site, what: str, hint: str | None) -> NodeExistsError:
    return NodeExistsError(
        f"{what} exists at {describe_place(site.store, site.path)} already", path=site.path, hint=hint
    )


def _kind(model: object) -> str | None:
    if isinstance(model, ArrayModel):
        return "an array"
    if model is None:
        return None
    return "a group" if isinstance(model, GroupModel) else "a node"


def _foreign(store: Store, path: str) -> str | None:
    """What lies at `path` of the generations that this release cannot read, and must not write over unasked."""
    return foreign(path, [key for key in suspects(path) if store.exists(key)])


def erase_node(site: Site) -> None:
    """Removes a node with all that lies below it; its documents first, so that a half-erased node is not found."""
    site.store.check_writable()
    site.store.erase_values(site.dialect.keys(site.path))
    for prefix in site.dialect.prefixes(site.path):
        site.store.erase_prefix(prefix)
    if site.consolidated is not None:
        site.consolidated.moved(site.path, None)
