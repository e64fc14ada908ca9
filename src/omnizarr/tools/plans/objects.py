"""`CopyObjects`: a stage that copies stored objects as they are, some hundreds per task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby, islice
from typing import ClassVar, NamedTuple

from omnizarr.chunk_keys import ChunkKeys
from omnizarr.config import config
from omnizarr.engine.write.native import write_values
from omnizarr.errors import StoreError
from omnizarr.native import kernel
from omnizarr.nodes import Array
from omnizarr.store import Buffer, LocalFiles, Store
from omnizarr.store.sizes import list_sizes
from omnizarr.tools.plans.journal import PlanJournal
from omnizarr.tools.plans.regions import chunk_bytes, with_known_keys
from omnizarr.tools.plans.stage import PlanCost, Stage

__all__ = [
    "CopyObjects",
    "Page",
    "changed_pages",
    "copied_together",
    "object_keys",
    "pages_of",
    "read_page",
    "sample_size",
    "store_pages",
    "stored_page_count",
]


class Page(NamedTuple):
    """The objects of one task: the prefix in the source, the prefix in the target, and the keys below them."""

    source: str
    target: str
    names: list[str]
    new_names: list[str] | None = None
    """The keys in the target, if they differ."""

    def pairs(self) -> Iterator[tuple[str, str]]:
        """The key of each object in the source and in the target."""
        for name, new in zip(self.names, self.new_names or self.names, strict=True):
            yield self.source + name, self.target + new


_PER_TASK = 256  # objects
_REQUESTS = 32  # in flight per task, if a store is remote
_SAMPLED = 16  # pages
_TOGETHER = 4  # small objects of a directory that the kernel writes in one call
_TOGETHER_BYTES = 2**18  # with twice as many, the allocator returns memory after each batch (measured)


def object_keys(array: Array, below: Iterable[str] | None = None) -> Iterator[str]:
    """The keys of the stored chunks of an array, below its chunk prefix. `below` are all keys there, if the caller has
    listed them."""
    context, model = array._context, with_known_keys(array).metadata
    prefix = context.dialect.chunk_prefix(array.path)
    documents = {*context.dialect.keys(array.path), context.dialect.consolidated_key(array.path)}
    coordinates, rank, skip = model.chunk_keys.coordinates, array.ndim, len(prefix)
    for key in array.store.list_prefix(prefix) if below is None else below:
        if key in documents:
            continue
        name = key[skip:]
        # A storage transformer has keys of its own; otherwise only chunks belong to the array.
        if model.storage_transformers or coordinates(name, rank) is not None:
            yield name


def pages_of(
    array: Array,
    target_prefix: str,
    new_keys: ChunkKeys | None = None,
    per_task: int = _PER_TASK,
    *,
    below: Iterable[str] | None = None,
) -> Iterator[Page]:
    """The stored chunks of an array, as the pages of tasks. `new_keys` are the chunk keys of the target if they
    differ, and `below` the keys to copy if they are not all."""
    names = iter(sorted(object_keys(array, below)))
    prefix = array._context.dialect.chunk_prefix(array.path)
    old_keys = with_known_keys(array).metadata.chunk_keys
    while page := list(islice(names, per_task)):
        new = None
        if new_keys is not None:
            new = [new_keys.key(old_keys.coordinates(name, array.ndim) or ()) for name in page]
        yield Page(prefix, target_prefix, page, new)


def changed_pages(array: Array, target: Store, target_prefix: str) -> Iterator[Page]:
    """The pages of an array that is copied as it is, without the objects that the target holds with the same length."""
    size_of = dict(list_sizes(target, target_prefix)).get if target.listable else target.size
    prefix = array._context.dialect.chunk_prefix(array.path)
    skip = len(prefix)
    changed = [key for key, size in list_sizes(array.store, prefix) if size_of(target_prefix + key[skip:]) != size]
    return pages_of(array, target_prefix, below=changed)


def store_pages(journal: PlanJournal, pages: Sequence[Page], tag: str = "page") -> None:
    """Stores the pages in the journal, so that a resumed run and other processes have the same tasks. `tag`
    distinguishes the pages of several stages."""
    for index, page in enumerate(pages):
        journal.put(f"{tag}/{index // 1000}/{index}", json.dumps(page).encode())
    journal.put(f"{tag}s", str(len(pages)).encode())


def stored_page_count(journal: PlanJournal, tag: str = "page") -> int | None:
    """The number of pages in the journal; None if it has none yet."""
    count = journal.get(f"{tag}s") if journal.ready() else None
    return None if count is None else int(count)


def read_page(journal: PlanJournal, index: int, tag: str = "page") -> Page:
    """A page from the journal."""
    page = journal.get(f"{tag}/{index // 1000}/{index}")
    if page is None:
        raise StoreError(f"the journal of the plan lacks the keys of task {index}", store=repr(journal.store))
    return Page(*json.loads(page))


def sample_size(store: Store, pages: Sequence[Page]) -> int:
    """The mean length of the objects, from one of each of a few pages."""
    sampled = pages[:: -(-len(pages) // _SAMPLED) or 1]
    total = sum((store.size(page.source + page.names[0]) or 0) * len(page.names) for page in sampled)
    return total // max(1, sum(len(page.names) for page in sampled))


def copied_together(arrays: Iterable[Array]) -> int:
    """How many objects of these arrays fit into the memory for objects that are copied together."""
    sizes = [
        _TOGETHER_BYTES
        if array.dtype.hasobject or array.dtype.kind == "T"
        else chunk_bytes(array, array.shards or array.chunks)
        for array in arrays
    ]
    return max(1, min(_TOGETHER, _TOGETHER_BYTES // max(1, *sizes, 1)))


@dataclass(frozen=True)
class CopyObjects(Stage):
    """Task i copies the objects of page i, which the journal holds; `pages` holds them if there is no journal."""

    name: ClassVar[str] = "copy objects"
    source: Store
    target: Store
    journal: PlanJournal
    count: int
    bytes: int = 0
    """An estimate of the bytes to copy."""
    files: int = 0
    verify: bool = False
    source_requests: int = 0
    """Reads in flight per task; 0 chooses."""
    target_requests: int = 0
    """Writes in flight per task; 0 chooses."""
    pages: tuple[Page, ...] | None = None
    together: int = 1
    """Objects of a directory that are copied together, if both stores are local."""

    @property
    def cost(self) -> PlanCost:
        largest = self.bytes // max(1, self.files) * (1 + self._requests(self.source, self.source_requests))
        return PlanCost(read=self.bytes, written=self.bytes, files=self.files, memory=largest)

    def run(self, index: int) -> int:
        page = self.pages[index] if self.pages is not None else read_page(self.journal, index)
        reads = self._requests(self.source, self.source_requests)
        writes = self._requests(self.target, self.target_requests)
        if reads == writes == 1:
            return self._copy(page)
        written = 0
        with ThreadPoolExecutor(reads) as readers, ThreadPoolExecutor(writes) as writers:
            batch = max(reads, writes)  # so that memory stays bounded
            keys = list(page.pairs())
            for first in range(0, len(keys), batch):
                part = keys[first : first + batch]
                values = readers.map(lambda pair: self.source.get(pair[0]), part)
                sizes = [writers.submit(self._put, new, value) for (_, new), value in zip(part, values, strict=True)]
                written += sum(size.result() for size in sizes)
        return written

    def _copy(self, page: Page) -> int:
        """Copies the objects of a page one after the other, or those of a directory in small batches: each call of the
        kernel releases the lock of the interpreter once, instead of for each system call."""
        files = self.target.local_files if self.together > 1 and config.current.native and kernel() else None
        if files is None:
            return sum(self._put(new, self.source.get(old)) for old, new in page.pairs())
        written = 0
        for _, pairs in groupby(page.pairs(), key=lambda pair: pair[1].rpartition("/")[0]):
            while batch := list(islice(pairs, self.together)):
                written += self._put_batch(files, batch)
        return written

    def _put_batch(self, files: LocalFiles, pairs: Sequence[tuple[str, str]]) -> int:
        if len(pairs) == 1:
            return self._put(pairs[0][1], self.source.get(pairs[0][0]))
        values = self.source.get_partial_values([(old, None) for old, _ in pairs])
        stored = {new: value for (_, new), value in zip(pairs, values, strict=True) if value is not None}
        if stored and not write_values(self.target, files, [*stored], [*stored.values()]):
            self.target.set_each(stored.items())
        for key, value in stored.items():
            self._check(key, value)
        return sum(map(len, stored.values()))

    def _put(self, key: str, value: Buffer | None) -> int:
        if value is None:  # erased since the plan was made
            return 0
        self.target.set(key, value)
        self._check(key, value)
        return len(value)

    def _check(self, key: str, value: Buffer) -> None:
        """If asked to, reads an object back and compares it."""
        if self.verify and self.target.get_current(key) != value:
            raise StoreError(f"the copy `{key}` differs from its source", store=repr(self.target))

    @staticmethod
    def _requests(store: Store, limit: int) -> int:
        return limit or (_REQUESTS if store.remote else 1)
