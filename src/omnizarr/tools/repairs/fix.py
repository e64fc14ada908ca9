"""`fix`: corrects documents that break rules, without loss: by rule, or by writing them again in the form of their
generation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from omnizarr._json import Json, same
from omnizarr.api.hierarchy import consolidate_metadata
from omnizarr.api.location import StoreLike
from omnizarr.errors import MetadataError, OmnizarrError
from omnizarr.formats import ReadOptions
from omnizarr.model import ZarrFormat
from omnizarr.nodes.metadata.documents import encode_document
from omnizarr.store import Store, as_read_only
from omnizarr.store.update import set_if_absent
from omnizarr.tools.repairs.document_edits import edited, without_trailing_commas
from omnizarr.tools.repairs.quarantine import Quarantine
from omnizarr.tools.repairs.repair import resolve_hierarchy
from omnizarr.tools.validation.consolidated import consolidated_findings
from omnizarr.tools.validation.findings import Finding
from omnizarr.tools.validation.nodes import CheckedNode, Hierarchy, check_documents, find_hierarchy, nodes_below
from omnizarr.tools.validation.validate import node_findings, validate

__all__ = ["Fix", "FixResult", "fix"]

_MOST_EDITS = 20  # of one node
_AMBIGUOUS = frozenset(("R154",))
"""Rules about documents that may mean two things, so that they are not written again."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A document that was fixed; with a dry run, that would be."""

    path: str
    key: str
    rules: tuple[str, ...]
    """The rules that it broke."""
    diff: str
    """What changes, line by line."""


@dataclass(frozen=True, slots=True)
class FixResult:
    """What `fix` did."""

    dry_run: bool
    fixes: tuple[Fix, ...]
    refused: tuple[Finding, ...]
    """Errors and warnings about documents that have no unambiguous fix."""
    backup: str | None
    """The name of the quarantine with the old documents, which `restore` puts back."""


