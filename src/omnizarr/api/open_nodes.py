"""Opening what exists, and, in the modes that allow it, creating what does not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from omnizarr.api.location import StoreLike, file_hint, hierarchy_above, new_place, resolve
from omnizarr.engine import ChunkCache, OnCorrupt, check_on_corrupt
from omnizarr.errors import ArgumentError, NodeExistsError, NodeNotFoundError
from omnizarr.formats import ReadOptions, dialect_for
from omnizarr.model import ZarrFormat, normal_path
from omnizarr.nodes import Array, Group, check_names, new_array, new_group, open_node
from omnizarr.nodes.metadata.enclosing_dialect import enclosing_dialect
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Store, as_read_only

if TYPE_CHECKING:
    from omnizarr.transformers import StorageTransformer

__all__ = ["Mode", "open", "open_array", "open_group"]

_Kind: TypeAlias = Literal["array", "group"]

Mode: TypeAlias = Literal["r", "r+", "a", "w", "w-"]
"""`r` reads; `r+` reads and writes what exists; `a` also creates; `w` replaces; `w-` creates what must not exist."""


def open(
    store: StoreLike,
    *,
    path: str | None = None,
    mode: Mode | None = None,
    zarr_format: ZarrFormat | None = None,
    use_consolidated: bool | None = None,
    storage_options: dict[str, Any] | None = None,
    **options: Any,
) -> Array | Group:
    """Opens what lies at a place, array or group, of whichever generation.

    Without a `mode` what is there is opened for reading and writing, and nothing is ever created. The modes that create
    make an array if `options` give a `shape` or `data`, and a group otherwise.

    Further options say what is allowed: `allow_pickle=True` reads objects that were pickled, which can run any program;
    `use_fallback=False` refuses an array of a draft whose data type is unknown, even if it names another one to be used
    instead; `v1_f_order="document"` takes v1 arrays of order F at their word; `chunks_per_shard` gives back to an array
    of a draft what its document lost. `storage_transformers` that do not change what is stored, such as a cache, stand
    between an array, or each array of a group, and its store. `cache` keeps decoded chunks for the next read: a number
    of bytes, text such as `"256 MiB"`, or a `ChunkCache` that many arrays share. `on_corrupt` says what reading does
    with chunks that are damaged: `"raise"`, `"fill"`, which takes the fill value for them, or a function that is given
    the error and gives what stands for the elements, or None for the fill value.
    """
    read_options, kept = _read_options(options), _kept(options)
    check_names(options, arguments=_arguments())
    kind: _Kind | None = "array" if "shape" in options or "data" in options else None
    return _open(store, kind, path, mode, zarr_format, use_consolidated, storage_options, read_options, kept, options)


def open_array(
    store: StoreLike,
    *,
    path: str | None = None,
    mode: Mode | None = None,
    zarr_format: ZarrFormat | None = None,
    use_consolidated: bool | None = None,
    storage_options: dict[str, Any] | None = None,
    **options: Any,
) -> Array:
    """Opens an array. The modes that create take the `options` of `create_array`; all take those of `open` that say
    what is allowed."""
    read_options, kept = _read_options(options), _kept(options)
    check_names(options, arguments=_arguments())
    found = _open(
        store, "array", path, mode, zarr_format, use_consolidated, storage_options, read_options, kept, options
    )
    assert isinstance(found, Array)
    return found


def open_group(
    store: StoreLike = None,
    *,
    path: str | None = None,
    mode: Mode | None = "a",
    zarr_format: ZarrFormat | None = None,
    use_consolidated: bool | None = None,
    storage_options: dict[str, Any] | None = None,
    attributes: dict[str, Any] | None = None,
    **options: Any,
) -> Group:
    """Opens a group; a new one, if there is none and the mode allows it, as the usual one does. The `options` are those
    of `open` that say what is allowed, and what a handle keeps, for all that is reached through it."""
    read_options, kept = _read_options(options), _kept(options)
    check_names(options, ("storage_transformers",), arguments=("attributes", *_arguments()))
    if attributes is not None:
        options["attributes"] = attributes
    found = _open(
        store, "group", path, mode, zarr_format, use_consolidated, storage_options, read_options, kept, options
    )
    assert isinstance(found, Group)
    return found


def _arguments() -> tuple[str, ...]:
    """What all three take beside the options of a new array, one of which may be meant by a misspelt name."""
    own = ("path", "mode", "zarr_format", "use_consolidated", "storage_options")
    return (*own, "cache", "on_corrupt", *ReadOptions.names())


def _read_options(options: dict[str, Any]) -> ReadOptions:
    """Takes the options that say what is allowed out of all of them."""
    return ReadOptions(**{name: options.pop(name) for name in ReadOptions.names() if name in options})


def _kept(options: dict[str, Any]) -> tuple[ChunkCache | None, OnCorrupt]:
    """Takes out of the options what a handle keeps: its cache, and what to do with damaged chunks."""
    return _cache(options), check_on_corrupt(options.pop("on_corrupt", "raise"))


def _cache(options: dict[str, Any]) -> ChunkCache | None:
    """Takes the cache out of the options."""
    given = options.pop("cache", None)
    return given if given is None or isinstance(given, ChunkCache) else ChunkCache(given)


def _open(
    place: StoreLike,
    kind: _Kind | None,
    path: str | None,
    mode: Mode | None,
    zarr_format: ZarrFormat | None,
    use_consolidated: bool | None,
    storage_options: dict[str, Any] | None,
    read_options: ReadOptions,
    kept: tuple[ChunkCache | None, OnCorrupt],
    options: dict[str, Any],
) -> Array | Group:
    if mode not in ("r", "r+", "a", "w", "w-", None):
        raise ArgumentError(f"`mode`: expected one of r, r+, a, w and w-, found {mode!r}", argument="mode")
    if zarr_format is not None:
        dialect_for(zarr_format)  # says what is wrong with it
    if use_consolidated not in (None, True, False):
        raise ArgumentError(
            f"`use_consolidated`: expected True, False or None, found {use_consolidated!r}", argument="use_consolidated"
        )
    cache, on_corrupt = kept
    store, where = resolve(place, storage_options, normal_path(path))
    if mode == "r" or (store.read_only and mode in (None, "a")):
        store = as_read_only(store)
        mode = "r"
    if mode is not None and mode != "r":
        store.check_writable()
    transformers, options = _apart(options, new=mode in ("a", "w", "w-"))

    def created(store: Store, where: str, *, overwrite: bool = False) -> Array | Group:
        # All nodes of a hierarchy are of one generation: who names none gets that of what lies above.
        around = enclosing_dialect(store, where) if zarr_format is None and where else None
        spoken = dialect_for(zarr_format or (3 if around is None else around.zarr_format), read_options)
        context = NodeContext(
            store, spoken.normalize_path(where), spoken, transformers=transformers, cache=cache, on_corrupt=on_corrupt
        )
        return _create(context, kind, options, overwrite=overwrite)

    if mode in ("w", "w-"):
        store, where = new_place(place, store, where, zarr_format)
        try:
            return created(store, where, overwrite=mode == "w")
        except NodeExistsError as error:
            error.hint = 'mode="w" replaces it, with all that lies below it'
            raise

    def opened(store: Store, where: str) -> Array | Group:
        return open_node(
            store,
            where,
            zarr_format=zarr_format,
            use_consolidated=use_consolidated,
            read_options=read_options,
            kind=kind,
            exact=mode == "a",
            transformers=transformers,
            cache=cache,
            on_corrupt=on_corrupt,
        )

    try:
        found = opened(store, where)
    except NodeNotFoundError as error:
        # Only what was given as text may lead above its own root: whoever made a store chose where it ends.
        above = hierarchy_above(store, where) if isinstance(place, (str, os.PathLike)) else None
        if above is None:
            if mode != "a":
                error.hint = error.hint or file_hint(store)
                raise
            return created(store, where)
        try:
            found = opened(*above)
        except NodeNotFoundError:
            if mode != "a":
                raise
            return created(*above)
    if isinstance(found, Array) and options.get("write_empty_chunks"):
        found._write_empty_chunks = True  # of the options of a new array, this one is the handle's
    return found


def _apart(options: dict[str, Any], *, new: bool) -> tuple[tuple[StorageTransformer, ...], dict[str, Any]]:
    """The storage transformers that stand before what is opened, and the other options. Those that change what is
    stored belong to the document of a new array."""
    given = options.get("storage_transformers")
    if given is None:
        return (), options
    from omnizarr.transformers import StorageTransformer  # few need any

    items = given if isinstance(given, (list, tuple)) else [given]
    passing = tuple(item for item in items if isinstance(item, StorageTransformer) and not item.layout)
    stored = [item for item in items if not isinstance(item, StorageTransformer) or item.layout]
    if stored and not new:
        raise ArgumentError(
            "`storage_transformers`: expected objects such as `omnizarr.transformers.MemoryCache`, that do not change "
            f"what is stored, found {stored[0]!r}",
            argument="storage_transformers",
            hint="what changes it is named when an array is created",
        )
    others = {name: value for name, value in options.items() if name != "storage_transformers"}
    return passing, {**others, "storage_transformers": stored} if stored else others


def _create(context: NodeContext, kind: _Kind | None, options: dict[str, Any], *, overwrite: bool) -> Array | Group:
    if kind == "array":
        return new_array(context, **{**options, "overwrite": overwrite})
    if options.keys() - {"attributes"}:
        raise ArgumentError(
            f"a new group takes no {', '.join(sorted(options.keys() - {'attributes'}))}",
            argument="options",
            hint="a new array needs a `shape`, or `data`",
        )
    return new_group(context, options.get("attributes"), overwrite=overwrite)
