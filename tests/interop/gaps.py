"""What other implementations are known not to do, or to do wrong: no more than this may go wrong between them and us.

A gap names the library, the arrays that it concerns and the words of the complaint. Whatever else a peer says fails the
test, so a peer that is broken cannot look like one that lacks something. A gap that a peer has closed does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.interop.cells import Cell

__all__ = ["DIFFERS", "GAPS", "Gap", "gap"]

DIFFERS = "other values"
"""The complaint when nobody complained: the values that arrived are not those that were sent."""

Action = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that libraries cannot do."""

    libraries: tuple[str, ...]
    actions: tuple[Action, ...]
    concerns: Callable[[Cell], bool]
    words: str
    """What the complaint contains."""
    reason: str


def gap(library: str, action: Action, cell: Cell, complaint: str) -> Gap | None:
    """The gap that explains a complaint, if there is one."""
    for known in GAPS:
        if (
            library in known.libraries
            and action in known.actions
            and known.words in complaint
            and (known.words == DIFFERS) == (complaint == DIFFERS)
            and known.concerns(cell)
        ):
            return known
    return None


def _codecs(codecs: Sequence[dict[str, Any]]) -> Iterator[tuple[Sequence[dict[str, Any]], int]]:
    """Every codec, those inside shards too, as the list that it stands in and its place there."""
    for index, codec in enumerate(codecs):
        yield codecs, index
        yield from _codecs(codec.get("configuration", {}).get("codecs", ()))


def _raw(cell: Cell) -> bool:
    return cell.kind in ("r8", "r24")


def _struct(cell: Cell) -> bool:
    return cell.kind == "struct"


def _compressed_shards(cell: Cell) -> bool:
    return any(
        codecs[index]["name"] == "sharding_indexed" and len(codecs) > index + 1
        for codecs, index in _codecs(cell.codecs)
    )


def _transposed_shards(cell: Cell) -> bool:
    return any(
        codecs[index]["name"] == "sharding_indexed"
        and index > 0
        and codecs[index - 1]["name"] == "transpose"
        and len(set(codecs[index]["configuration"]["chunk_shape"])) > 1  # those of equal sides fit either way
        for codecs, index in _codecs(cell.codecs)
    )


def _big_complex(cell: Cell) -> bool:
    big = {"endian": "big"}
    return cell.kind.startswith("complex") and any(
        codecs[index].get("configuration") == big for codecs, index in _codecs(cell.codecs)
    )


def _nan_with_payload(cell: Cell) -> bool:
    return "0x" in str(cell.fill)


def _complex_fill(cell: Cell) -> bool:
    return cell.kind.startswith("complex") and ("NaN" in cell.fill or "-0.0" in str(cell.fill))


BOTH: tuple[Action, Action] = ("read", "write")

GAPS = (
    Gap(("zarr", "zarrs"), BOTH, _raw, "No Zarr data type found that matches 'r", "zarr-python has no raw bits"),
    Gap(
        ("tensorstore",),
        BOTH,
        _raw,
        "Expected base64-encoded string for raw_bytes",
        "TensorStore reads the fill value of raw bits only as text",
    ),
    Gap(("zarrs", "zarrista"), BOTH, _struct, "data type struct is not supported", "zarrs has no records"),
    Gap(
        ("tensorstore",),
        BOTH,
        _compressed_shards,
        "codecs may be specified as inner codecs",
        "TensorStore allows no codec after shards",
    ),
    Gap(
        ("zarr", "zarrs"),
        BOTH,
        _transposed_shards,
        "not divisible by the shard's inner chunk size",
        "zarr-python compares the inner chunks of transposed shards with chunks that are not transposed",
    ),
    Gap(
        ("zarrs",),
        ("read",),
        _big_complex,
        DIFFERS,
        "zarrs 0.2.3 swaps the real and the imaginary part of big-endian chunks that it reads in part",
    ),
    Gap(("zarr",), ("read",), lambda cell: cell.fill == "0x7e01", DIFFERS, "zarr-python knows one NaN of float16"),
    Gap(
        ("zarrs",),
        ("read",),
        _nan_with_payload,
        DIFFERS,
        "zarrs gets its fill value through zarr-python, which writes every NaN as NaN",
    ),
    Gap(("zarr",), ("write",), _nan_with_payload, DIFFERS, "zarr-python stores every NaN that is a fill value as NaN"),
    Gap(
        ("zarr",),
        ("write",),
        _complex_fill,
        DIFFERS,
        "zarr-python leaves out chunks whose complex numbers are NaN in any part, or zero of any sign, as the fill is",
    ),
)
