"""`validate`: checks a hierarchy of any generation against the rules of the format."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from omnizarr.api.location import StoreLike, hierarchy_above, resolve
from omnizarr.errors import ArgumentError, MetadataError, NodeNotFoundError
from omnizarr.formats import Dialect, ReadOptions
from omnizarr.model import ZarrFormat, normal_path
from omnizarr.store import Store, as_read_only
from omnizarr.tools.results import Progress
from omnizarr.tools.validation.chunks import ChunkCheck
from omnizarr.tools.validation.consolidated import consolidated_findings
from omnizarr.tools.validation.conventions import CONVENTIONS, convention_findings
from omnizarr.tools.validation.findings import Finding, Level, ReaderVerdict, Report, stricter
from omnizarr.tools.validation.nodes import CheckedNode, Hierarchy, find_hierarchy, json_oddities, nodes_below
from omnizarr.tools.validation.rules import mend

__all__ = ["node_findings", "validate"]


def validate(
    store: StoreLike,
    *,
    path: str | None = None,
    zarr_format: ZarrFormat | None = None,
    strict: bool = False,
    data: bool = False,
    conventions: Sequence[str] = (),
    readers: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Checks the node at a location, and all nodes below it, against the rules of the format.

    Example:
        >>> report = omnizarr.tools.validate("weather.zarr")
        >>> report.valid
        True

    Args:
        store: a path, a URL, a store, or another object that `omnizarr.open` accepts.
        path: the path of the node in the store; the root if not given.
        zarr_format: the generation to check, where documents of several lie. None checks the newest.
        strict: whether warnings are errors: forms that omnizarr reads although a rule forbids them.
        data: whether to decode every chunk, check the indexes and checksums of shards, and look for keys that belong to
            no node.
        conventions: names of conventions to check as well: "cf", "ome", "geozarr", "anndata".
        readers: whether to tell which other programs can read the hierarchy.
        storage_options: options of the store that a URL names, such as credentials.
        progress: called with the number of checked chunks and their total number; with nodes if `data` is false.
    """
    for name in conventions:
        if name not in CONVENTIONS:
            expected = ", ".join(CONVENTIONS)
            raise ArgumentError(f"`conventions`: expected some of {expected}, found {name!r}", argument="conventions")
    location = resolve(store, dict(storage_options or {}) or None, normal_path(path))
    hierarchy = _find(location.store, location.path, zarr_format, is_address=isinstance(store, (str, os.PathLike)))
    if isinstance(hierarchy, Report):
        return hierarchy if not strict else _report(hierarchy.generation, hierarchy.findings, strict=True)
    checks = _Checks(hierarchy, data=data, progress=progress)
    findings = list(checks.run())
    nodes = checks.nodes
    for name in conventions:
        findings += convention_findings(name, hierarchy, nodes)
    programs: tuple[ReaderVerdict, ...] = ()
    if readers:
        from omnizarr.tools.validation.readers import reader_verdicts  # lazy import: it loads a table

        programs = reader_verdicts(hierarchy.dialect, nodes)
    return _report(
        hierarchy.dialect.format_name,
        findings,
        strict=strict,
        arrays=sum(node.kind == "array" for node in nodes),
        groups=sum(node.kind == "group" for node in nodes),
        chunks=checks.chunks.count if checks.chunks is not None else None,
        stored_bytes=checks.chunks.stored_bytes if checks.chunks is not None else None,
        readers=programs,
    )


def _find(store: Store, path: str, zarr_format: object, *, is_address: bool) -> Hierarchy | Report:
    """The hierarchy; a report if an entry point is so wrong that no hierarchy can be read."""
    store = as_read_only(store)
    try:
        try:
            return find_hierarchy(store, path, zarr_format, ReadOptions())
        except NodeNotFoundError:
            above = hierarchy_above(store, path) if is_address else None
            if above is None:
                raise
            return find_hierarchy(as_read_only(above.store), above.path, zarr_format, ReadOptions())
    except MetadataError as error:
        if not error.problems:
            raise
        findings = [
            _finding("error", problem.rule or "R8", path, "zarr.json", problem.path, problem.message, problem.hint)
            for problem in error.problems
        ]
        return _report("unknown generation", findings, strict=False)


