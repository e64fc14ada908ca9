"""Functions that register extensions from a program, such as a notebook. Each can be used as a decorator.

An installed package does not need them: it registers its extensions by package entry points.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from omnizarr._registry import Registry
from omnizarr.errors import ArgumentError

if TYPE_CHECKING:
    from omnizarr.chunk_keys import ChunkKeys
    from omnizarr.codecs import ArrayCodec, Codec
    from omnizarr.formats.document_encoding import Encoding
    from omnizarr.grids import Grid
    from omnizarr.transformers import StorageTransformer

__all__ = [
    "register_chunk_grid",
    "register_chunk_key_encoding",
    "register_chunk_memory_layout",
    "register_codec",
    "register_data_type",
    "register_extension",
    "register_metadata_encoding",
    "register_storage_transformer",
    "register_store",
]

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+")
_NAME = re.compile(r"[a-z][a-z0-9_.-]+")  # R39


CodecClass = TypeVar("CodecClass", bound="type[Codec]")
LayoutClass = TypeVar("LayoutClass", bound="type[ArrayCodec]")
GridClass = TypeVar("GridClass", bound="type[Grid]")
KeysClass = TypeVar("KeysClass", bound="type[ChunkKeys]")
TransformerClass = TypeVar("TransformerClass", bound="type[StorageTransformer]")
EncodingLike = TypeVar("EncodingLike", bound="type[Encoding] | Encoding")
Item = TypeVar("Item")


@overload
def register_codec(codec: CodecClass, /, *, aliases: tuple[str, ...] = (), replace: bool = False) -> CodecClass: ...
@overload
def register_codec(*, aliases: tuple[str, ...] = (), replace: bool = False) -> Callable[[CodecClass], CodecClass]: ...
def register_codec(codec: Any = None, /, *, aliases: tuple[str, ...] = (), replace: bool = False) -> Any:
    """Registers a codec class under its `name`. Documents may also use `aliases`, which are never written.

    A name that is already registered raises ArgumentError, unless `replace=True`. A class of the same name and module
    is always replaced, so that a notebook cell can run again. This holds for all `register_…` functions.

    Example:
        >>> @omnizarr.register_codec
        ... class Rot13(BytesCodec):
        ...     name = "example.rot13"
    """
    if codec is None:
        return partial(register_codec, aliases=aliases, replace=replace)
    from omnizarr.codecs import codecs

    return _register(codecs, codec, "name", aliases, replace)


@overload
def register_chunk_grid(grid: GridClass, /, *, replace: bool = False) -> GridClass: ...
@overload
def register_chunk_grid(*, replace: bool = False) -> Callable[[GridClass], GridClass]: ...
def register_chunk_grid(grid: Any = None, /, *, replace: bool = False) -> Any:
    """Registers a chunk grid class under its `name`; options as in `register_codec`."""
    if grid is None:
        return partial(register_chunk_grid, replace=replace)
    from omnizarr.grids import chunk_grids

    return _register(chunk_grids, grid, "name", (), replace)


@overload
def register_chunk_key_encoding(encoding: KeysClass, /, *, replace: bool = False) -> KeysClass: ...
@overload
def register_chunk_key_encoding(*, replace: bool = False) -> Callable[[KeysClass], KeysClass]: ...
def register_chunk_key_encoding(encoding: Any = None, /, *, replace: bool = False) -> Any:
    """Registers a chunk key encoding class under its `name`; options as in `register_codec`."""
    if encoding is None:
        return partial(register_chunk_key_encoding, replace=replace)
    from omnizarr.chunk_keys import chunk_key_encodings

    return _register(chunk_key_encodings, encoding, "name", (), replace)


@overload
def register_storage_transformer(transformer: TransformerClass, /, *, replace: bool = False) -> TransformerClass: ...
@overload
def register_storage_transformer(*, replace: bool = False) -> Callable[[TransformerClass], TransformerClass]: ...
def register_storage_transformer(transformer: Any = None, /, *, replace: bool = False) -> Any:
    """Registers a storage transformer class under its `name` and, for the drafts, its `uri`; options as in
    `register_codec`."""
    if transformer is None:
        return partial(register_storage_transformer, replace=replace)
    from omnizarr.transformers import storage_transformers

    uri = getattr(transformer, "uri", None)
    return _register(storage_transformers, transformer, "name", () if uri is None else (uri,), replace)


@overload
def register_chunk_memory_layout(layout: LayoutClass, /, *, replace: bool = False) -> LayoutClass: ...
@overload
def register_chunk_memory_layout(*, replace: bool = False) -> Callable[[LayoutClass], LayoutClass]: ...
def register_chunk_memory_layout(layout: Any = None, /, *, replace: bool = False) -> Any:
    """Registers an array → array codec class as a memory layout of the drafts, under its `name`, which is a URI."""
    if layout is None:
        return partial(register_chunk_memory_layout, replace=replace)
    from omnizarr.formats.draft.layouts import chunk_memory_layouts

    return _register(chunk_memory_layouts, layout, "name", (), replace, uri=True)


@overload
def register_metadata_encoding(encoding: EncodingLike, /, *, replace: bool = False) -> EncodingLike: ...
@overload
def register_metadata_encoding(*, replace: bool = False) -> Callable[[EncodingLike], EncodingLike]: ...
def register_metadata_encoding(encoding: Any = None, /, *, replace: bool = False) -> Any:
    """Registers an encoding of draft documents, or a class of one, under its `uri`."""
    if encoding is None:
        return partial(register_metadata_encoding, replace=replace)
    from omnizarr.formats.document_encoding import metadata_encodings

    return _register(metadata_encodings, encoding, "uri", (), replace, uri=True)


@overload
def register_data_type(name: str, reader: Item, /, *, aliases: tuple[str, ...] = (), replace: bool = False) -> Item: ...
@overload
def register_data_type(
    name: str, /, *, aliases: tuple[str, ...] = (), replace: bool = False
) -> Callable[[Item], Item]: ...
@overload
def register_data_type(data_type: Item, /, *, aliases: tuple[str, ...] = (), replace: bool = False) -> Item: ...
@overload
def register_data_type(*, aliases: tuple[str, ...] = (), replace: bool = False) -> Callable[[Item], Item]: ...
def register_data_type(
    what: Any = None, reader: Any = None, /, *, aliases: tuple[str, ...] = (), replace: bool = False
) -> Any:
    """Registers a data type.

    A data type without configuration is given as an instance or a class. One with configuration is given as a name and
    a function `reader(name, configuration, path, problems)` that returns the data type. The name can be the URI of a
    draft extension; then `configuration` holds its `type`.
    """
    if what is None or (isinstance(what, str) and reader is None):
        arguments = () if what is None else (what,)
        return partial(register_data_type, *arguments, aliases=aliases, replace=replace)
    from omnizarr.dtypes import DataType, data_types
    from omnizarr.dtypes.lookup import is_raw_name

    name, item = (what, reader) if isinstance(what, str) else (None, what)
    if name is None:
        if isinstance(item, type) and issubclass(item, DataType):
            try:
                name = item().name  # type: ignore[call-arg]  # raises TypeError unless all fields have defaults
            except TypeError as error:
                raise ArgumentError(
                    f"`{item.__name__}` cannot be instantiated without arguments: {error}",
                    argument="data_type",
                    hint="register a reader function: `register_data_type(name, reader)`",
                ) from None
        else:
            name = getattr(item, "name", None)
    for spelling in (name, *aliases):
        if isinstance(spelling, str) and is_raw_name(spelling):
            raise ArgumentError(f"`{spelling}` is reserved for raw bits", argument="name")
    data_types.register(_check_names(data_types, item, name, aliases), item, aliases=aliases, replace=replace)
    return item


@overload
def register_store(scheme: str, store: Item, /, *, replace: bool = False) -> Item: ...
@overload
def register_store(scheme: str, /, *, replace: bool = False) -> Callable[[Item], Item]: ...
def register_store(scheme: str, store: Any = None, /, *, replace: bool = False) -> Any:
    """Registers a store for URLs of a scheme.

    `store` is a class with the class method `from_url(url, **storage_options)`, a class whose constructor takes the
    URL, or a function that takes the URL and returns a store.
    """
    if store is None:
        return partial(register_store, scheme, replace=replace)
    from omnizarr.store.address.schemes import check_scheme, stores

    stores.register(check_scheme(scheme), store, replace=replace)
    return store


@overload
def register_extension(uri: str, check: Item, /, *, replace: bool = False) -> Item: ...
@overload
def register_extension(uri: str, /, *, replace: bool = False) -> Callable[[Item], Item]: ...
def register_extension(uri: str, check: Any = None, /, *, replace: bool = False) -> Any:
    """Registers an extension that documents of the drafts declare by its URI, so that they can be read.

    `check(configuration, path, problems)` checks the configuration in the document.
    """
    if check is None:
        return partial(register_extension, uri, replace=replace)
    from omnizarr.formats.draft.extensions import extensions

    extensions.register(_check_names(extensions, check, uri, (), uri=True), check, replace=replace)
    return check


def _register(
    registry: Registry[Any],
    item: Any,
    name_attribute: str,
    aliases: tuple[str, ...],
    replace: bool,
    *,
    uri: bool = False,
) -> Any:
    name = _check_names(registry, item, getattr(item, name_attribute, None), aliases, uri=uri)
    registry.register(name, item, aliases=aliases, replace=replace)
    return item


def _check_names(registry: Registry[Any], item: Any, name: Any, aliases: tuple[str, ...], *, uri: bool = False) -> str:
    """The name. Raises ArgumentError if it, or an alias, is not a name as in v3, or a URI as in the drafts."""
    for spelling in (name, *aliases):
        if not isinstance(spelling, str):
            raise ArgumentError(
                f"{item!r}: expected a string as the name of the {registry.kind}, found {spelling!r}",
                argument="name",
            )
        if not _URI.fullmatch(spelling) and (uri or not _NAME.fullmatch(spelling)):
            rule = "a URI" if uri else "a lowercase letter, then lowercase letters, digits, `_`, `-` and `.`; or a URI"
            raise ArgumentError(
                f"`{spelling}` cannot be the name of a {registry.kind}", argument="name", hint=f"expected {rule}"
            )
    return str(name)
