"""Creating nodes: the new document, and those of the groups above it where they are missing."""

from __future__ import annotations

from omnizarr.errors import NodeExistsError, NodeTypeError, OmnizarrError
from omnizarr.formats import Dialect, Node
from omnizarr.model import ArrayModel, GroupModel
from omnizarr.nodes.documents import describe_place, dumped, fetch_many, save
from omnizarr.nodes.site import Site

__all__ = ["create_node", "erase_node", "prepare"]


def create_node(site: Site, model: Node, *, overwrite: bool = False, known_group: str | None = None) -> Site:
    """Stores a new node at `site.path`, and gives its site. `known_group` is the path of a group above it that is known
    to exist."""
    store, path, found = site.store, site.path, site.dialect
    store.check_writable()
    found.check_path(path)
    dumped(found, path, model)  # what cannot be written is refused before anything is changed
    missing = prepare(site, overwrite=overwrite, known_group=known_group)
    nodes: list[tuple[Dialect, str, Node]] = [
        (found, group, GroupModel(zarr_format=found.zarr_format)) for group in missing
    ]
    save(store, [*nodes, (found, path, model)])
    for _, created, node in [*nodes, (found, path, model)]:
        note(site, created, node)
    return site


def prepare(site: Site, *, overwrite: bool, known_group: str | None) -> list[str]:
    """Makes room for a node at `site.path`: erases what lies there, if that is allowed, and gives the paths of the
    groups above it that do not exist yet."""
    store, path, found = site.store, site.path, site.dialect
    above = [group for group in found.ancestors(path) if known_group is None or len(group) > len(known_group)]
    missing = []
    for place, there in fetch_many(store, [*above, path]):
        if place == path:
            if there is not None:
                if not overwrite:
                    kind = "a node" if isinstance(there, OmnizarrError) else _kind(there[1])
                    raise NodeExistsError(
                        f"{kind} exists at {describe_place(store, path)} already",
                        path=path,
                        hint="`overwrite=True` replaces it, with all that lies below it",
                    )
                erase_node(site)
        elif there is None:
            missing.append(place)
        elif isinstance(there, OmnizarrError):
            raise there
        elif isinstance(there[1], ArrayModel):
            raise NodeTypeError(
                f"`{path}` cannot be created: {describe_place(store, place)} is an array, which has no members",
                path=path,
            )
    return missing


def _kind(model: Node) -> str:
    return "an array" if isinstance(model, ArrayModel) else "a group"


def erase_node(site: Site) -> None:
    """Removes a node with all that lies below it; its documents first, so that a half-erased node is not found."""
    site.store.check_writable()
    site.store.erase_values(site.dialect.keys(site.path))
    for prefix in site.dialect.prefixes(site.path):
        site.store.erase_prefix(prefix)
    note(site, site.path, None)


def note(site: Site, path: str, node: Node | None) -> None:
    """Tells the consolidated metadata that the handle came through, if there is any."""
    if site.consolidated is not None:
        document = None if node is None else next(iter(site.dialect.dump(path, node).values()))
        site.consolidated.note(path, document)