class _Checks:
    """The checks of all nodes of one hierarchy."""

    def __init__(self, hierarchy: Hierarchy, *, data: bool, progress: Progress | None) -> None:
        self.hierarchy = hierarchy
        self.nodes: list[CheckedNode] = []
        self.chunks = ChunkCheck(hierarchy.store, hierarchy.dialect, progress) if data else None
        self._progress = progress

    def run(self) -> Iterator[Finding]:
        hierarchy, dialect = self.hierarchy, self.hierarchy.dialect
        table = dialect.rules
        for level, problems in _levels(hierarchy.entry_point):
            for problem in problems:
                yield _finding(level, table.of(problem), "", "zarr.json", problem.path, problem.message, problem.hint)
        if hierarchy.other_generation is not None:
            yield _finding(
                "warning",
                table.hierarchy["other generation"],
                hierarchy.top.path,
                None,
                None,
                hierarchy.other_generation,
                None,
            )
        directories: set[str] = set()
        for node in nodes_below(hierarchy):
            if node.kind == "directory":
                directories.add(node.path)
                continue
            self.nodes.append(node)
            yield from self._without_groups(node, directories)
            yield from node_findings(dialect, node)
            if self.chunks is None and self._progress is not None:
                self._progress(len(self.nodes), 0)
        yield from consolidated_findings(hierarchy, self.nodes)
        if self.chunks is not None:
            for node in self.nodes:
                self.chunks.add(node)
            yield from self.chunks.run()

    def _without_groups(self, node: CheckedNode, directories: set[str]) -> Iterator[Finding]:
        """A finding for each directory above a node that should be a group."""
        path = node.path
        while path:
            path = path.rpartition("/")[0]
            if path in directories:
                directories.discard(path)
                rule = self.hierarchy.dialect.rules.hierarchy["group"]
                message = f"there is no document, but the node `/{node.path}` lies below"
                yield _finding("error", rule, path, None, None, message, None, kind="hierarchy")


def node_findings(dialect: Dialect, node: CheckedNode) -> Iterator[Finding]:
    """The findings about the documents of one node."""
    table = dialect.rules
    main = next((key for key in dialect.identifying_keys(node.path) if key in node.documents), None)
    for key, reason in node.damaged.items():
        yield _finding("error", table.hierarchy["json"], node.path, key, "$", reason, None)
    for key, value in node.values.items():
        for kind, text in json_oddities(value):
            rule = table.hierarchy["duplicate"] if kind == "duplicate" else "A60" if kind == "constant" else "R153"
            what = f"the member `{text}` appears twice" if kind == "duplicate" else f"{text} is not valid JSON"
            yield _finding("warning", rule, node.path, key, "$", what, None)
    if node.missing_library is not None:
        yield _finding("warning", "R37", node.path, main, None, f"not checked: {node.missing_library}", None)
    for level, problems in _levels(node.problems):
        for problem in problems:
            document = _key_of(problem.path, node, main)
            place = problem.path if "(" not in problem.path else "$"
            yield _finding(level, table.of(problem), node.path, document, place, problem.message, problem.hint)


def _levels(problems: Any) -> Iterator[tuple[Level, Any]]:
    yield "error", problems.found
    yield "warning", problems.warnings
    yield "advice", problems.advice


def _key_of(place: str, node: CheckedNode, main: str | None) -> str | None:
    """The document of a JSON path such as `$(.zattrs)`."""
    if place.startswith("$("):
        name = place[2:].partition(")")[0]
        return next((key for key in node.values if key.rpartition("/")[2] == name), name)
    return main


def _finding(
    level: Level,
    rule: str,
    path: str,
    key: str | None,
    place: str | None,
    message: str,
    hint: str | None,
    *,
    kind: Any = "document",
) -> Finding:
    return Finding(level, rule, kind, f"/{path}", key, place, message, mend(rule, hint))


def _report(generation: str, findings: Sequence[Finding], *, strict: bool, **facts: Any) -> Report:
    if strict:
        findings = [stricter(finding) for finding in findings]
    order = {"error": 0, "warning": 1, "advice": 2}
    findings = sorted(findings, key=lambda finding: order[finding.level])
    counts = {level: sum(finding.level == level for finding in findings) for level in order}
    return Report(
        valid=not counts["error"],
        generation=generation,
        arrays=facts.pop("arrays", 0),
        groups=facts.pop("groups", 0),
        errors=counts["error"],
        warnings=counts["warning"],
        advice=counts["advice"],
        findings=tuple(findings),
        **facts,
    )
