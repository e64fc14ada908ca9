"""The journal of a plan: which of its tasks are done, as small values in the store of the target.

Its keys begin with `.omnizarr-plan/` and the identity of the plan: `plan` says that the plan has begun, `ready` that
the metadata of the target are written, and `1/0/17` that task 17 of the second stage is done. A thousand records share
a prefix, because directories with a million files are slow. `Plan.finish` erases them all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from omnizarr.formats.document_keys import PLANS_PREFIX
from omnizarr.store import Store
from omnizarr.store.update import set_if_absent

__all__ = ["PlanJournal"]

_PER_FOLDER = 1000
_FINISHED = b"finished"  # the value of `plan` while the journal is erased


@dataclass(frozen=True)
class PlanJournal:
    """The journal of the plan `identity` in `store`. `store` is None if the target cannot hold records: then nothing is
    recorded, and every run starts from the beginning."""

    store: Store | None
    identity: str

    @property
    def prefix(self) -> str:
        """The prefix of all keys of this journal."""
        return f"{PLANS_PREFIX}{self.identity}/"

    # -- the plan

    def claim(self, text: str) -> bool:
        """Records that the plan has begun; False if another process, or an earlier run, did so."""
        return self.store is None or set_if_absent(self.store, f"{self.prefix}plan", text.encode())

    def begun(self) -> bool:
        """Whether the plan has begun."""
        return self.store is not None and self.store.exists(f"{self.prefix}plan")

    def set_ready(self) -> None:
        """Records that the metadata of the target are written, so that tasks may run."""
        if self.store is not None:
            self.store.set(f"{self.prefix}ready", b"")

    def ready(self) -> bool:
        """Whether tasks may run."""
        return self.store is not None and self.store.exists(f"{self.prefix}ready")

    # -- values: what the coordinator tells the tasks, such as the keys that each copies

    def put(self, name: str, value: bytes) -> None:
        """Stores a value under a name."""
        if self.store is not None:
            self.store.set(f"{self.prefix}notes/{name}", value)

    def get(self, name: str) -> bytes | None:
        """The value with that name; None if there is none."""
        value = None if self.store is None else self.store.get(f"{self.prefix}notes/{name}")
        return None if value is None else bytes(value)

    # -- tasks

    def record(self, stage: int, task: int) -> None:
        """Records that a task is done."""
        if self.store is not None:
            self.store.set(f"{self.prefix}{stage}/{task // _PER_FOLDER}/{task}", b"")

    def done(self, stage: int) -> set[int]:
        """The tasks of a stage that are done."""
        if self.store is None:
            return set()
        names = (key.rpartition("/")[2] for key in self.store.list_prefix(f"{self.prefix}{stage}/"))
        return {int(name) for name in names if name.isascii() and name.isdigit()}

    def missing(self, stage: int, tasks: Iterable[int]) -> list[int]:
        """Those of `tasks` that are not done, in their order."""
        done = self.done(stage)
        return [task for task in tasks if task not in done]

    def finished(self) -> bool:
        """Whether the plan is done, and only a part of its journal remains, because the process that was erasing it
        crashed."""
        value = None if self.store is None else self.store.get_current(f"{self.prefix}plan")
        return value is not None and bytes(value) == _FINISHED

    def erase(self) -> None:
        """Erases all records and intermediate arrays. First, `plan` says so: a run that is resumed after a crash in
        between must not take tasks without a record for tasks to do, because their input may be erased already."""
        if self.store is None:
            return
        mark = f"{self.prefix}plan"
        self.store.set(mark, _FINISHED)
        keys, prefixes = self.store.list_dir(self.prefix)
        for prefix in prefixes:
            self.store.erase_prefix(prefix)
        self.store.erase_values([key for key in keys if key != mark])
        self.store.erase(mark)
