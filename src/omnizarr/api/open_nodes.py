"""Opening arrays and groups: `open`, `open_array` and `open_group`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from omnizarr.api.location import Location, StoreLike, file_hint, hierarchy_above, new_location, resolve
from omnizarr.engine import ChunkCache, OnCorrupt, check_on_corrupt
from omnizarr.errors import ArgumentError, NodeExistsError, NodeNotFoundError
from omnizarr.formats import DEFAULT_READ_OPTIONS, ReadOptions, dialect_for
from omnizarr.model import ZarrFormat, normal_path
from omnizarr.nodes import Array, ArrayOptions, Group, check_flag, check_names, new_group, open_node
from omnizarr.nodes.metadata.enclosing_dialect import enclosing_dialect
from omnizarr.nodes.node import NodeContext
from omnizarr.store import as_read_only

if TYPE_CHECKING:
    from omnizarr.transformers import StorageTransformer

__all__ = ["Mode", "open", "open_array", "open_group"]

_Kind: TypeAlias = Literal["array", "group"]

_GROUP_OPTIONS = ("attributes", "storage_transformers")

Mode: TypeAlias = Literal["r", "r+", "a", "w", "w-"]
"""`r`: read only. `r+`: read and write; the node must exist. `a`: read and write; create the node if it does not exist.
`w`: create the node; replace one that exists. `w-`: create the node; it must not exist."""


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
    """Opens the array or group at a location, of any generation.

    Example:
        >>> z = omnizarr.open("weather.zarr", path="daily/temps", mode="r")
        >>> z[0, :3]
        array([21.5, 21.5, 21.5], dtype=float32)

    Args:
        store: a path, a URL, a store, a dict, or an object of fsspec, obstore or zarr-python.
        path: the path of the node in the store; the root if not given.
        mode: "r" only reads. "r+" reads and writes. "a" also creates a node that does not exist. "w" replaces the node
            with a new one. "w-" creates a node that must not exist. None is "r" for a read-only store, else "r+".
        zarr_format: the generation to find or to create. None finds any, and creates that of the groups above, or 3.
        use_consolidated: True requires consolidated metadata and reads nodes from it. False reads nodes from their own
            documents. None reads from consolidated metadata if it exists and the store is read-only, as in mode "r".
        storage_options: options of the store that a URL names, such as credentials.

    Further options:
        shape, data, …: the options of `create_array`, for the modes that create. They create an array if `shape` or
            `data` is given, and a group otherwise.
        cache: keeps decoded chunks for later reads. A number of bytes, text such as "256 MiB", or a `ChunkCache` that
            several arrays share.
        on_corrupt: what a read does with a damaged chunk. "raise" raises ChunkError; "fill" uses the fill value. A
            function is called with the error and returns the elements, or None for the fill value.
        version: the number of a version of an array that keeps versions; it is opened for reading only.
        storage_transformers: transformers that do not change the stored bytes, such as a cache. They apply to the
            array, or to each array of the group.
        allow_pickle: True reads pickled objects. A pickle can run any program, so trust its writer.
        use_fallback: False rejects a draft array of an unknown data type, even if it names a fallback type.
        v1_f_order: "document" reads v1 arrays of order F in the order that the document states, not in the one that
            zarr 1.x wrote.
        chunks_per_shard: the sharding of a draft array whose document lost it.
    """
    kind: _Kind | None = "array" if "shape" in options or "data" in options else None
    return _open(store, kind, path, mode, zarr_format, use_consolidated, storage_options, options)


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
    """Opens an array; `open` explains the arguments and the further options.

    Example:
        >>> z = omnizarr.open_array("grid.zarr", mode="a", shape=(100, 100), dtype="f4")
        >>> z.shape
        (100, 100)
    """
    node = _open(store, "array", path, mode, zarr_format, use_consolidated, storage_options, options)
    assert isinstance(node, Array)
    return node


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
    """Opens a group, and in the default mode "a" creates one that does not exist.

    `open` explains the arguments. The further options, such as `cache` and `on_corrupt`, hold for all nodes that are
    opened through the group.

    Example:
        >>> g = omnizarr.open_group("weather.zarr", mode="r")
        >>> for name, array in g.arrays():
        ...     print(name, array.shape)
    """
    if attributes is not None:
        options["attributes"] = attributes
    node = _open(store, "group", path, mode, zarr_format, use_consolidated, storage_options, options)
    assert isinstance(node, Group)
    return node


def _arguments() -> tuple[str, ...]:
    """The arguments of all three functions besides the array options, to suggest one for a misspelt name."""
    names = ("path", "mode", "zarr_format", "use_consolidated", "storage_options")
    return (*names, "cache", "on_corrupt", "version", *ReadOptions.names())


def _pop_read_options(options: dict[str, Any]) -> ReadOptions:
    """Removes the read options from `options`."""
    values = {name: options.pop(name) for name in ReadOptions.names() if name in options} if options else {}
    return ReadOptions(**values) if values else DEFAULT_READ_OPTIONS


_HandleOptions: TypeAlias = tuple[ChunkCache | None, OnCorrupt, int | None]


def _pop_handle_options(options: dict[str, Any]) -> _HandleOptions:
    """Removes `cache`, `on_corrupt` and `version` from `options`."""
    cache = options.pop("cache", None)
    if cache is not None and not isinstance(cache, ChunkCache):
        cache = ChunkCache(cache)
    return cache, check_on_corrupt(options.pop("on_corrupt", "raise")), options.pop("version", None)


def _open(
    store_like: StoreLike,
    kind: _Kind | None,
    path: str | None,
    mode: Mode | None,
    zarr_format: ZarrFormat | None,
    use_consolidated: bool | None,
    storage_options: dict[str, Any] | None,
    options: dict[str, Any],
) -> Array | Group:
    read_options = _pop_read_options(options)
    cache, on_corrupt, version = _pop_handle_options(options)
    known = _GROUP_OPTIONS if kind == "group" else ArrayOptions.__annotations__
    if options:
        check_names(options, known, arguments=_arguments())
    if mode is not None and not (isinstance(mode, str) and mode in ("r", "r+", "a", "w", "w-")):
        raise ArgumentError(f"`mode`: expected one of r, r+, a, w and w-, found {mode!r}", argument="mode")
    if zarr_format is not None:
        dialect_for(zarr_format)  # raises ArgumentError if there is none
    if use_consolidated is not None:
        check_flag(use_consolidated, "use_consolidated")
    if version is not None:
        if mode not in ("r", None):
            raise ArgumentError(
                f'`mode`: expected "r", because a version never changes, found {mode!r}',
                argument="mode",
                hint="`restore(version)` of a handle without `version` brings an old version back",
            )
        mode = "r"
    location = resolve(store_like, storage_options, normal_path(path))
    store = location.store
    if mode == "r" or (store.read_only and mode in (None, "a")):
        store = as_read_only(store)
        location = Location(store, location.path)
        mode = "r"
    if mode is not None and mode != "r":
        store.check_writable()
    transformers, options = _split_transformers(options, new=mode in ("a", "w", "w-"))

    def create_at(location: Location, *, overwrite: bool = False) -> Array | Group:
        store, path = location
        # All nodes of a hierarchy are of one generation: by default, that of the groups above.
        enclosing = enclosing_dialect(store, path) if zarr_format is None and path else None
        dialect = dialect_for(zarr_format or (3 if enclosing is None else enclosing.zarr_format), read_options)
        context = NodeContext(
            store, dialect.normalize_path(path), dialect, transformers=transformers, cache=cache, on_corrupt=on_corrupt
        )
        return _create(context, kind, options, overwrite=overwrite)

    if mode in ("w", "w-"):
        try:
            return create_at(new_location(store_like, *location, zarr_format), overwrite=mode == "w")
        except NodeExistsError as error:
            error.hint = 'mode="w" replaces it, with all nodes below it'
            raise

    def open_at(location: Location) -> Array | Group:
        return open_node(
            *location,
            zarr_format=zarr_format,
            use_consolidated=use_consolidated,
            read_options=read_options,
            kind=kind,
            exact=mode == "a",
            transformers=transformers,
            cache=cache,
            on_corrupt=on_corrupt,
            version=version,
        )

    try:
        node = open_at(location)
    except NodeNotFoundError as error:
        # Only an address may lead above its own root: the root of a store object is final.
        above = hierarchy_above(*location) if isinstance(store_like, (str, os.PathLike)) else None
        if above is None:
            if mode != "a":
                error.hint = error.hint or file_hint(store)
                raise
            return create_at(location)
        try:
            node = open_at(above)
        except NodeNotFoundError:
            if mode != "a":
                raise
            return create_at(above)
    if isinstance(node, Array) and options.get("write_empty_chunks"):
        node._write_empty_chunks = True  # the only array option that applies to the handle of an existing array
    return node


def _split_transformers(options: dict[str, Any], *, new: bool) -> tuple[tuple[StorageTransformer, ...], dict[str, Any]]:
    """The storage transformers of the handle, and the other options.

    Transformers that change the stored bytes stay in the options, because the document of a new array records them.
    """
    option = options.get("storage_transformers")
    if option is None:
        return (), options
    from omnizarr.transformers import StorageTransformer  # lazy import: few callers use any

    items = option if isinstance(option, (list, tuple)) else [option]
    of_handle = tuple(item for item in items if isinstance(item, StorageTransformer) and not item.layout)
    of_document = [item for item in items if not isinstance(item, StorageTransformer) or item.layout]
    if of_document and not new:
        raise ArgumentError(
            "`storage_transformers`: expected objects that do not change the stored bytes, such as "
            f"`omnizarr.transformers.MemoryCache`, found {of_document[0]!r}",
            argument="storage_transformers",
            hint="give transformers that change the stored bytes when you create the array",
        )
    others = {name: value for name, value in options.items() if name != "storage_transformers"}
    return of_handle, {**others, "storage_transformers": of_document} if of_document else others


def _create(context: NodeContext, kind: _Kind | None, options: dict[str, Any], *, overwrite: bool) -> Array | Group:
    if kind == "array":
        from omnizarr.nodes.create.array import new_array  # lazy import: most programs only read

        return new_array(context, **{**options, "overwrite": overwrite})
    if options.keys() - {"attributes"}:
        raise ArgumentError(
            f"a new group has no option {', '.join(sorted(options.keys() - {'attributes'}))}",
            argument="options",
            hint="give `shape` or `data` to create an array",
        )
    return new_group(context, options.get("attributes"), overwrite=overwrite)
