"""Metadata documents of nodes: their stored bytes, their parsed form, and the model that they describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from omnizarr._json import Json, Problems
from omnizarr.config import config
from omnizarr.errors import (
    ArgumentError,
    ExtensionError,
    MetadataError,
    MissingDependencyError,
    OmnizarrError,
    Problem,
    StoreError,
    warn,
)
from omnizarr.formats import Dialect, Documents, NodeModel
from omnizarr.formats.document_encoding import JSON, LENIENT_JSON, Encoding
from omnizarr.store import Buffer, ByteRange, ReadOnlyStore, Request, Store

__all__ = [
    "describe_location",
    "document_values",
    "dump_node",
    "encode_document",
    "parse_documents",
    "parse_node",
]


def describe_location(store: Store, path: str) -> str:
    """A location as errors name it, such as `temps/daily` in LocalStore(data.zarr)."""
    shown = store.inner if isinstance(store, ReadOnlyStore) else store  # the mode is no part of the location
    return f"`{path or '/'}` in {shown!r}"


# -- stored values


def document_values(
    store: Store, keys: Sequence[str], partial: Sequence[Request] = (), *, each: bool = False
) -> dict[str, Buffer | OmnizarrError | None]:
    """The stored values of `keys`, and parts of further values, fetched together; None for an absent key.

    With `each`, a StoreError becomes the value of its key instead of ending the call. No request asks for more bytes
    than show that a document exceeds the size limit.
    """
    whole: ByteRange = (0, config.current.max_document_bytes + 1)
    requests: list[Request] = [(key, whole) for key in keys]
    if partial:
        requests += [(key, part or whole) for key, part in partial]
    if not requests:
        return {}
    try:
        return dict(zip([key for key, _ in requests], store.get_partial_values(requests), strict=True))
    except StoreError:
        if not each:
            raise
        values: dict[str, Buffer | OmnizarrError | None] = {}
        for key in keys:
            try:
                values[key] = store.get(key, whole)
            except StoreError as error:
                values[key] = error
        return values


def encode_document(key: str, document: Json, encoding: Encoding) -> bytes:
    """The bytes of a document. Raises ArgumentError above the size limit, because no reader would accept them."""
    data = encoding.dump(document)
    limit = config.current.max_document_bytes
    if len(data) > limit:
        raise ArgumentError(
            f"the document `{key}` would be {len(data)} bytes long, more than the limit of {limit}",
            argument="attributes",
            hint="raise the limit with `omnizarr.config.set(max_document_bytes=...)`",
        )
    return data


# -- parsed documents


def parse_documents(
    store: Store, values: Mapping[str, Buffer | OmnizarrError | None], encoding: Encoding = JSON
) -> dict[str, Json]:
    """The parsed documents by key, without absent ones. Raises the error that stands in place of a value."""
    return {key: _parse_document(store, key, value, encoding) for key, value in values.items() if value is not None}


def _parse_document(store: Store, key: str, value: Buffer | OmnizarrError, encoding: Encoding) -> Json:
    if isinstance(value, OmnizarrError):
        raise value
    limit = config.current.max_document_bytes
    if encoding is JSON or encoding is LENIENT_JSON:
        try:
            return encoding.parse(value, "", limit=limit)
        except MetadataError:
            pass  # the description of the document takes time, and only errors need it
    what = f"the document `{key}` in {store!r}"
    if len(value) > limit:
        raise MetadataError(
            f"{what} is longer than the limit of {limit} bytes",
            hint="raise the limit with `omnizarr.config.set(max_document_bytes=...)`, if you trust the writer",
        )
    return encoding.parse(value, what, limit=limit)


# -- models


def parse_node(
    dialect: Dialect,
    store: Store,
    path: str,
    documents: Documents,
    *,
    quiet: bool = False,
    problems: Problems | None = None,
) -> NodeModel:
    """The model that documents describe. Raises MetadataError with all problems.

    Warns once about all deviations that it accepts, which are added to `problems`. `quiet` suppresses the warning for a
    node that is already open.
    """
    problems = Problems() if problems is None else problems
    try:
        model = dialect.parse(path, documents, problems)
    except (ExtensionError, MissingDependencyError) as error:
        raise error.add_context(f"cannot open {_describe_node(dialect, store, path, documents)}") from error.__cause__
    if model is None or problems or problems.warnings:
        node = _describe_node(dialect, store, path, documents)
        names = ", ".join(f"`{key.removeprefix(f'{path}/')}`" for key in documents)
        if model is None or problems:
            raise MetadataError(f"cannot open {node}: {_count(problems.found)} in {names}", problems.found, path=path)
        if not quiet:
            lines = "".join(f"\n  {problem.path}: {problem.message}" for problem in problems.warnings)
            warn(f"{node}: accepted {_count(problems.warnings)} in {names}{lines}")
    return model


def _describe_node(dialect: Dialect, store: Store, path: str, documents: Documents) -> str:
    return f"{dialect.node_type(path, documents) or 'node'} {describe_location(store, path)}"


def _count(problems: Sequence[Problem]) -> str:
    return "1 problem" if len(problems) == 1 else f"{len(problems)} problems"


def dump_node(dialect: Dialect, path: str, node: NodeModel) -> dict[str, bytes]:
    """The encoded documents of a node, by key. Raises ArgumentError if the generation cannot express the node."""
    losses = dialect.losses(path, node)
    if losses:
        raise ArgumentError(
            f"`{path or '/'}` cannot be written in {dialect.format_name}: {'; '.join(losses)}",
            argument="zarr_format",
        )
    return {key: encode_document(key, document, dialect.encoding) for key, document in dialect.dump(path, node).items()}
