"""Registering extensions from a program, such as a notebook: functions, each of which is also a decorator. An installed
package needs none of them; its entry points say the same."""

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
    """Registers a class of codecs, by its `name`; `aliases` are read and never written.

    A name that is taken is refused, unless `replace=True`; but a class replaces one that was defined by the same name
    in the same module, so that a cell of a notebook can be run again. That holds for all of these functions.
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
    """Registers a class of chunk grids, by its `name`."""
    if grid is None:
        return partial(register_chunk_grid, replace=replace)
    from omnizarr.grids import chunk_grids

    return _register(chunk_grids, grid, "name", (), replace)


@overload
def register_chunk_key_encoding(encoding: KeysClass, /, *, replace: bool = False) -> KeysClass: ...
@overload
def register_chunk_key_encoding(*, replace: bool = False) -> Callable[[KeysClass], KeysClass]: ...
def register_chunk_key_encoding(encoding: Any = None, /, *, replace: bool = False) -> Any:
    """Registers a class of chunk key encodings, by its `name`."""
    if encoding is None:
        return partial(register_chunk_key_encoding, replace=replace)
    from omnizarr.chunk_keys import chunk_key_encodings

    return _register(chunk_key_encodings, encoding, "name", (), replace)


@overload
def register_storage_transformer(transformer: TransformerClass, /, *, replace: bool = False) -> TransformerClass: ...
@overload
def register_storage_transformer(*, replace: bool = False) -> Callable[[TransformerClass], TransformerClass]: ...
def register_storage_transformer(transformer: Any = None, /, *, replace: bool = False) -> Any:
    """Registers a class of storage transformers, by its `name`, which is a URI for the drafts."""
    if transformer is None:
        return partial(register_storage_transformer, replace=replace)
    from omnizarr.transformers import storage_transformers

    return _register(storage_transformers, transformer, "name", (), replace)


@overload
def register_chunk_memory_layout(layout: LayoutClass, /, *, replace: bool = False) -> LayoutClass: ...
@overload
def register_chunk_memory_layout(*, replace: bool = False) -> Callable[[LayoutClass], LayoutClass]: ...
def register_chunk_memory_layout(layout: Any = None, /, *, replace: bool = False) -> Any:
    """Registers an array → array codec as a memory layout of the drafts, by its `name`, which is a URI."""
    if layout is None:
        return partial(register_chunk_memory_layout, replace=replace)
    from omnizarr.formats.draft.arrays import chunk_memory_layouts

    return _register(chunk_memory_layouts, layout, "name", (), replace, uri=True)


@overload
def register_metadata_encoding(encoding: EncodingLike, /, *, replace: bool = False) -> EncodingLike: ...
@overload
def register_metadata_encoding(*, replace: bool = False) -> Callable[[EncodingLike], EncodingLike]: ...
def register_metadata_encoding(encoding: Any = None, /, *, replace: bool = False) -> Any:
    """Registers how documents of the drafts become bytes, by its `uri`: an encoding, or a class that makes one."""
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
    """Registers a data type: one without configuration as it is, or as its class; one with a configuration as a name
    and the function that reads it, `reader(name, configuration, path, problems)`. What is named by the URI of an
    extension of the drafts is read by such a function too, and finds the `type` in the configuration."""
    if what is None or (isinstance(what, str) and reader is None):
        given = () if what is None else (what,)
        return partial(register_data_type, *given, aliases=aliases, replace=replace)
    from omnizarr.dtypes import DataType, data_types
    from omnizarr.dtypes.raw import is_raw_name

    name, item = (what, reader) if isinstance(what, str) else (None, what)
    if name is None:
        if isinstance(item, type) and issubclass(item, DataType):
            try:
                name = item().name  # type: ignore[call-arg]  # a class that has defaults for all its fields
            except TypeError as error:
                raise ArgumentError(
                    f"`{item.__name__}` cannot be made without arguments: {error}",
                    argument="data_type",
                    hint="register a function that reads it: `register_data_type(name, reader)`",
                ) from None
        else:
            name = getattr(item, "name", None)
    for spelling in (name, *aliases):
        if isinstance(spelling, str) and is_raw_name(spelling):
            raise ArgumentError(f"`{spelling}` is a name for raw bits", argument="name")
    data_types.register(_checked(data_types, item, name, aliases), item, aliases=aliases, replace=replace)
    return item


@overload
def register_store(scheme: str, store: Item, /, *, replace: bool = False) -> Item: ...
@overload
def register_store(scheme: str, /, *, replace: bool = False) -> Callable[[Item], Item]: ...
def register_store(scheme: str, store: Any = None, /, *, replace: bool = False) -> Any:
    """Registers what opens URLs of a scheme: a class of stores with a class method `from_url(url, **storage_options)`,
    a class that takes the URL itself, or a function that does and gives a store."""
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
    """Registers an extension that documents of the drafts declare, as understood: `check(configuration, path,
    problems)` looks at the configuration that they give."""
    if check is None:
        return partial(register_extension, uri, replace=replace)
    from omnizarr.formats.draft.extensions import extensions

    extensions.register(_checked(extensions, check, uri, (), uri=True), check, replace=replace)
    return check


def _register(
    registry: Registry[Any], item: Any, named_by: str, aliases: tuple[str, ...], replace: bool, *, uri: bool = False
) -> Any:
    name = _checked(registry, item, getattr(item, named_by, None), aliases, uri=uri)
    registry.register(name, item, aliases=aliases, replace=replace)
    return item


def _checked(registry: Registry[Any], item: Any, name: Any, aliases: tuple[str, ...], *, uri: bool = False) -> str:
    """The name, if documents may hold it and the aliases: those of version 3 follow a rule, the drafts use URIs."""
    for spelling in (name, *aliases):
        if not isinstance(spelling, str):
            raise ArgumentError(f"{item!r} does not say the name of a {registry.kind}", argument="name")
        if not _URI.fullmatch(spelling) and (uri or not _NAME.fullmatch(spelling)):
            rule = "a URI" if uri else "a small letter, then small letters, digits, `_`, `-` and `.`; or a URI"
            raise ArgumentError(
                f"`{spelling}` cannot be the name of a {registry.kind}", argument="name", hint=f"expected {rule}"
            )
    return str(name)
