"""What other implementations are known not to do, or to do wrong: no more than this may go wrong between them and us.

A gap names the library, the arrays that it concerns and the words of the complaint. Whatever else a peer says fails the
test, so a peer that is broken cannot look like one that lacks something. A gap that a peer has closed does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.interop.cases import EXTENSION_KINDS, KINDS, MORE_KINDS, Cell

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


def _extension(cell: Cell) -> bool:
    return cell.kind in EXTENSION_KINDS


def _more(cell: Cell) -> bool:
    return cell.kind in MORE_KINDS


def _fixed_text(cell: Cell) -> bool:
    return cell.kind in ("utf32", "fixed bytes")


def _single_bytes(cell: Cell) -> bool:
    return cell.kind == "bytes" and cell.data.shape == ()


def _transposed_vlen(cell: Cell) -> bool:
    names = [codecs[index]["name"] for codecs, index in _codecs(cell.codecs)]
    return KINDS[cell.kind].serializer in names and "transpose" in names


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


def _blosc_of_compressed(cell: Cell) -> bool:
    return any(
        codecs[index]["name"] == "blosc"
        and codecs[index]["configuration"]["typesize"] > 1
        and codecs[index - 1]["name"] in ("gzip", "zstd")
        for codecs, index in _codecs(cell.codecs)
    )


def _big_complex(cell: Cell) -> bool:
    big = {"endian": "big"}
    return cell.kind.startswith("complex") and any(
        codecs[index].get("configuration") == big for codecs, index in _codecs(cell.codecs)
    )


def _names(cell: Cell) -> set[str]:
    return {codecs[index]["name"] for codecs, index in _codecs(cell.codecs)}


def _registered(cell: Cell) -> bool:
    """Whether it has a codec of the registry that few have."""
    return not _names(cell).isdisjoint(REGISTERED)


def _nan_with_payload(cell: Cell) -> bool:
    return "0x" in str(cell.fill)


def _complex_fill(cell: Cell) -> bool:
    return cell.kind.startswith("complex") and ("NaN" in cell.fill or "-0.0" in str(cell.fill))


def _of_numcodecs(cell: Cell) -> bool:
    return any(codecs[index]["name"].startswith("numcodecs.") for codecs, index in _codecs(cell.codecs))


REGISTERED = frozenset(
    ["bitround", "cast_value", "conditional", "n5_default", "packbits", "reshape", "scale_offset", "zfp"]
)
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
    Gap(("zarr", "zarrs"), BOTH, _more, "No Zarr data type found that matches", "zarr-python has no small numbers"),
    Gap(
        ("tensorstore",),
        BOTH,
        _more,
        "is not one of the supported data types",
        "TensorStore has some of the small numbers, and no complex ones of them",
    ),
    Gap(
        ("tensorstore",),
        BOTH,
        lambda cell: cell.kind == "float8_e8m0fnu" and cell.fill == 2,
        DIFFERS,
        "TensorStore takes the bias of float8_e8m0fnu for 63 where it reads a fill value",
    ),
    Gap(
        ("tensorstore",),
        ("write",),
        lambda cell: cell.kind == "float8_e8m0fnu",
        "has no zero: read as its smallest number",
        "TensorStore writes the smallest number of float8_e8m0fnu as zero, which there is not",
    ),
    Gap(
        ("tensorstore",),
        BOTH,
        lambda cell: cell.rectilinear,
        'Expected "regular", but received: "rectilinear"',
        "TensorStore has no rectilinear grids",
    ),
    Gap(("zarrs", "zarrista"), BOTH, _struct, "data type struct is not supported", "zarrs has no records"),
    Gap(("tensorstore",), BOTH, _registered, "is not registered", "TensorStore has few of the registered codecs"),
    Gap(
        ("zarr", "zarrs"),
        BOTH,
        _registered,
        "is not available. Register one explicitly",
        "zarr-python has few of the registered codecs",
    ),
    Gap(
        ("zarr",),
        BOTH,
        lambda cell: "cast_value" in _names(cell),
        "requires the 'cast-value-rs' package",
        "zarr-python casts with a package of its own, which is not there",
    ),
    Gap(
        ("zarr",),
        ("read",),
        lambda cell: cell.name.startswith("scale_offset of everything, float"),
        DIFFERS,
        "zarr-python adds an offset of zero where there is none, and a negative zero is positive then",
    ),
    Gap(
        ("zarr",),
        ("write",),
        lambda cell: "n5_default" in _names(cell),
        "NotImplementedError",
        "zarr-n5 only reads",
    ),
    Gap(("zarrs", "zarrista"), BOTH, _registered, "is not supported", "zarrs has not all of the registered codecs"),
    Gap(
        ("zarrista",),
        ("read",),
        lambda cell: cell.name.startswith("packbits first byte of whole bytes"),
        "the size of a decoded chunk is",
        "zarrs leaves out the byte that counts free bits where there never are any",
    ),
    Gap(
        ("zarrista",),
        BOTH,
        lambda cell: cell.name.startswith("packbits some bits of a longer sign"),
        DIFFERS,
        "zarrs repeats the sign of packed bits only up to the end of a byte",
    ),
    Gap(
        ("zarrista",),
        ("read",),
        lambda cell: cell.name.startswith("packbits some bits"),
        DIFFERS,
        "zarrs takes parts of chunks of packed bits from the wrong place if their first bit is not 0",
    ),
    Gap(
        ("zarrista",),
        ("read",),
        lambda cell: "reshape" in _names(cell) and KINDS[cell.kind].serializer is not None,
        "indexer is incompatible with array shape",
        "zarrs cannot take parts of chunks of reshaped text",
    ),
    Gap(
        ("zarrista",),
        ("read",),
        lambda cell: cell.name.startswith("reshape before shards"),
        "Invalid argument (os error 22)",
        "zarrs cannot take parts of shards that were reshaped",
    ),
    Gap(("tensorstore",), BOTH, _of_numcodecs, "is not registered", "TensorStore has no codecs of numcodecs"),
    Gap(
        ("zarrs", "zarrista"),
        BOTH,
        _of_numcodecs,
        "is not supported",
        "zarrs has few of the codecs of numcodecs",
    ),
    Gap(
        ("zarrs", "zarrista"),
        BOTH,
        _of_numcodecs,
        "configuration is unsupported",
        "zarrs knows no defaults of numcodecs",
    ),
    Gap(
        ("tensorstore",),
        BOTH,
        _extension,
        "is not one of the supported data types",
        "TensorStore has no text, bytes and times in version 3",
    ),
    Gap(("zarrs",), BOTH, _fixed_text, " is not supported", "zarrs has no text and bytes of fixed length"),
    Gap(
        ("zarrs",),
        BOTH,
        lambda cell: _extension(cell) and not _fixed_text(cell),
        "UnsupportedDataTypeError",
        "the pipeline of zarrs in zarr-python takes no times, and nothing of any length",
    ),
    Gap(
        ("zarrista",),
        BOTH,
        lambda cell: cell.kind == "fixed bytes",
        "data type null_terminated_bytes is not supported",
        "zarrs has no bytes of fixed length",
    ),
    Gap(
        ("zarrista",),
        ("read",),
        _transposed_vlen,
        "out-of-bounds of array shape",
        "zarrs takes elements of any length from transposed chunks as if they were not transposed",
    ),
    Gap(
        ("zarrista",),
        ("write",),
        lambda cell: KINDS[cell.kind].serializer is not None and cell.fill != "",
        DIFFERS,
        "zarrs takes elements of no length for the fill value, whatever that is, and leaves out chunks of such",
    ),
    *(
        Gap(
            ("zarrs", "zarrista"),
            ("read",),
            _blosc_of_compressed,
            words,
            "zarrs takes from a blosc frame in part only what is whole elements, though bytes are in it that are none",
        )
        for words in ("unexpected end of file", "incomplete frame")
    ),
    Gap(
        ("zarr",),
        ("write",),
        _single_bytes,
        "Expected bytes, got numpy.ndarray",
        "zarr-python takes the array around a single object for that object",
    ),
    Gap(
        ("zarr",),
        ("read",),
        lambda cell: _single_bytes(cell) and "sharding_indexed" in _names(cell),
        DIFFERS,
        "zarr-python wraps a single object in a shard into an array",
    ),
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
