"""Checks of stored data: every chunk is decoded, and every key belongs to a node."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from omnizarr.codecs import BoundSharding, Chain
from omnizarr.engine import Layout
from omnizarr.engine.layout import sharding_of
from omnizarr.errors import CodecError, MetadataError, OmnizarrError, StoreError
from omnizarr.formats import Dialect
from omnizarr.formats.document_keys import OWN_PREFIXES, STATISTICS_PREFIX
from omnizarr.nodes import Array
from omnizarr.nodes.create.array_handle import array_handle
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Store
from omnizarr.tools.results import Progress
from omnizarr.tools.validation.findings import Finding, FindingKind, Level
from omnizarr.tools.validation.nodes import CheckedNode
from omnizarr.tools.validation.rules import mend

__all__ = ["ChunkCheck", "Damage"]

_MEND = "write the chunk again from its source; until then, open with `on_corrupt`"
_RAISE = "raise the limit, for example with OMNIZARR_MAX_CHUNK_BYTES=16000000000 in the environment"
_KNOWN_NAMES = frozenset((".zmetadata", ".nczarr", ".nczgroup", ".nczarray", ".nczattr", ".nczattrs"))
"""Documents of other programs that lie in hierarchies by convention."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A stored value, or an inner chunk of one, that the codecs of its array reject."""

    path: str
    """The path of the array."""
    key: str
    message: str
    part: int | None = None
    """The number of the inner chunk; None if the whole value is lost."""


