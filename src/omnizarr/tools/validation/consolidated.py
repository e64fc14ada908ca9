"""Whether consolidated metadata agrees with the documents of the nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omnizarr._json import Json, Problems, same
from omnizarr.errors import MetadataError
from omnizarr.model import GroupModel
from omnizarr.nodes.metadata.documents import document_values, parse_documents
from omnizarr.tools.validation.findings import Finding
from omnizarr.tools.validation.nodes import CheckedNode, Hierarchy
from omnizarr.tools.validation.rules import mend

__all__ = ["consolidated_documents", "consolidated_findings"]


def consolidated_documents(hierarchy: Hierarchy, node: CheckedNode) -> dict[str, Json]:
    """The copies of documents in the consolidated metadata of a group; none if these cannot be parsed."""
    if not isinstance(node.model, GroupModel):
        return {}
    dialect, store = hierarchy.dialect, hierarchy.store
    key = dialect.consolidated_key(node.path)
    if key is None:
        return dict(node.model.consolidated or {})
    value = document_values(store, [key])[key]
    try:
        document = None if value is None else parse_documents(store, {key: value}, dialect.encoding)[key]
    except MetadataError:
        return {}
    return {} if document is None else dict(dialect.parse_consolidated(node.path, document, Problems()) or {})


def consolidated_findings(hierarchy: Hierarchy, nodes: Sequence[CheckedNode]) -> Iterator[Finding]:
    """The findings about the consolidated metadata of all groups."""
    stored = {key: document for node in nodes for key, document in node.documents.items()}
    stored |= hierarchy.dialect.hierarchy_documents()
    damaged = {key for node in nodes for key in node.damaged}
    for node in nodes:
        if isinstance(node.model, GroupModel):
            yield from _group_findings(hierarchy, node, stored, damaged)


def _group_findings(
    hierarchy: Hierarchy, node: CheckedNode, stored: dict[str, Json], damaged: set[str]
) -> Iterator[Finding]:
    assert isinstance(node.model, GroupModel)
    dialect, store = hierarchy.dialect, hierarchy.store
    rule = dialect.rules.hierarchy["consolidated"]
    key = dialect.consolidated_key(node.path)
    documents = node.model.consolidated
    if key is not None:
        value = document_values(store, [key])[key]
        if value is None:
            return
        problems = Problems()
        try:
            document = parse_documents(store, {key: value}, dialect.encoding)[key]
        except MetadataError as error:
            yield _finding("error", rule, node, key, error.message)
            return
        documents = dialect.parse_consolidated(node.path, document, problems)
        for problem in problems.found:
            yield _finding("error", dialect.rules.of(problem), node, key, f"{problem.path}: {problem.message}")
    if documents is None or not store.listable:
        return
    main = key or next(iter(dialect.identifying_keys(node.path)))
    prefix = f"{node.path}/" if node.path else ""
    nested = {dialect.consolidated_key(other) for other in ("",)}
    for name, document in documents.items():
        if name in damaged or name in nested:
            continue
        if name not in stored:
            yield _finding("warning", rule, node, main, f"describes `{name}`, which is not stored")
        elif not same(_plain(document), _plain(stored[name])):
            yield _finding("warning", rule, node, main, f"differs from the stored `{name}`")
    own = set(dialect.keys(node.path))
    for name in stored:
        below = name.startswith(prefix) if not dialect.separates_documents else True
        known = name in documents or name in own or name in dialect.hierarchy_documents()
        if below and not known and not _is_empty_attributes(stored[name], name):
            yield _finding("warning", rule, node, main, f"lacks the stored `{name}`")


def _is_empty_attributes(document: Json, key: str) -> bool:
    """Whether a document without content may be left out."""
    return document == {} and key.endswith(".zattrs")


def _plain(document: Json) -> Json:
    """A document without the consolidated metadata that it holds itself."""
    if not isinstance(document, dict):
        return document
    return {member: value for member, value in document.items() if member != "consolidated_metadata"}


def _finding(level: str, rule: str, node: CheckedNode, key: str, message: str) -> Finding:
    return Finding(level, rule, "hierarchy", f"/{node.path}", key, None, message, mend(rule))  # type: ignore[arg-type]
