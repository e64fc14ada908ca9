"""Which generation lies here: from documents to a verdict, or to the keys to look at next. Somebody else fetches the
documents. A dialect is loaded when it is met: most programs meet one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TypeAlias

from omnizarr._json import Json, Problems, is_integer
from omnizarr.errors import ArgumentError, MetadataError, warn
from omnizarr.formats.contract import Dialect, Documents
from omnizarr.formats.document_keys import is_entry_point, kind_of_february, v1_keys, v2_keys, v3_key
from omnizarr.formats.read_options import ReadOptions
from omnizarr.model import ZarrFormat

__all__ = [
    "Found",
    "Look",
    "Verdict",
    "again",
    "candidates",
    "detect",
    "dialect",
    "name_of",
    "occupant",
    "telling",
]

_HOMES: dict[object, tuple[str, str]] = {
    1: ("v1", "V1"),
    2: ("v2", "V2"),
    "3-draft-2020": ("draft.hierarchy", "of_2020"),
    "3-draft-2022": ("draft.hierarchy", "of_2022"),
    3: ("v3", "V3"),
}
_DRAFTS = ("3-draft-2020", "3-draft-2022")


def dialect(zarr_format: object, read_options: ReadOptions | None = None) -> Dialect:
    """The dialect of a generation, by the name that users give it."""
    # a number is not its float, and what is neither may not even be hashable
    home = _HOMES.get(zarr_format) if isinstance(zarr_format, str) or is_integer(zarr_format) else None
    if home is None:
        known = ", ".join(repr(name) for name in _HOMES)
        raise ArgumentError(f"`zarr_format`: expected one of {known}, found {zarr_format!r}", argument="zarr_format")
    found: Dialect = getattr(import_module(f"omnizarr.formats.{home[0]}"), home[1])()
    return found if read_options is None else found.allowing(read_options)


def name_of(zarr_format: ZarrFormat) -> str:
    """The generation in words."""
    if isinstance(zarr_format, int):
        return f"Zarr v{zarr_format}"
    return f"the {zarr_format.removeprefix('3-draft-')} draft of Zarr v3"


@dataclass(frozen=True, slots=True)
class Found:
    """A node of this generation lies here, and these are its documents."""

    dialect: Dialect
    documents: Documents
    note: str | None = None
    """What the user should hear about it."""


@dataclass(frozen=True, slots=True)
class Look:
    """If there is a node here, it is of this generation, and these keys show it."""

    dialect: Dialect
    keys: tuple[str, ...]


Verdict: TypeAlias = Found | Look | None


def candidates(path: str, zarr_format: object = None) -> tuple[str, ...]:
    """The keys to ask for first, all together, to find out what lies at `path`."""
    if zarr_format in _DRAFTS:
        return ("zarr.json",)
    if zarr_format is not None:
        return dialect(zarr_format).keys(path)
    root = ("zarr.json",) if path else ()  # the entry point of a draft's hierarchy lies there and nowhere else
    return (v3_key(path), *v2_keys(path), *root)


def detect(path: str, documents: Documents, read_options: ReadOptions, zarr_format: object = None) -> Verdict:
    """What the documents under `candidates(path, zarr_format)` say.

    A `zarr.json` without a `zarr_format` of 3 still counts as v3, so that its reader can say what is wrong with it.
    What lies at the path itself counts before the hierarchy around it, and a newer generation before an older one."""
    own = v3_key(path)
    if own in documents and not is_entry_point(documents[own]) and zarr_format in (None, 3):
        return Found(_of_version_3(documents[own], read_options), {own: documents[own]}, _both(path, documents))
    begins = is_entry_point(documents.get(own))
    if zarr_format in (None, 2) and _any(v2_keys(path)[:2], documents) and not (zarr_format is None and begins):
        return Found(dialect(2, read_options), {key: documents[key] for key in v2_keys(path) if key in documents})
    if path and begins:
        raise MetadataError(
            f"a hierarchy of a draft of Zarr v3 begins at `{path}`", hint="open it as a store of its own"
        )
    entry = documents.get("zarr.json")
    if is_entry_point(entry) and (zarr_format is None or zarr_format in _DRAFTS):
        problems = Problems()
        found = _hierarchy(entry, read_options, problems)
        if zarr_format is not None and found.zarr_format != zarr_format:
            return None
        _tell(found, problems, beside_v2=begins and zarr_format is None and _any(v2_keys("")[:2], documents))
        return Look(found, found.keys(path))
    if zarr_format == 1:
        return _v1(dialect(1, read_options), path, documents)
    return Look(dialect(1, read_options), v1_keys(path)) if zarr_format is None else None


def _of_version_3(document: Json, read_options: ReadOptions) -> Dialect:
    if kind_of_february(document) is None:
        return dialect(3, read_options)
    from omnizarr.formats.v3_prerelease import February

    return February(read_options)


def _hierarchy(entry: Json, read_options: ReadOptions, problems: Problems) -> Dialect:
    """The dialect of the hierarchy that has this entry point; MetadataError if it cannot be read."""
    from omnizarr.formats.draft.hierarchy import parse_entry_point

    found = parse_entry_point(entry, read_options, problems)
    if found is None:
        raise MetadataError("cannot open the hierarchy: its entry point `zarr.json` is not usable", problems.found)
    return found


def _tell(found: Dialect, problems: Problems, *, beside_v2: bool) -> None:
    """Warns of what is odd about an entry point, all at once."""
    odd = [f"{problem.path}: {problem.message}" for problem in problems.warnings]
    if beside_v2:
        odd.append(f"Zarr v2 metadata lies beside it: it counts; {_ASKS}")
    if odd:
        warn(f"the entry point `zarr.json` of {name_of(found.zarr_format)}: {'; '.join(odd)}")


def again(verdict: Look, path: str, documents: Documents) -> Found | None:
    """What the documents under the keys of a `Look` say."""
    if not any(key in documents for key in verdict.dialect.telling_keys(path)):
        return None
    return Found(verdict.dialect, documents) if verdict.dialect.sure else _v1(verdict.dialect, path, documents)


def _v1(v1: Dialect, path: str, documents: Documents) -> Found | None:
    """A file called `meta` is a common thing: only one that says so is an array."""
    meta = documents.get(v1_keys(path)[0])
    version = meta.get("zarr_format") if isinstance(meta, dict) else None
    if not is_integer(version) or version != 1:
        return None
    return Found(v1, {key: documents[key] for key in v1_keys(path) if key in documents})


def _both(path: str, documents: Documents) -> str | None:
    if _any(v2_keys(path)[:2], documents):
        return f"both Zarr v3 and Zarr v2 metadata lie here: v3 is used; {_ASKS}"
    return None


_ASKS = "`zarr_format=2` asks for the other"


def telling(path: str) -> tuple[str, ...]:
    """The keys that show whether a node of any generation lies at `path`; for the drafts, whether a hierarchy does."""
    return (v3_key(path), *v2_keys(path)[:2], v1_keys(path)[0])


def occupant(path: str, documents: Documents) -> Dialect | None:
    """The generation of what lies at `path`, from the documents under `telling(path)`."""
    own = v3_key(path)
    if own in documents:
        return _hierarchy(documents[own], ReadOptions(), Problems()) if is_entry_point(documents[own]) else dialect(3)
    if _any(v2_keys(path)[:2], documents):
        return dialect(2)
    found = _v1(dialect(1), path, documents) if v1_keys(path)[0] in documents else None
    return None if found is None else found.dialect


def _any(keys: tuple[str, ...], documents: Documents) -> bool:
    return any(key in documents for key in keys)