def fix(
    location: StoreLike,
    *,
    path: str | None = None,
    zarr_format: ZarrFormat | None = None,
    dry_run: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> FixResult:
    """Fixes the documents of a node and of all nodes below it, where that loses nothing and has one meaning.

    A document whose metadata omnizarr reads is written again in the form of its generation, if that leaves what it says
    as it is. Some errors are fixed by rule, such as integers that are written as text. Missing groups get documents,
    and consolidated metadata that differ are rebuilt. Every other finding is refused. The old documents go to a
    quarantine, from which `restore` puts them back.

    Args:
        location: a path, a URL or a store.
        path: the path of the node in the store; the root if not given.
        zarr_format: the generation, where documents of several lie.
        dry_run: tell what would be changed, and change nothing.
        storage_options: options of the store that a URL names, such as credentials.
    """
    store, node_path = resolve_hierarchy(location, path, storage_options, writable=not dry_run)
    if dry_run:
        store = as_read_only(store)
    else:
        store.check_writable()
    run = _Fixing(store, node_path, zarr_format, dry_run)
    run.fix_all()
    return FixResult(dry_run, tuple(run.fixes), tuple(run.refused), run.backup)


class _Fixing:
    """One run of `fix`."""

    def __init__(self, store: Store, path: str, zarr_format: ZarrFormat | None, dry_run: bool) -> None:
        self._store = store
        self._path = path
        self._generation = zarr_format
        self._dry_run = dry_run
        self._quarantine = Quarantine(store)
        self.fixes: list[Fix] = []
        self.refused: list[Finding] = []

    @property
    def backup(self) -> str | None:
        return None if self._dry_run else self._quarantine.name

    def fix_all(self) -> None:
        hierarchy = self._find()
        if hierarchy is None:
            return
        directories = set()
        paths = set()
        for node in list(nodes_below(hierarchy)):
            if node.kind == "directory":
                directories.add(node.path)
                continue
            paths.add(node.path)
            self._fix_node(hierarchy, node)
        for directory in sorted(directories):
            if any(path.startswith(f"{directory}/") for path in paths):
                self._create_group(hierarchy, directory)
        self._consolidate(hierarchy)

    def _find(self) -> Hierarchy | None:
        """The hierarchy. If its first document is so wrong that its generation is unknown, fixes that first."""
        try:
            return find_hierarchy(self._store, self._path, self._generation, ReadOptions())
        except MetadataError as error:
            if not error.problems:
                raise
            key = f"{self._path}/zarr.json" if self._path else "zarr.json"
            value = self._store.get(key)
            document = _loads(value)
            rules: list[str] = []
            for problem in error.problems:
                rule = problem.rule or ""
                after = None if document is None else edited(document, rule, problem.path)
                if after is not None:
                    document = after
                    rules.append(rule)
            if not rules and document is not None and _strict(value) is None:
                rules.append("R8")
            if value is None or not rules:
                report = validate(self._store, path=self._path, zarr_format=self._generation)
                self.refused += report.findings
                return None
            self._write(self._path, key, bytes(value), _pretty(document).encode(), rules)
            if self._dry_run:
                return None
        return find_hierarchy(self._store, self._path, self._generation, ReadOptions())

    # -- one node

    def _fix_node(self, hierarchy: Hierarchy, node: CheckedNode) -> None:
        """Fixes the documents of a node as far as possible, and writes those that changed."""
        dialect = hierarchy.dialect
        best = node
        rules: dict[str, list[str]] = {}
        for _ in range(_MOST_EDITS):
            candidate = self._edited(hierarchy, best, rules)
            if candidate is None:
                break
            best = candidate
        rewritten = self._rewritten(hierarchy, best, rules)
        best = rewritten or best
        for key, document in best.documents.items():
            old = node.values.get(key)
            if document is node.documents.get(key):
                continue
            if key not in rules and key in node.documents and same(node.documents[key], document):
                continue  # only its layout would change
            new = encode_document(key, document, dialect.encoding)
            if old is None or bytes(old) != bytes(new):
                self._write(node.path, key, None if old is None else bytes(old), bytes(new), rules.get(key, []))
        self.refused += _findings(hierarchy, best)

    def _edited(self, hierarchy: Hierarchy, node: CheckedNode, rules: dict[str, list[str]]) -> CheckedNode | None:
        """The node after one edit that leaves fewer findings and no new one; None if there is none."""
        before = _findings(hierarchy, node)
        for finding in before:
            if finding.key is None or finding.place is None:
                continue
            documents = dict(node.documents)
            damaged = dict(node.damaged)
            if finding.key in damaged:
                document = _loads(node.values.get(finding.key))
                damaged.pop(finding.key)
            else:
                document = edited(documents.get(finding.key), finding.rule, finding.place)
            if document is None:
                continue
            documents[finding.key] = document
            after = _check(hierarchy, node, documents, damaged)
            if after is not None and _is_better(before, _findings(hierarchy, after)):
                rules.setdefault(finding.key, []).append(finding.rule)
                return after
        return None

    def _rewritten(self, hierarchy: Hierarchy, node: CheckedNode, rules: dict[str, list[str]]) -> CheckedNode | None:
        """The node with its documents in the form that omnizarr writes, if they say the same and break fewer rules."""
        dialect = hierarchy.dialect
        before = _findings(hierarchy, node)
        if not before or node.model is None or node.problems.found or node.damaged:
            return None
        if any(finding.rule in _AMBIGUOUS for finding in before):
            return None
        try:
            documents = dialect.dump(node.path, node.model)
        except OmnizarrError:
            return None
        for key, document in node.documents.items():
            new = documents.get(key)
            if not isinstance(document, dict) or not isinstance(new, dict):
                return None
            if any(name not in new and value is not None for name, value in document.items()):
                return None  # a member would be lost
        after = _check(hierarchy, node, documents, {})
        if after is None or after.model is None or not _is_better(before, _findings(hierarchy, after)):
            return None
        if not same(dialect.dump(node.path, after.model), documents):
            return None
        for finding in before:
            key = finding.key or next(iter(node.documents))
            if key in documents:
                rules.setdefault(key, []).append(finding.rule)
        return after

    # -- hierarchies

    def _create_group(self, hierarchy: Hierarchy, path: str) -> None:
        """Stores the document of a group that has members and no document."""
        dialect = hierarchy.dialect
        for key, document in dialect.dump(path, dialect.new_group()).items():
            rule = dialect.rules.hierarchy["group"]
            self._write(path, key, None, bytes(encode_document(key, document, dialect.encoding)), [rule])

    def _consolidate(self, hierarchy: Hierarchy) -> None:
        """Rebuilds consolidated metadata that differ from the documents as they are now."""
        dialect, store = hierarchy.dialect, self._store
        nodes = [node for node in nodes_below(hierarchy) if node.kind != "directory"]
        wrong: dict[str, list[str]] = {}
        for finding in consolidated_findings(hierarchy, nodes):
            wrong.setdefault(finding.path[1:], []).append(finding.rule)
        for path, rules in wrong.items():
            key = dialect.consolidated_key(path) or dialect.identifying_keys(path)[0]
            value = store.get_current(key)
            if value is None:
                continue
            old = bytes(value)
            if self._dry_run:
                diff = "(rebuilt from the documents of the nodes)"
            else:
                entry = self._quarantine.keep(key, old, "the consolidated metadata differ from the documents")
                consolidate_metadata(store, path=path, zarr_format=dialect.zarr_format)
                entry.done()
                diff = _diff(key, old, bytes(store.get_current(key) or b""))
            self.fixes.append(Fix(f"/{path}", key, tuple(dict.fromkeys(rules)), diff))

    def _write(self, path: str, key: str, old: bytes | None, new: bytes, rules: list[str]) -> None:
        if not self._dry_run:
            reason = f"broke the rules {', '.join(rules)}" if rules else "was written again"
            if old is None:
                set_if_absent(self._store, key, new)
            elif not self._quarantine.take(key, old, reason, new):
                return  # another writer has changed it meanwhile
        self.fixes.append(Fix(f"/{path}", key, tuple(dict.fromkeys(rules)), _diff(key, old, new)))


def _check(
    hierarchy: Hierarchy, node: CheckedNode, documents: dict[str, Json], damaged: dict[str, str]
) -> CheckedNode | None:
    """The node with other documents; None if these cannot be written."""
    encoding = hierarchy.dialect.encoding
    try:
        values = {key: encode_document(key, document, encoding) for key, document in documents.items()}
    except OmnizarrError:  # such as NaN in attributes, which JSON lacks
        return None
    values |= {key: node.values[key] for key in damaged}  # type: ignore[misc]
    return check_documents(hierarchy.dialect, node.path, documents, values, damaged)


def _findings(hierarchy: Hierarchy, node: CheckedNode) -> list[Finding]:
    """The errors and warnings about the documents of a node."""
    return [finding for finding in node_findings(hierarchy.dialect, node) if finding.level != "advice"]


def _is_better(before: list[Finding], after: list[Finding]) -> bool:
    """Whether there are fewer findings, and no new error. Errors may hide others, so new ones with fewer errors are
    accepted only if there are none left."""
    known = {(finding.rule, finding.place) for finding in before}
    new = [finding for finding in after if finding.level == "error" and (finding.rule, finding.place) not in known]
    errors = [sum(finding.level == "error" for finding in findings) for findings in (before, after)]
    return not new and (errors[1] < errors[0] or (errors[1] == errors[0] and len(after) < len(before)))


def _loads(value: Any) -> Json | None:
    """A document that may have a byte order mark and trailing commas; None if it is no JSON even so."""
    if value is None:
        return None
    try:
        document: Json = json.loads(without_trailing_commas(bytes(value).decode("utf-8-sig")))
    except (ValueError, RecursionError):
        return None
    return document


def _strict(value: Any) -> Json | None:
    try:
        document: Json = json.loads(bytes(value))
    except (ValueError, RecursionError):
        return None
    return document


def _pretty(document: Json) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


def _diff(key: str, old: bytes | None, new: bytes) -> str:
    """What changes in a document, with both versions in the same layout."""
    before = key if old is not None else "(absent)"
    lines = "\n".join(unified_diff(_lines(old), _lines(new), before, f"{key} (fixed)", lineterm="", n=2))
    return lines or "(the same document, in valid JSON)"


def _lines(value: bytes | None) -> list[str]:
    if value is None:
        return []
    document = _strict(value)
    return (value.decode(errors="replace") if document is None else _pretty(document)).splitlines()
