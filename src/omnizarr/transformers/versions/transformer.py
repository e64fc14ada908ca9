"""The storage transformer of versioned arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems
from omnizarr.store import Store
from omnizarr.transformers.contract import ArrayPlace, StorageTransformer
from omnizarr.transformers.versions.history import History
from omnizarr.transformers.versions.publish import Mergeable, commit_session
from omnizarr.transformers.versions.records import Commit
from omnizarr.transformers.versions.session import Session

__all__ = ["Versions", "open_session"]


@dataclass(frozen=True, slots=True)
class Versions(StorageTransformer):
    """Keeps the versions of an array: chunks and the document change together, by `commit`.

    It is the last transformer of an array, next to the store. Handles of such arrays are `VersionedArray`s.
    """

    name: ClassVar[str] = "omnizarr.versions"
    uri: ClassVar[str | None] = "urn:omnizarr:storage-transformers:versions:1"
    last: ClassVar[bool] = True
    keeps_document: ClassVar[bool] = True

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Versions | None:
        before = len(problems.found)
        check_members(configuration, (), f"{path}.configuration", problems, rule="Z18")
        return cls() if len(problems.found) == before else None

    def configuration(self) -> dict[str, Json]:
        return {}

    def wrap(self, store: Store, place: ArrayPlace) -> Session:
        """A session that begins from the newest version; `store` itself if it is a session already."""
        if isinstance(store, Session) and store.prefix == place.prefix:
            return store
        return open_session(store, place.prefix, place.document)


def open_session(store: Store, prefix: str, document: str | None, version: int | None = None) -> Session:
    """A session that begins from the newest version, or shows another one for reading only."""
    history = History(store, prefix)
    commit = history.newest() if version is None else history.at_head(partial(history.find, version))
    return Session(store, prefix, document, commit, history=history, pinned=version is not None)


def next_session(session: Session, commit: Commit) -> Session:
    """A new session of the same array, from another version."""
    return Session(session.inner, session.prefix, session.document, commit, history=session.history)


def always_mergeable(old: object, new: object) -> bool:
    """For stores without documents."""
    return True


def commit(session: Session, message: str, mergeable: Mergeable = always_mergeable) -> Session:
    """Publish the changes of a session; returns the session that continues from the new version."""
    return next_session(session, commit_session(session, message, mergeable))
