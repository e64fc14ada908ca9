"""The `conditional` codec: applies other codecs to some chunks; a mask before the bytes says which (R137)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from omnizarr._extension import call_extension, check_members
from omnizarr._json import Json, Problems, is_integer
from omnizarr.codecs.contract import (
    BoundBytesCodec,
    Buffer,
    BytesCodec,
    ByteSpec,
    Codec,
    check_codec_count,
    check_size,
    intermediate_limit,
    limited,
)
from omnizarr.codecs.parsing import codec_of, parse_codec
from omnizarr.codecs.third_party import wrap_third_party
from omnizarr.errors import ArgumentError, CodecError

__all__ = ["BoundConditional", "Conditional", "Decision"]

Decision = Literal["compress_if_smaller", "always_apply", "never_apply"]
_DECISIONS = ("compress_if_smaller", "always_apply", "never_apply")
_MEMBERS = ("codecs", "header_bits")
_MAX_BITS = 2**16


@dataclass(frozen=True, slots=True)
class Conditional(BytesCodec):
    """`{"name": "conditional", "configuration": {"codecs": [{"name": "zstd", …}], "header_bits": 8}}`

    A `header_bits` of None means the smallest multiple of 8 with a bit for each codec. `decision` controls how chunks
    are written, and is not part of documents: apply all codecs if they make the chunk smaller (the default), always, or
    never.
    """

    name: ClassVar[str] = "conditional"
    spec_rule: ClassVar[str | None] = "R137"
    codecs: tuple[Codec, ...]
    header_bits: int | None = None
    decision: Decision = field(default="compress_if_smaller", compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.codecs, (Codec, str, dict)) or not isinstance(self.codecs, Iterable):
            raise _wrong("codecs", "a list of codecs", self.codecs)
        object.__setattr__(self, "codecs", tuple(codec_of(codec, "codecs") for codec in self.codecs))
        for codec in self.codecs:
            if not isinstance(codec, BytesCodec) or codec.private:
                raise _wrong("codecs", "bytes → bytes codecs of Zarr v3", codec.name)
        if self.header_bits is not None and not _is_header(self.header_bits, len(self.codecs)):
            raise _wrong("header_bits", _header_rule(len(self.codecs)), self.header_bits)
        if self.decision not in _DECISIONS:
            raise _wrong("decision", f"one of {', '.join(_DECISIONS)}", self.decision)

    @classmethod
    def parse(cls, configuration: dict[str, Json], path: str, problems: Problems) -> Conditional | None:
        before = len(problems.found)
        where = f"{path}.configuration"
        check_members(configuration, _MEMBERS, where, problems, rule="R137")
        items = configuration.get("codecs")
        if not isinstance(items, list):
            problems.expected(f"{where}.codecs", "a list of codecs", items, rule="R137")
            return None
        if not check_codec_count(len(items), f"{where}.codecs", problems):
            return None
        codecs = [parse_codec(item, f"{where}.codecs[{index}]", problems) for index, item in enumerate(items)]
        for index, codec in enumerate(codecs):
            if codec is not None and not isinstance(codec, BytesCodec):
                problems.add(
                    f"{where}.codecs[{index}]", f"expected a bytes → bytes codec, found `{codec.name}`", rule="R137"
                )
        header = configuration.get("header_bits")
        if "header_bits" in configuration and not _is_header(header, len(codecs)):
            problems.expected(f"{where}.header_bits", _header_rule(len(codecs)), header, rule="R137")
        if len(problems.found) > before:
            return None
        return cls(tuple(codec for codec in codecs if codec is not None), header)

    def configuration(self) -> dict[str, Json]:
        members: dict[str, Json] = {"codecs": [codec.to_json() for codec in self.codecs]}
        return members if self.header_bits is None else {**members, "header_bits": self.header_bits}

    def resolved(self, itemsize: int) -> Conditional:
        steps = [codec.resolved(itemsize) for codec in self.codecs if isinstance(codec, BytesCodec)]
        return Conditional(tuple(steps), self.header_bits, self.decision)

    def bind(self, spec: ByteSpec, path: str, problems: Problems) -> BoundConditional | None:
        if not check_codec_count(len(self.codecs), f"{path}.configuration.codecs", problems):
            return None
        ceiling = intermediate_limit(spec, spec.size or 0) if spec.ceiling is None else spec.ceiling
        byte_spec = limited(spec, ceiling)
        steps = []
        for index, codec in enumerate(self.codecs):
            assert isinstance(codec, BytesCodec)
            where = f"{path}.configuration.codecs[{index}]"
            step = call_extension("codec", codec.name, where, problems, codec.bind, byte_spec)
            if step is None:
                return None
            steps.append(wrap_third_party(codec.name, step, byte_spec))
            # The input of the next codec may or may not have passed through this one.
            after = step.encoded
            size = byte_spec.size if after.size == byte_spec.size else None
            byte_spec = limited(ByteSpec(size, max(byte_spec.limit, after.limit), byte_spec.itemsize), ceiling)
        header = -(-len(steps) // 8) if self.header_bits is None else self.header_bits // 8
        return BoundConditional(spec, byte_spec, steps, header, self.decision)


def _is_header(value: Json, codecs: int) -> bool:
    return is_integer(value) and value % 8 == 0 and codecs <= value <= _MAX_BITS


def _header_rule(codecs: int) -> str:
    return f"a multiple of 8 from {-(-codecs // 8) * 8} to {_MAX_BITS}"


def _wrong(argument: str, expected: str, value: Any) -> ArgumentError:
    return ArgumentError(
        f"codec `{Conditional.name}`: `{argument}`: expected {expected}, found {value!r}", argument=argument
    )


class BoundConditional(BoundBytesCodec):
    """A bound `Conditional`. A chunk is stored as a mask and the encoded bytes. Bit i of the mask says whether codec i
    was applied; bit 0 is the least significant bit of the first byte."""

    __slots__ = ("_decision", "_header", "_spec", "_steps", "encoded", "pace")

    def __init__(
        self, spec: ByteSpec, payload: ByteSpec, steps: list[BoundBytesCodec], header: int, decision: Decision
    ) -> None:
        """`payload` describes the bytes after the mask, which has `header` bytes."""
        self._spec = spec
        self._steps = tuple(steps)
        self._header = header
        self._decision = decision
        self.pace = min((step.pace for step in steps), default=10000)
        size = None if payload.size is None else payload.size + self._header
        self.encoded = ByteSpec(size, payload.limit + self._header)

    def encode(self, data: Buffer) -> Buffer:
        encoded = data
        mask = 0
        if self._decision != "never_apply":
            for step in self._steps:
                encoded = step.encode(encoded)
            mask = (1 << len(self._steps)) - 1
        if self._decision == "compress_if_smaller" and len(encoded) >= len(data):
            encoded, mask = data, 0
        return b"".join((mask.to_bytes(self._header, "little"), encoded))

    def decode(self, data: Buffer, out: memoryview | None = None) -> Buffer:
        view = memoryview(data)
        if len(view) < self._header:
            raise CodecError("conditional", f"expected a mask of {self._header} bytes, found {len(view)}")
        mask = int.from_bytes(view[: self._header], "little")
        if mask >> len(self._steps):
            raise CodecError("conditional", f"expected a mask for {len(self._steps)} codecs, found {mask:#x}")
        applied = [step for index, step in enumerate(self._steps) if mask >> index & 1]
        decoded: Buffer = view[self._header :]
        for step in applied[:0:-1]:
            decoded = step.decode(decoded)
        if applied:
            decoded = applied[0].decode(decoded, out if applied[0] is self._steps[0] else None)
        if decoded is not out:
            check_size("conditional", self._spec, len(decoded))
        return decoded
