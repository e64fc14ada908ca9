"""The `n5_default` codec: chunks in the block format of N5, with a header that contains the shape (R138)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from omnizarr._extension import check_members
from omnizarr._json import Json, Problems
from omnizarr.codecs.array_to_array.transpose import Transpose
from omnizarr.codecs.array_to_bytes.bytes_ import Bytes
from omnizarr.codecs.array_to_bytes.n5_block import BoundBlock, check_block_spec
from omnizarr.codecs.chain import Chain
from omnizarr.codecs.contract import BytesCodec, ChunkSpec, Codec, Serializer
from omnizarr.codecs.parsing import codec_of, parse_codecs
from omnizarr.config import config
from omnizarr.errors import ArgumentError

__all__ = ["BoundN5Default", "N5Default"]

_MAX_BYTES = 2**27
"""Limit for a block that is larger than its chunk. That occurs where the last chunks of a grid are short and the writer
padded the blocks. The codec does not know the size of the other chunks, so a fixed limit guards against bad headers."""
_EXPECTED = "`transpose`, `bytes` and at most one bytes → bytes codec"


@dataclass(frozen=True, slots=True)
class N5Default(Serializer):
    """`{"name": "n5_default", "configuration": {"codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}},
    {"name": "bytes", "configuration": {"endian": "big"}}, {"name": "zstd", …}]}}`: a transpose that reverses all
    dimensions, big-endian bytes, and at most one bytes → bytes codec.

    N5 libraries find the chunks only under v2 chunk keys with the separator `/`, so new arrays use these.
    """

    name: ClassVar[str] = "n5_default"
    spec_rule: ClassVar[str | None] = "R138"
    chunk_keys: ClassVar[Json] = {"name": "v2", "configuration": {"separator": "/"}}
    codecs: tuple[Codec, ...]

    def __post_init__(self) -> None:
        if isinstance(self.codecs, (Codec, str, dict)) or not isinstance(self.codecs, Iterable):
            raise self._wrong(f"expected {_EXPECTED}, found {self.codecs!r}")
        codecs = tuple(codec_of(codec, "codecs") for codec in self.codecs)
        object.__setattr__(self, "codecs", codecs)
        problem = _find_problem(codecs)
        if problem is not None:
            raise self._wrong(problem[1])
        if any(isinstance(codec, BytesCodec) and codec.resolved(1) != codec.resolved(2) for codec in codecs):
            raise self._wrong(f"`{codecs[2].name}` needs explicit values for options that depend on the element size")

    def _wrong(self, message: str) -> ArgumentError:
        return ArgumentError(f"codec `{self.name}`: `codecs`: {message}", argument="codecs")

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> N5Default | None:
        before = len(problems.found)
        where = f"{path}.configuration"
        check_members(configuration, ("codecs",), where, problems, rule="R138")
        codecs = parse_codecs(configuration.get("codecs"), f"{where}.codecs", problems)
        if len(problems.found) > before:
            return None
        problem = _find_problem(codecs)
        if problem is not None:
            problems.add(f"{where}.codecs{problem[0]}", problem[1], rule="R138")
            return None
        return cls(codecs)

    def configuration(self) -> dict[str, Json]:
        return {"codecs": [codec.to_json() for codec in self.codecs]}

    def bind(self, spec: ChunkSpec, path: str, problems: Problems) -> BoundN5Default | None:
        where = f"{path}.configuration.codecs"
        ndim = len(spec.shape)
        transpose, serializer = self.codecs[:2]
        assert isinstance(transpose, Transpose)
        assert isinstance(serializer, Bytes)
        if not check_block_spec(self.name, spec, path, problems):
            return None
        if transpose.permutation(ndim) != tuple(reversed(range(ndim))):
            problems.add(
                f"{where}[0].configuration.order",
                f"expected all {ndim} dimensions reversed, found {transpose.configuration()['order']}",
                rule="R138",
            )
            return None
        chain = Chain.bind(self.codecs, spec, where, problems)
        return None if chain is None else BoundN5Default(spec, self.codecs, chain)


def _find_problem(codecs: tuple[Codec, ...]) -> tuple[str, str] | None:
    """The first problem of a codec list that does not depend on the chunks: its relative JSON path and its message."""
    if not 2 <= len(codecs) <= 3:
        return "", f"expected {_EXPECTED}, found {len(codecs)} codecs"
    if not isinstance(codecs[0], Transpose):
        return "[0]", f"expected `transpose`, found `{codecs[0].name}`"
    if not isinstance(codecs[1], Bytes):
        return "[1]", f"expected `bytes`, found `{codecs[1].name}`"
    if isinstance(codecs[0].order, str):
        return "[0].configuration.order", "expected a permutation that reverses all dimensions"
    if codecs[1].endian == "little":
        return "[1].configuration.endian", "expected `big`, found `little`"
    if len(codecs) == 3 and (not isinstance(codecs[2], BytesCodec) or codecs[2].private):
        return "[2]", f"expected a bytes → bytes codec, found `{codecs[2].name}`"
    return None


class BoundN5Default(BoundBlock):
    """A bound `N5Default`. `decode` also accepts blocks that are longer than the chunk, and crops them."""

    name = "n5_default"

    __slots__ = ()

    def __init__(self, spec: ChunkSpec, codecs: tuple[Codec, ...], chain: Chain) -> None:
        super().__init__(spec, codecs, chain, max(spec.nbytes, min(_MAX_BYTES, config.current.max_chunk_bytes)))
