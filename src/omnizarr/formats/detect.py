"""Detection of the generation at a path, from documents that the caller fetches.

A dialect is imported when its generation is detected, because most programs need only one.
"""

from __future__ import annotations

import marshal
from importlib import import_module
from typing import NamedTuple, TypeAlias

from omnizarr._json import Json, Problems, is_integer
from omnizarr._registry import Registry
from omnizarr.errors import ArgumentError, MetadataError, warn
from omnizarr.formats.contract import Dialect, Documents
from omnizarr.formats.document_encoding import JSON, LENIENT_JSON
from omnizarr.formats.document_keys import (
    is_entry_point,
    is_n5_array,
    is_n5_root,
    n5_key,
    prerelease_kind,
    v1_keys,
    v2_consolidated_key,
    v2_keys,
    v3_key,
)
from omnizarr.formats.read_options import DEFAULT_READ_OPTIONS, ReadOptions

__all__ = [
    "DetectedNode",
    "Detection",
    "NoNode",
    "PossibleNode",
    "candidate_keys",
    "confirm_node",
    "consolidated_candidate_key",
    "detect",
    "detect_consolidated_group",
    "dialect_for",
    "identify_dialect",
    "identifying_keys",
    "is_root",
    "lowercase_dialect",
    "root_keys",
]

_DIALECTS: dict[object, tuple[str, str]] = {
    1: ("v1", "V1Dialect"),
    2: ("v2", "V2Dialect"),
    "3-draft-2020": ("draft.hierarchy", "draft_2020"),
    "3-draft-2022": ("draft.hierarchy", "draft_2022"),
    3: ("v3", "V3Dialect"),
    "n5": ("n5.dialect", "N5Dialect"),
}
"""The module and the constructor of each dialect, by `zarr_format`."""
_instances: dict[object, Dialect] = {}
"""The dialects with the default read options, which never change."""
_entry_points: dict[tuple[bytes, int], Dialect] = {}
"""Dialects of the drafts by the entry point, as `marshal` writes it, and the number of registrations."""
_MOST_ENTRY_POINTS = 64
_LONGEST = 1000  # bytes of an entry point; real ones have about 300
_DRAFTS = ("3-draft-2020", "3-draft-2022")
_HINT_V2 = "`zarr_format=2` reads the other"


def dialect_for(zarr_format: object, read_options: ReadOptions | None = None) -> Dialect:
    """The dialect of the generation that users call `zarr_format`; ArgumentError if there is none."""
    # Accept the integer 2 but not the float 2.0; look up only hashable values.
    valid_type = isinstance(zarr_format, str) or is_integer(zarr_format)
    entry = _DIALECTS.get(zarr_format) if valid_type else None
    if entry is None:
        names = ", ".join(repr(name) for name in _DIALECTS)
        raise ArgumentError(f"`zarr_format`: expected one of {names}, found {zarr_format!r}", argument="zarr_format")
    dialect = _instances.get(zarr_format)
    if dialect is None:
        module, constructor = entry
        dialect = getattr(import_module(f"omnizarr.formats.{module}"), constructor)()
        dialect = _instances.setdefault(zarr_format, dialect)
    if read_options is None or read_options is dialect.read_options:
        return dialect
    return dialect.with_read_options(read_options)


def lowercase_dialect(zarr_format: object, read_options: ReadOptions) -> Dialect | None:
    """The dialect of the writers that stored all names in lower case; None if the user asks for another generation."""
    return dialect_for(2, read_options) if zarr_format in (None, 2) else None


class DetectedNode(NamedTuple):
    """A node of the generation of `dialect`, with its documents."""

    dialect: Dialect
    documents: Documents
    note: str | None = None
    """A warning for the user."""


class PossibleNode(NamedTuple):
    """A generation that is still possible, and the keys to fetch for `confirm_node`. Without keys, only a group without
    a document is possible."""

    dialect: Dialect
    keys: tuple[str, ...]


class NoNode(NamedTuple):
    """There is no node, but a document that may be meant as one."""

    hint: str
    """How to open it."""


Detection: TypeAlias = DetectedNode | PossibleNode | None


def candidate_keys(path: str, zarr_format: object = None) -> tuple[str, ...]:
    """The keys that `detect` needs for the node at `path`; fetch all of them at once."""
    if zarr_format in _DRAFTS:
        return ("zarr.json",)
    if zarr_format == "n5":
        return tuple(dict.fromkeys((n5_key(""), *identifying_keys(path))))
    if zarr_format is not None:
        return dialect_for(zarr_format).keys(path)
    root = ("zarr.json",) if path else ()  # the only key at which a draft's entry point can lie
    return (v3_key(path), *v2_keys(path), *root)