class ChunkCheck:
    """Decodes the chunks of all nodes that were added, with a few chunks in memory at once."""

    def __init__(self, store: Store, dialect: Dialect, progress: Progress | None) -> None:
        self._store = store
        self._dialect = dialect
        self._progress = progress
        self._nodes: list[CheckedNode] = []
        self.count = 0
        """The number of decoded chunks; of inner chunks, if there are shards."""
        self.stored_bytes = 0
        self.decoded: Counter[str] = Counter()
        """The number of decoded chunks by the path of their array."""
        self.damages: list[Damage] = []
        """What is damaged; a value that could not be read for another reason is not in this list."""

    def add(self, node: CheckedNode) -> None:
        self._nodes.append(node)

    def run(self) -> Iterator[Finding]:
        """The findings about all stored keys."""
        if not self._store.listable:
            raise StoreError(f"{self._store!r} cannot list its keys, so its chunks cannot be checked")
        arrays = {node.path: node for node in self._nodes if node.kind == "array"}
        documents = {key for node in self._nodes for key in node.values}
        documents |= self._dialect.hierarchy_documents().keys()
        total = 0
        for node in arrays.values():
            if node.array is None:
                continue
            layout = self._layout(node)
            if isinstance(layout, OmnizarrError):
                yield self._finding("error", "undecodable", node.path, None, layout.message, None)
                continue
            keys = list(layout.store.list_prefix(layout.prefix))
            total += len(keys)
            excess = _excess(layout)
            for key in keys:
                if excess is not None and self._is_chunk(layout, key):
                    if excess:
                        message = f"chunks are not decoded: {excess}"
                        yield self._finding("warning", "unchecked", node.path, key, message, "chunk", _RAISE)
                        excess = ""
                    continue
                yield from self._key(node, layout, key, documents, arrays)
                if self._progress is not None:
                    self._progress(self.count, max(total, self.count))
        yield from self._outside(arrays, documents)

    def _layout(self, node: CheckedNode) -> Layout | OmnizarrError:
        assert node.array is not None
        try:
            handle = array_handle(NodeContext(self._store, node.path, self._dialect), node.array)
            assert isinstance(handle, Array)
            if node.array.guessed_keys:
                handle._guess_keys()
            layout = handle._layout
            return layout
        except (OmnizarrError, MetadataError) as error:
            return error

    @staticmethod
    def _is_chunk(layout: Layout, key: str) -> bool:
        """Whether a key is that of a chunk inside the array."""
        chunk = layout.model.chunk_keys.coordinates(key[len(layout.prefix) :], len(layout.axes))
        return chunk is not None and _is_inside(layout, chunk)

    # -- one key of an array

    def _key(
        self, node: CheckedNode, layout: Layout, key: str, documents: set[str], arrays: dict[str, CheckedNode]
    ) -> Iterator[Finding]:
        chunk = layout.model.chunk_keys.coordinates(key[len(layout.prefix) :], len(layout.axes))
        if chunk is None:
            if key.startswith(OWN_PREFIXES) or key in documents or key.rpartition("/")[2] in _KNOWN_NAMES:
                return
            if key[len(layout.prefix) :].startswith(STATISTICS_PREFIX):
                return
            parent = key.rpartition("/")[0]
            if parent != node.path and key in self._dialect.identifying_keys(parent):
                yield self._placed("error", "hierarchy", "child", node.path, key, "a node lies below the array")
            elif not any(other != node.path and key.startswith(f"{other}/") for other in arrays):
                yield self._placed("warning", "foreign", "foreign", node.path, key, "is neither a document nor a chunk")
            return
        if not _is_inside(layout, chunk):
            yield self._placed(
                "warning",
                "orphan",
                "orphan",
                node.path,
                key,
                f"chunk {chunk} lies outside of shape {layout.model.shape}",
            )
            return
        try:
            yield from self._decode(node, layout, layout.chain(chunk), key)
        except StoreError as error:
            yield self._finding("error", "undecodable", node.path, key, error.message, None)

    def _decode(self, node: CheckedNode, layout: Layout, chain: Chain, key: str) -> Iterator[Finding]:
        sharding = sharding_of(chain)
        if sharding is not None:
            yield from self._decode_shard(node, layout, sharding, key)
            return
        self._count(node)
        try:
            data = layout.get(key, chain.encoded.limit)
            if data is None:
                return  # erased since the listing
            self.stored_bytes += len(data)
            if not len(data) and chain.encoded.size != 0:
                yield self._lost(node, key, "is empty", "chunk")
                return
            chain.decode(data)
        except CodecError as error:
            yield self._damaged(node, key, error, self._is_short(layout, chain, key))
        except MemoryError:
            yield self._finding("error", "undecodable", node.path, key, "needs too much memory", "chunk")

    @staticmethod
    def _is_short(layout: Layout, chain: Chain, key: str) -> bool:
        size = layout.store.size(key)
        return size is not None and chain.encoded.size is not None and size < chain.encoded.size

    def _decode_shard(self, node: CheckedNode, layout: Layout, sharding: BoundSharding, key: str) -> Iterator[Finding]:
        """Checks the index of a shard, then each inner chunk."""
        size = layout.store.size(key)
        if size is None:
            return
        self.stored_bytes += size
        if size < sharding.index_size:
            message = f"has {size} bytes, less than the {sharding.index_size} of its index"
            yield self._lost(node, key, message, "sharding_indexed")
            return
        try:
            data = layout.store.get(key, sharding.index_range)
            assert data is not None
            index = sharding.decode_index(data, size)
        except CodecError as error:
            torn = "but the shard has" in error.message
            yield self._damaged(node, key, error, torn, place="the index of the shard")
            return
        inner = sharding.inner
        nested = sharding_of(inner)
        for number in index.present():
            extent = index[number]
            assert extent is not None
            self._count(node)
            try:
                part = layout.store.get(key, extent)
                assert part is not None
                if nested is None:
                    inner.decode(part)
                else:
                    for piece in nested.split(part):
                        if piece is not None:
                            nested.inner.decode(piece)
            except CodecError as error:
                yield self._damaged(node, key, error, False, place=f"inner chunk {number}", part=number)

    def _count(self, node: CheckedNode) -> None:
        self.count += 1
        self.decoded[node.path] += 1

    def _lost(self, node: CheckedNode, key: str, message: str, codec: str) -> Finding:
        """A value that is too short to hold anything."""
        self.damages.append(Damage(node.path, key, message))
        return self._finding("error", "torn", node.path, key, message, codec)

    def _damaged(
        self,
        node: CheckedNode,
        key: str,
        error: CodecError,
        torn: bool,
        place: str | None = None,
        part: int | None = None,
    ) -> Finding:
        message = error.message if place is None else f"{place}: {error.message}"
        self.damages.append(Damage(node.path, key, message, part))
        kind: FindingKind = "torn" if torn or _ends_early(message) else "undecodable"
        return self._finding("error", kind, node.path, key, message, error.codec)

    # -- keys outside of arrays

    def _outside(self, arrays: dict[str, CheckedNode], documents: set[str]) -> Iterator[Finding]:
        """Keys directly in groups that are no documents, and keys of data without an array."""
        store, dialect = self._store, self._dialect
        for node in self._nodes:
            if node.kind == "array":
                continue
            prefixes = dict.fromkeys((dialect.listing_prefix(node.path), dialect.chunk_prefix(node.path)))
            for prefix in prefixes:
                keys, below = store.list_dir(prefix)
                for key in keys:
                    name = key.rpartition("/")[2]
                    if key not in documents and name not in _KNOWN_NAMES and not self._is_data(key, arrays):
                        message = "belongs to no node"
                        yield self._placed("warning", "foreign", "foreign", node.path, key, message)
                if prefix != dialect.listing_prefix(node.path):
                    yield from self._data_without_array(node, prefix, below, arrays)

    def _is_data(self, key: str, arrays: dict[str, CheckedNode]) -> bool:
        return any(key.startswith(self._dialect.chunk_prefix(path)) for path in arrays if path == "")

    def _data_without_array(
        self, node: CheckedNode, prefix: str, below: object, arrays: dict[str, CheckedNode]
    ) -> Iterator[Finding]:
        """Directories of chunks whose array has no document, in generations that keep data apart."""
        known = {other.path for other in self._nodes}
        for directory in below:  # type: ignore[attr-defined]
            name = directory[len(prefix) : -1]
            path = f"{node.path}/{name}" if node.path else name
            if path not in known and not any(other.startswith(f"{path}/") for other in known):
                yield self._placed("warning", "orphan", "orphan", node.path, directory, "holds data without an array")

    # -- findings

    def _placed(
        self, level: Level, kind: FindingKind, place: object, path: str, key: str | None, message: str
    ) -> Finding:
        rule = self._dialect.rules.hierarchy[place]  # type: ignore[index]
        return Finding(level, rule, kind, f"/{path}", key, None, message, mend(rule))

    def _finding(
        self,
        level: Level,
        kind: FindingKind,
        path: str,
        key: str | None,
        message: str,
        codec: str | None,
        mend: str = _MEND,
    ) -> Finding:
        rules = self._dialect.rules.codecs
        rule = rules.get(codec or "", rules[""])
        return Finding(level, rule, kind, f"/{path}", key, None, message, mend)


def _excess(layout: Layout) -> str | None:
    """Why the chunks of an array are larger than the limit for memory; None if they are not."""
    largest = layout.largest
    try:
        if largest is not None:
            layout.check_size(largest)
    except CodecError as error:
        return error.message
    return None


def _is_inside(layout: Layout, chunk: tuple[int, ...]) -> bool:
    return all(index < axis.count for index, axis in zip(chunk, layout.axes, strict=True))


def _ends_early(message: str) -> bool:
    """Whether an error of a codec says that the stored value has fewer bytes than it needs."""
    numbers = re.search(r"expected\D*(\d+) bytes.*found (\d+)", message)
    short = numbers is not None and int(numbers[2]) < int(numbers[1])
    return short or any(words in message for words in ("too short", "truncated", "ended before", "incomplete"))
