"""The storage transformer of arrays whose chunks are parts of other files, and the permission to read these."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems
from omnizarr.errors import ArgumentError, InvalidKeyError
from omnizarr.store import Store, check_key
from omnizarr.store.object.options import deobfuscate, obfuscate
from omnizarr.transformers.contract import AllowedFiles, ArrayPlace, StorageTransformer
from omnizarr.transformers.file_chunks.store import FileChunkStore

__all__ = ["AllowFiles", "FileChunks"]


@dataclass(frozen=True, slots=True)
class FileChunks(StorageTransformer):
    """Chunks are parts of other files, which a manifest beside the metadata lists. New chunks are stored as usual, and
    take precedence."""

    name: ClassVar[str] = "chunk-manifest-json"
    uri: ClassVar[str | None] = "urn:omnizarr:storage-transformers:chunk-manifest-json:1"

    manifest: str = "./manifest.json"
    """The path of the manifest, relative to the folder of the array's chunks."""

    def __post_init__(self) -> None:
        if not isinstance(self.manifest, str) or not _is_below(self.manifest):
            raise ArgumentError(
                f"`manifest`: expected a path in the array's folder, found {self.manifest!r}", argument="manifest"
            )

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> FileChunks | None:
        where = f"{path}.configuration"
        before = len(problems.found)
        check_members(configuration, ("manifest",), where, problems, rule="Z21")
        manifest = configuration.get("manifest", "./manifest.json")
        if not isinstance(manifest, str) or not _is_below(manifest):
            problems.expected(f"{where}.manifest", "a path in the array's folder", manifest, rule="Z21")
        return cls(str(manifest)) if len(problems.found) == before else None

    def configuration(self) -> dict[str, Json]:
        return {"manifest": self.manifest}

    def wrap(self, store: Store, place: ArrayPlace) -> FileChunkStore:
        key = self.manifest.removeprefix("./")
        if place.chunk_keys.coordinates(key, place.rank) is not None:
            raise ArgumentError(f"`manifest`: `{self.manifest}` is the key of a chunk", argument="manifest")
        return FileChunkStore(store, place, key)


def _is_below(path: str) -> bool:
    try:
        check_key(path.removeprefix("./"))
    except InvalidKeyError:
        return False
    return "\\" not in path and "://" not in path


@dataclass(frozen=True, slots=True)
class AllowFiles(StorageTransformer):
    """Allows an array, or the arrays of a group, to read chunks from files below these paths and URLs. It is given when
    the array is opened, because a document must not choose which files a program reads.

    `target_options` are the storage options for stores of other locations; they may be nested under the names of
    schemes.
    """

    name: ClassVar[str] = "allow_files"
    layout: ClassVar[bool] = False

    locations: tuple[str, ...] = ()
    target_options: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __init__(
        self, locations: Iterable[str | os.PathLike[str]], *, target_options: Mapping[str, Any] | None = None
    ) -> None:
        if isinstance(locations, (str, os.PathLike)) or not isinstance(locations, Iterable):
            raise ArgumentError(
                f"`locations`: expected a list of paths and URLs, found {locations!r}", argument="locations"
            )
        object.__setattr__(self, "locations", tuple(os.fspath(location) for location in locations))
        object.__setattr__(self, "target_options", dict(target_options or {}))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (obfuscate({"locations": self.locations, "target_options": dict(self.target_options)}),)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> AllowFiles | None:
        problems.add(path, "a document cannot allow to read files", hint="give it when the array is opened", rule="Z21")
        return None

    def configuration(self) -> dict[str, Json]:
        return {}

    def below(self, place: ArrayPlace) -> ArrayPlace:
        before = place.files
        if before is None:
            files = AllowedFiles(self.locations, self.target_options)
        else:
            files = AllowedFiles((*before.locations, *self.locations), {**before.options, **self.target_options})
        return replace(place, files=files)

    def wrap(self, store: Store, place: ArrayPlace) -> Store:
        return store


def _restore(options: Mapping[str, Any]) -> AllowFiles:
    plain = deobfuscate(options)
    return AllowFiles(plain["locations"], target_options=plain["target_options"])