def detect(path: str, documents: Documents, read_options: ReadOptions, zarr_format: object = None) -> Detection:
    """The node at `path`, from the documents under `candidate_keys(path, zarr_format)`.

    Documents at the path itself take precedence over the enclosing hierarchy, and a newer generation over an older
    one. A `zarr.json` whose `zarr_format` is not 3 still counts as v3, so that the v3 parser reports its problems."""
    zarr_json = v3_key(path)
    has_entry_point = is_entry_point(documents.get(zarr_json))
    has_v2 = _has_any(v2_keys(path)[:2], documents)
    if zarr_json in documents and not has_entry_point and zarr_format in (None, 3):
        note = f"both Zarr v3 and Zarr v2 metadata lie here: v3 is used; {_HINT_V2}" if has_v2 else None
        return DetectedNode(_v3_dialect(documents[zarr_json], read_options), {zarr_json: documents[zarr_json]}, note)
    if has_v2 and (zarr_format == 2 or (zarr_format is None and not has_entry_point)):
        own_documents = {key: documents[key] for key in v2_keys(path) if key in documents}
        return DetectedNode(dialect_for(2, read_options), own_documents)
    if path and has_entry_point:
        raise MetadataError(
            f"a hierarchy of a draft of Zarr v3 begins at `{path}`", hint="open it as a store of its own"
        )
    root = documents.get("zarr.json")
    if is_entry_point(root) and (zarr_format is None or zarr_format in _DRAFTS):
        problems = Problems()
        draft = _draft_dialect(root, read_options, problems)
        if zarr_format is not None and draft.zarr_format != zarr_format:
            return None
        beside_v2 = has_entry_point and zarr_format is None and has_v2
        _warn_of_entry_point(draft, problems, beside_v2=beside_v2)
        return PossibleNode(draft, draft.keys(path))
    if zarr_format == 1:
        return _detect_v1(dialect_for(1, read_options), path, documents)
    if zarr_format == "n5":
        other = n5_key(path) not in documents and identify_dialect(path, documents) is not None
        return None if other else _detect_n5(path, documents, read_options)
    if zarr_format is not None:
        return None
    return PossibleNode(dialect_for(1, read_options), tuple(dict.fromkeys((*v1_keys(path), n5_key(path), n5_key("")))))


def consolidated_candidate_key(path: str, zarr_format: object = None) -> str | None:
    """The key of separate consolidated metadata, to fetch together with `candidate_keys`; None if there is none."""
    return v2_consolidated_key(path) if zarr_format is None else dialect_for(zarr_format).consolidated_key(path)


def detect_consolidated_group(path: str, document: Json, read_options: ReadOptions) -> DetectedNode | None:
    """The v2 group at `path` whose only document is its consolidated metadata; None if the document holds no group.

    Programs that copy or serve a hierarchy sometimes leave out its other documents.
    """
    dialect = dialect_for(2, read_options)
    documents = dialect.parse_consolidated(path, document, Problems()) or {}
    own_documents = {key: documents[key] for key in dialect.keys(path) if key in documents}
    return DetectedNode(dialect, own_documents) if dialect.node_type(path, own_documents) == "group" else None


def confirm_node(possible: PossibleNode, path: str, documents: Documents) -> Detection | NoNode:
    """The node at `path`, from the documents under `possible.keys`; None if there is none.

    A node that may be of v1 may also be one of N5, if `possible` has the keys of both.
    """
    dialect = possible.dialect
    if not dialect.has_distinctive_keys:
        detection = _detect_v1(dialect, path, documents)
        if detection is not None or n5_key(path) not in possible.keys:
            return detection
        own, root = documents.get(n5_key(path)), documents.get(n5_key(""))
        if is_n5_array(own) or is_n5_root(own) or is_n5_root(root):
            return _detect_n5(path, documents, dialect.read_options)
        hint = '`zarr_format="n5"` opens its `attributes.json` as a node of N5'
        return NoNode(hint) if n5_key(path) in documents else None
    return DetectedNode(dialect, documents) if _has_any(dialect.identifying_keys(path), documents) else None


def identifying_keys(path: str) -> tuple[str, ...]:
    """The keys that show whether a node of v1, v2 or v3, or a hierarchy of a draft or of N5, lies at `path`."""
    return (v3_key(path), *v2_keys(path)[:2], v1_keys(path)[0], n5_key(path))


