"""The storage transformer that stores the chunks of an array under the digests of their values (Z14)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems
from omnizarr.errors import ArgumentError
from omnizarr.store import Store
from omnizarr.transformers.content.pointer import ALGORITHMS, Addresses
from omnizarr.transformers.content.store import ContentStore
from omnizarr.transformers.contract import ArrayPlace, StorageTransformer
from omnizarr.transformers.hashed import check_levels, parse_levels

__all__ = ["ContentAddressed"]


@dataclass(frozen=True, slots=True)
class ContentAddressed(StorageTransformer):
    """Stores each distinct value once, and detects damaged values by their digest.

    `algorithm` is `sha256`, `sha512` or `blake2b`. Objects lie in `depth` levels of directories, whose names are
    `width` digits of the digest.
    """

    name: ClassVar[str] = "omnizarr.content_addressed"
    uri: ClassVar[str | None] = "urn:omnizarr:storage-transformers:content-addressed:1"

    algorithm: str = "sha256"
    depth: int = 1
    width: int = 3

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm, str) or self.algorithm not in ALGORITHMS:
            raise ArgumentError(
                f"`algorithm`: expected one of {', '.join(ALGORITHMS)}, found {self.algorithm!r}", argument="algorithm"
            )
        check_levels(self.depth, self.width)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> ContentAddressed | None:
        where = f"{path}.configuration"
        before = len(problems.found)
        check_members(configuration, ("algorithm", "depth", "width"), where, problems, rule="Z14")
        algorithm = configuration.get("algorithm", "sha256")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            problems.expected(f"{where}.algorithm", f"one of {', '.join(ALGORITHMS)}", algorithm, rule="Z14")
        depth, width = parse_levels(configuration, where, problems)
        return cls(algorithm, depth, width) if len(problems.found) == before else None

    def configuration(self) -> dict[str, Json]:
        return {"algorithm": self.algorithm, "depth": self.depth, "width": self.width}

    def wrap(self, store: Store, place: ArrayPlace) -> ContentStore:
        return ContentStore(store, place, Addresses(place.prefix, self.algorithm, self.depth, self.width))
