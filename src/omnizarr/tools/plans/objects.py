"""`CopyObjects`: a stage that copies stored objects as they are, some hundreds per task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, NamedTuple

from omnizarr.chunk_keys import ChunkKeys
from omnizarr.errors import StoreError
from omnizarr.nodes import Array
from omnizarr.store import Buffer, Store
from omnizarr.tools.plans.journal import PlanJournal
from omnizarr.tools.plans.regions import with_known_keys
from omnizarr.tools.plans.stage import PlanCost, Stage

__all__ = [
    "CopyObjects",
    "Page",
    "changed_pages",
    "note_pages",
    "noted_count",
    "object_keys",
    "pages_of",
    "read_page",
    "sample_size",
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


def object_keys(array: Array) -> Iterator[str]:
    """The keys of the stored chunks of an array, below its chunk prefix."""
    context, model = array._context, with_known_keys(array).metadata
    prefix = context.dialect.chunk_prefix(array.path)
    documents = {*context.dialect.keys(array.path), context.dialect.consolidated_key(array.path)}
    for key in array.store.list_prefix(prefix):
        name = key[len(prefix) :]
        if key in documents:
            continue
        # A storage transformer has keys of its own; otherwise only chunks belong to the array.
        if model.storage_transformers or model.chunk_keys.coordinates(name, array.ndim) is not None:
            yield name


def pages_of(
    array: Array, target_prefix: str, new_keys: ChunkKeys | None = None, per_task: int = _PER_TASK
) -> Iterator[Page]:
    """The stored chunks of an array, as the pages of tasks. `new_keys` are the chunk keys of the target if they
    differ."""
    names = iter(sorted(object_keys(array)))
    prefix = array._context.dialect.chunk_prefix(array.path)
    old_keys = with_known_keys(array).metadata.chunk_keys
    while page := list(islice(names, per_task)):
        new = None
        if new_keys is not None:
            new = [new_keys.key(old_keys.coordinates(name, array.ndim) or ()) for name in page]
        yield Page(prefix, target_prefix, page, new)


def changed_pages(pages: Iterable[Page], source: Store, target: Store) -> Iterator[Page]:
    """The pages without the objects that the target holds with the same length."""

    def differs(keys: tuple[str, str]) -> bool:
        return target.size(keys[1]) != source.size(keys[0])

    threads = _REQUESTS if source.remote or target.remote else 1
    with ThreadPoolExecutor(threads) as pool:
        for page in pages:
            different = list(pool.map(differs, page.pairs()) if threads > 1 else map(differs, page.pairs()))
            copies = [name for name, copy in zip(page.names, different, strict=True) if copy]
            new = None
            if page.new_names is not None:
                new = [name for name, copy in zip(page.new_names, different, strict=True) if copy]
            if copies:
                yield page._replace(names=copies, new_names=new)


def note_pages(journal: PlanJournal, pages: Sequence[Page], tag: str = "page") -> None:
    """Stores the pages in the journal, so that a resumed run and other processes have the same tasks. `tag`
    distinguishes the pages of several stages."""
    for index, page in enumerate(pages):
        journal.note(f"{tag}/{index // 1000}/{index}", json.dumps(page).encode())
    journal.note(f"{tag}s", str(len(pages)).encode())


def noted_count(journal: PlanJournal, tag: str = "page") -> int | None:
    """The number of pages in the journal; None if it has none yet."""
    note = journal.read_note(f"{tag}s") if journal.ready() else None
    return None if note is None else int(note)


def read_page(journal: PlanJournal, index: int, tag: str = "page") -> Page:
    """A page from the journal."""
    note = journal.read_note(f"{tag}/{index // 1000}/{index}")
    if note is None:
        raise StoreError(f"the journal of the plan lacks the keys of task {index}", store=repr(journal.store))
    return Page(*json.loads(note))


def sample_size(store: Store, pages: Sequence[Page]) -> int:
    """The mean length of a few objects."""
    keys = [page.source + page.names[0] for page in pages[:: max(1, len(pages) // 8)]][:8]
    sizes = [store.size(key) or 0 for key in keys]
    return sum(sizes) // max(1, len(sizes))


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

    @property
    def cost(self) -> PlanCost:
        largest = self.bytes // max(1, self.files) * (1 + self._requests(self.source, self.source_requests))
        return PlanCost(read=self.bytes, written=self.bytes, files=self.files, memory=largest)

    def run(self, index: int) -> int:
        page = self.pages[index] if self.pages is not None else read_page(self.journal, index)
        reads = self._requests(self.source, self.source_requests)
        writes = self._requests(self.target, self.target_requests)
        if reads == writes == 1:
            return sum(self._put(new, self.source.get(old)) for old, new in page.pairs())
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

    def _put(self, key: str, value: Buffer | None) -> int:
        if value is None:  # erased since the plan was made
            return 0
        self.target.set(key, value)
        if self.verify and self.target.get_current(key) != value:
            raise StoreError(f"the copy `{key}` differs from its source", store=repr(self.target))
        return len(value)

    @staticmethod
    def _requests(store: Store, limit: int) -> int:
        return limit or (_REQUESTS if store.remote else 1)