def identify_dialect(path: str, documents: Documents) -> Dialect | None:
    """The dialect of the node or hierarchy at `path`, from the documents under `identifying_keys(path)`."""
    zarr_json = v3_key(path)
    if is_entry_point(documents.get(zarr_json)):
        return _draft_dialect(documents[zarr_json], ReadOptions(), Problems())
    if zarr_json in documents:
        return dialect_for(3)
    if _has_any(v2_keys(path)[:2], documents):
        return dialect_for(2)
    if _is_v1(documents.get(v1_keys(path)[0])):
        return dialect_for(1)
    attributes = documents.get(n5_key(path))
    return dialect_for("n5") if is_n5_array(attributes) or is_n5_root(attributes) else None


def root_keys() -> tuple[str, ...]:
    """The keys that show whether a hierarchy of a draft or of N5 begins at the root of a store."""
    return "zarr.json", n5_key("")


def is_root(documents: Documents) -> bool | None:
    """Whether a hierarchy of a draft or of N5 begins here, from the documents under `root_keys`; None if they do not
    tell. Nodes of other generations have no enclosing hierarchy."""
    if "zarr.json" in documents:
        return is_entry_point(documents["zarr.json"])
    return True if is_n5_root(documents.get(n5_key(""))) else None


def _v3_dialect(document: Json, read_options: ReadOptions) -> Dialect:
    if prerelease_kind(document) is None:
        return dialect_for(3, read_options)
    from omnizarr.formats.v3_prerelease import V3PrereleaseDialect

    return V3PrereleaseDialect(read_options)


def _draft_dialect(entry_point: Json, read_options: ReadOptions, problems: Problems) -> Dialect:
    from omnizarr.formats.draft.hierarchy import parse_entry_point
    from omnizarr.formats.draft.rules import rules_of_entry_point

    key = None
    if read_options is DEFAULT_READ_OPTIONS:  # the entry point is parsed whenever a node of the hierarchy is opened
        key = marshal.dumps(entry_point, 2), Registry.changes
        known = _entry_points.get(key)
        if known is not None:
            return known
    dialect = parse_entry_point(entry_point, read_options, problems)
    plain = dialect is not None and dialect.encoding in (JSON, LENIENT_JSON) and not entry_point.get("extensions")
    if dialect is not None and plain and key is not None and not problems.warnings and len(key[0]) <= _LONGEST:
        if len(_entry_points) >= _MOST_ENTRY_POINTS:
            _entry_points.clear()
        _entry_points[key] = dialect
    if dialect is None:
        rules = rules_of_entry_point(entry_point)
        ruled = [problem._replace(rule=rules.of(problem)) for problem in problems.found]
        raise MetadataError("cannot open the hierarchy: its entry point `zarr.json` is invalid", ruled)
    return dialect


def _warn_of_entry_point(dialect: Dialect, problems: Problems, *, beside_v2: bool) -> None:
    """Warns once about all unusual members of the root document."""
    warnings = [f"{problem.path}: {problem.message}" for problem in problems.warnings]
    if beside_v2:
        warnings.append(f"Zarr v2 metadata lies beside it, and is ignored; {_HINT_V2}")
    if warnings:
        warn(f"the entry point `zarr.json` of {dialect.format_name}: {'; '.join(warnings)}")


def _detect_v1(dialect: Dialect, path: str, documents: Documents) -> DetectedNode | None:
    """The v1 array at `path`. Other programs also write files called `meta`, so its `zarr_format` must be 1."""
    if not _is_v1(documents.get(v1_keys(path)[0])):
        return None
    return DetectedNode(dialect, {key: documents[key] for key in v1_keys(path) if key in documents})


def _is_v1(meta: Json) -> bool:
    version = meta.get("zarr_format") if isinstance(meta, dict) else None
    return is_integer(version) and version == 1


def _detect_n5(path: str, documents: Documents, read_options: ReadOptions) -> Detection:
    """The node of N5 at `path`, from the documents under its key and at the root."""
    from omnizarr.formats.n5.dialect import check_version

    key, problems = n5_key(path), Problems()
    check_version(documents.get(n5_key("")), problems)
    if problems and path:  # that of the node itself is checked by its parser
        raise MetadataError("cannot open the hierarchy: its root has an unknown version of N5", problems.found)
    dialect = dialect_for("n5", read_options)
    return DetectedNode(dialect, {key: documents[key]}) if key in documents else PossibleNode(dialect, ())


def _has_any(keys: tuple[str, ...], documents: Documents) -> bool:
    return any(key in documents for key in keys)
