"""`VersionedArray`: the handle of an array that keeps its versions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Self

from omnizarr._json import is_integer
from omnizarr.errors import ArgumentError, ConflictError, NodeTypeError, OmnizarrError, StoreError, warn
from omnizarr.formats import Dialect
from omnizarr.model import ArrayModel, normal_path
from omnizarr.nodes.array import Array
from omnizarr.nodes.handle_lock import handle_lock
from omnizarr.nodes.metadata.documents import describe_location, parse_documents, parse_node
from omnizarr.nodes.metadata.fetch import fetch_model, not_found
from omnizarr.nodes.node import NodeContext
from omnizarr.store import Buffer, Store
from omnizarr.transformers.versions import (
    DOCUMENT,
    ArrayVersion,
    PruneReport,
    Session,
    commit,
    next_session,
    open_session,
    prune_history,
)

__all__ = ["VersionedArray"]


class VersionedArray(Array):
    """An array that keeps its versions; create one with `storage_transformers=[omnizarr.transformers.Versions()]`.

    A handle shows one version. Changes of elements, attributes and the shape are visible through this handle only,
    until `commit` publishes all of them as a new version.

    Example:
        >>> z = omnizarr.create_array("log.zarr", shape=100, dtype="i4", storage_transformers=[Versions()])
        >>> z[:10] = 1
        >>> z.commit("first measurements")
        ArrayVersion(number=1, message='first measurements', time=...)
        >>> omnizarr.open("log.zarr", version=0)[:3]
        array([0, 0, 0], dtype=int32)
    """

    @classmethod
    def open(
        cls, context: NodeContext, model: ArrayModel, *, version: int | None = None, write_empty_chunks: bool = False
    ) -> Self:
        """The handle of a version: the newest one, or that of a number."""
        if version is not None and not is_integer(version):
            raise ArgumentError(
                f"`version`: expected the number of a version, found {version!r}",
                argument="version",
                hint="`versions()` lists the versions",
            )
        store, dialect, path = context.store, context.dialect, context.path
        if not isinstance(store, Session):
            stored = dialect.dump(path, model)
            document = next(key for key in dialect.identifying_keys(path) if key in stored)
            store = open_session(store, dialect.chunk_prefix(path), document, version)
        # The document at the array's own key never changes, so that copies of it in consolidated metadata do not.
        context = context._replace(store=store, consolidated=None)
        return cls(context, _model(context), write_empty_chunks=write_empty_chunks)

    def __del__(self) -> None:
        context: NodeContext | None = self.__dict__.get("_context")  # None if opening failed
        session = None if context is None else context.store
        if isinstance(session, Session) and session.has_lost_changes():
            warn(f"the uncommitted changes of array `{self.name}` in {session.inner!r} are lost: call `commit()`")

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        session = self._session
        return (*super().__dask_tokenize__(), session.base.name, repr(sorted(session.changes.items())))

    @property
    def _session(self) -> Session:
        store = self._context.store
        assert isinstance(store, Session)
        return store

    # -- versions

    @property
    def version(self) -> ArrayVersion:
        """The version that the handle shows, without its uncommitted changes."""
        return self._session.base.version

    def versions(self) -> list[ArrayVersion]:
        """All versions that are kept, from the oldest to the newest."""
        return self._session.history.public()

    def uncommitted(self) -> list[str]:
        """The keys of the store that have uncommitted changes, sorted."""
        session = self._session
        return sorted(str(session.document) if name == DOCUMENT else session.prefix + name for name in session.changes)

    def commit(self, message: str = "") -> ArrayVersion:
        """Publishes all changes of this handle as a new version, and returns it; the current one without changes.

        If another writer has committed since this handle was opened, refreshed or last committed, the changes of both
        are merged. ConflictError if both changed the same chunk, or the document; then nothing is published, and the
        changes are kept.
        """
        if not isinstance(message, str):
            raise ArgumentError(f"`message`: expected text, found {message!r}", argument="message")
        with handle_lock(self):
            self._continue(commit(self._session, message, self._mergeable))
        return self.version

    def rollback(self) -> Self:
        """Discards all uncommitted changes, shows the newest version, and returns the handle."""
        with handle_lock(self):
            session = self._session
            with session.changing():
                session.closed = True
                changes, session.changes = session.changes, {}
            session.forget(changes.values())
            self._continue(_newest(session))
        return self

    def refresh(self) -> Self:
        """Shows the newest version, and returns the handle. With uncommitted changes, or if the handle was opened for
        one version, it keeps the version that it shows."""
        with handle_lock(self):
            session = self._session
            if session.changes or session.pinned:
                self._set_model(_model(self._context))
            else:
                self._continue(_newest(session))
        return self

    @contextmanager
    def transaction(self, message: str = "") -> Iterator[Self]:
        """A block whose changes are committed at its end, or discarded if it raises an error.

        They are also discarded if the commit raises ConflictError, so that the block can be repeated.

        Example:
            >>> with z.transaction("calibrate") as changed:
            ...     changed[:] = changed[:] * 2
            ...     changed.attrs["calibrated"] = True
        """
        if self._session.changes:
            raise StoreError(
                f"array `{self.name}` has uncommitted changes, which do not belong to the transaction",
                hint="`commit()` or `rollback()` first",
                store=repr(self.store),
            )
        self.refresh()
        try:
            yield self
        except BaseException:
            self.rollback()
            raise
        try:
            self.commit(message)
        except ConflictError as error:
            error.hint = "the changes of the transaction are discarded: repeat it on the new version"
            self.rollback()
            raise

    def restore(self, version: int) -> Self:
        """Changes the array to what it was in an older version; `commit` publishes that as a new one."""
        session = self._session
        session.check_writable()
        if session.changes:
            raise StoreError(
                f"array `{self.name}` has uncommitted changes, which `restore` would discard",
                hint="`commit()` or `rollback()` first",
                store=repr(self.store),
            )
        with handle_lock(self):
            history = session.history
            old = history.at_head(partial(history.find, version))
            session = _newest(session)
            old_table, current_table = dict(history.table(old).items()), dict(history.table(session.base).items())
            with session.changing():
                changes = {name: old_table.get(name) for name in {**old_table, **current_table}}
                session.changes = {name: entry for name, entry in changes.items() if entry != current_table.get(name)}
                session.source = old.number
                if old.document != session.base.document:
                    session.changes[DOCUMENT] = old.document or session.store_value(session.document_of(old))
            self._continue(session)
        return self

    def prune(
        self,
        keep: int | None = None,
        *,
        older_than: timedelta | None = None,
        grace: timedelta = timedelta(days=1),
        dry_run: bool = False,
    ) -> PruneReport:
        """Removes old versions, and stored values that no version uses.

        Args:
            keep: keep at least this many of the newest versions. Without `keep` and `older_than`, all are kept.
            older_than: remove only versions that were replaced longer ago than this.
            grace: keep what was written or replaced more recently than this, for the sake of readers and of sessions
                that have not committed yet. A session that began earlier cannot commit any more.
            dry_run: remove nothing.
        """
        session = self._session
        if not dry_run:
            session.check_writable()
            if session.changes:
                raise StoreError(
                    f"array `{self.name}` has uncommitted changes, which `prune` may remove",
                    hint="`commit()` or `rollback()` first",
                    store=repr(self.store),
                )
        report = prune_history(session.history, keep=keep, older_than=older_than, grace=grace, dry_run=dry_run)
        if not dry_run and session.base.number < report.oldest and not session.pinned:
            self.refresh()
        return report

    def checkout(
        self,
        store: Store | str | os.PathLike[str],
        *,
        path: str = "",
        overwrite: bool = False,
        storage_options: dict[str, Any] | None = None,
    ) -> Array:
        """Copies what the handle shows to another location, as an array without versions, and returns its handle.

        The stored chunks are copied as they are. To copy an older version, open it with `version`.
        """
        from omnizarr.nodes.checkout import checkout_array  # lazy import: seldom needed

        if not isinstance(store, Store):
            from omnizarr.store.address.parse import locate

            location = locate(os.fspath(store), storage_options)
            store, path = location.store, "/".join(filter(None, (location.path, normal_path(path))))
        return checkout_array(self._context, self._session, self._model, store, normal_path(path), overwrite=overwrite)

    # -- how a handle changes its version

    def _publish_data(self) -> None:
        self.commit("created with data")

    def _continue(self, session: Session) -> None:
        """Show what another session shows. Reads that have begun still see the old one."""
        context = self._context._replace(store=session)
        model = _model(context)
        self._context = context
        self._layout = self._make_layout(model)
        self._model = model

    def _mergeable(self, old: Buffer, new: Buffer) -> bool:
        """Whether chunks written for one document are correct for another: it may have grown, or other attributes."""
        try:
            before, after = (self._parse(data) for data in (old, new))
        except OmnizarrError:
            return False
        grown = len(before.shape) == len(after.shape) and all(
            length <= other for length, other in zip(before.shape, after.shape, strict=True)
        )
        return grown and _without_shape(before) == _without_shape(after)

    def _parse(self, document: Buffer) -> ArrayModel:
        context, key = self._context, self._session.document
        assert key is not None
        dialect: Dialect = context.dialect
        documents = parse_documents(context.store, {key: document}, dialect.encoding)
        model = parse_node(dialect, context.store, context.path, documents, quiet=True)
        assert isinstance(model, ArrayModel)
        return model


def _newest(session: Session) -> Session:
    return next_session(session, session.history.newest())


def _model(context: NodeContext) -> ArrayModel:
    model = fetch_model(context.store, context.path, context.dialect)
    if model is None:
        raise not_found(context.store, context.path)
    if not isinstance(model, ArrayModel):
        raise NodeTypeError(f"{describe_location(context.store, context.path)} is not an array", path=context.path)
    return model


def _without_shape(model: ArrayModel) -> ArrayModel:
    """The part of a model that determines what a chunk means. The grid of a regular array does not depend on the
    shape."""
    return replace(
        model,
        shape=(0,) * len(model.shape),
        attributes={},
        dimension_names=None,
        extra={},
        extensions=(),
        fallback=None,
        verbatim={},
    )
