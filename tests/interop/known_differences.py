"""Known limitations and bugs of other implementations. Tests accept only these.

A known difference names the library, the arrays that it concerns, and the text of the error. Any other error of a peer
fails the test, so that a broken peer cannot look like one with a limitation. A difference that a newer peer no longer
has is harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tests.interop.cases import EXTENSION_KINDS, KINDS, MORE_KINDS, Case

__all__ = ["DIFFERS", "KNOWN_DIFFERENCES", "KnownDifference", "known_difference"]

DIFFERS = "other values"
"""The complaint if there was no error, but the values differ."""

Action = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class KnownDifference:
    """Something that libraries do not support or do wrong."""

    libraries: tuple[str, ...]
    actions: tuple[Action, ...]
    concerns: Callable[[Case], bool]
    words: str
    """A part of the error message."""
    reason: str


def known_difference(library: str, action: Action, case: Case, complaint: str) -> KnownDifference | None:
    """The known difference that explains an error; None if there is none."""
    for known in KNOWN_DIFFERENCES:
        if (
            library in known.libraries
            and action in known.actions
            and known.words in complaint
            and (known.words == DIFFERS) == (complaint == DIFFERS)
            and known.concerns(case)
        ):
            return known
    return None


def _codecs(codecs: Sequence[dict[str, Any]]) -> Iterator[tuple[Sequence[dict[str, Any]], int]]:
    """Every codec, including those inside shards, as the list that contains it and its index in that list."""
    for index, codec in enumerate(codecs):
        yield codecs, index
        yield from _codecs(codec.get("configuration", {}).get("codecs", ()))


def _raw(case: Case) -> bool:
    return case.kind in ("r8", "r24")


def _struct(case: Case) -> bool:
    return case.kind == "struct"


def _extension(case: Case) -> bool:
    return case.kind in EXTENSION_KINDS


def _more(case: Case) -> bool:
    return case.kind in MORE_KINDS


def _fixed_text(case: Case) -> bool:
    return case.kind in ("utf32", "fixed bytes")


def _single_bytes(case: Case) -> bool:
    return case.kind == "bytes" and case.data.shape == ()


def _transposed_vlen(case: Case) -> bool:
    names = [codecs[index]["name"] for codecs, index in _codecs(case.codecs)]
    return KINDS[case.kind].serializer in names and "transpose" in names


def _compressed_shards(case: Case) -> bool:
    return any(
        codecs[index]["name"] == "sharding_indexed" and len(codecs) > index + 1
        for codecs, index in _codecs(case.codecs)
    )


def _transposed_shards(case: Case) -> bool:
    return any(
        codecs[index]["name"] == "sharding_indexed"
        and index > 0
        and codecs[index - 1]["name"] == "transpose"
        and len(set(codecs[index]["configuration"]["chunk_shape"])) > 1  # arrays with equal sides work either way
        for codecs, index in _codecs(case.codecs)
    )


def _blosc_of_compressed(case: Case) -> bool:
    return any(
        codecs[index]["name"] == "blosc"
        and codecs[index]["configuration"]["typesize"] > 1
        and codecs[index - 1]["name"] in ("gzip", "zstd")
        for codecs, index in _codecs(case.codecs)
    )


def _big_complex(case: Case) -> bool:
    big = {"endian": "big"}
    return case.kind.startswith("complex") and any(
        codecs[index].get("configuration") == big for codecs, index in _codecs(case.codecs)
    )


def _names(case: Case) -> set[str]:
    return {codecs[index]["name"] for codecs, index in _codecs(case.codecs)}


def _registered(case: Case) -> bool:
    """Whether it has a codec of the registry that few implementations have."""
    return not _names(case).isdisjoint(REGISTERED)


def _nan_with_payload(case: Case) -> bool:
    return "0x" in str(case.fill)


def _complex_fill(case: Case) -> bool:
    return case.kind.startswith("complex") and ("NaN" in case.fill or "-0.0" in str(case.fill))


def _of_numcodecs(case: Case) -> bool:
    return any(codecs[index]["name"].startswith("numcodecs.") for codecs, index in _codecs(case.codecs))


REGISTERED = frozenset(
    ["bitround", "cast_value", "conditional", "n5_default", "packbits", "reshape", "scale_offset", "zfp"]
)
BOTH: tuple[Action, Action] = ("read", "write")

KNOWN_DIFFERENCES = (
    KnownDifference(
        ("zarr", "zarrs"), BOTH, _raw, "No Zarr data type found that matches 'r", "zarr-python has no raw bits"
    ),
    KnownDifference(
        ("tensorstore",),
        BOTH,
        _raw,
        "Expected base64-encoded string for raw_bytes",
        "TensorStore reads the fill value of raw bits only as text",
    ),
    KnownDifference(
        ("zarr", "zarrs"), BOTH, _more, "No Zarr data type found that matches", "zarr-python has no small numbers"
    ),
    KnownDifference(
        ("tensorstore",),
        BOTH,
        _more,
        "is not one of the supported data types",
        "TensorStore has some of the small numbers, and no complex ones of them",
    ),
    KnownDifference(
        ("tensorstore",),
        BOTH,
        lambda case: case.kind == "float8_e8m0fnu" and case.fill == 2,
        DIFFERS,
        "TensorStore takes the bias of float8_e8m0fnu for 63 where it reads a fill value",
    ),
    KnownDifference(
        ("tensorstore",),
        ("write",),
        lambda case: case.kind == "float8_e8m0fnu",
        "has no zero: read as its smallest number",
        "TensorStore writes the smallest number of float8_e8m0fnu as zero, which there is not",
    ),
    KnownDifference(
        ("tensorstore",),
        BOTH,
        lambda case: case.rectilinear,
        'Expected "regular", but received: "rectilinear"',
        "TensorStore has no rectilinear grids",
    ),
    KnownDifference(("zarrs", "zarrista"), BOTH, _struct, "data type struct is not supported", "zarrs has no records"),
    KnownDifference(
        ("tensorstore",), BOTH, _registered, "is not registered", "TensorStore has few of the registered codecs"
    ),
    KnownDifference(
        ("zarr", "zarrs"),
        BOTH,
        _registered,
        "is not available. Register one explicitly",
        "zarr-python has few of the registered codecs",
    ),
    KnownDifference(
        ("zarr",),
        BOTH,
        lambda case: "cast_value" in _names(case),
        "requires the 'cast-value-rs' package",
        "zarr-python casts with a package of its own, which is not there",
    ),
    KnownDifference(
        ("zarr",),
        ("read",),
        lambda case: case.name.startswith("scale_offset of everything, float"),
        DIFFERS,
        "zarr-python adds an offset of zero where there is none, and a negative zero is positive then",
    ),
    KnownDifference(
        ("zarr",),
        ("write",),
        lambda case: "n5_default" in _names(case),
        "NotImplementedError",
        "zarr-n5 only reads",
    ),
    KnownDifference(
        ("zarrs", "zarrista"), BOTH, _registered, "is not supported", "zarrs has not all of the registered codecs"
    ),
    KnownDifference(
        ("zarrista",),
        ("read",),
        lambda case: case.name.startswith("packbits first byte of whole bytes"),
        "the size of a decoded chunk is",
        "zarrs leaves out the byte that counts free bits where there never are any",
    ),
    KnownDifference(
        ("zarrista",),
        BOTH,
        lambda case: case.name.startswith("packbits some bits of a longer sign"),
        DIFFERS,
        "zarrs repeats the sign of packed bits only up to the end of a byte",
    ),
    KnownDifference(
        ("zarrista",),
        ("read",),
        lambda case: case.name.startswith("packbits some bits"),
        DIFFERS,
        "zarrs takes parts of chunks of packed bits from the wrong place if their first bit is not 0",
    ),
    KnownDifference(
        ("zarrista",),
        ("read",),
        lambda case: "reshape" in _names(case) and KINDS[case.kind].serializer is not None,
        "indexer is incompatible with array shape",
        "zarrs cannot take parts of chunks of reshaped text",
    ),
    KnownDifference(
        ("zarrista",),
        ("read",),
        lambda case: case.name.startswith("reshape before shards"),
        "Invalid argument (os error 22)",
        "zarrs cannot take parts of shards that were reshaped",
    ),
    KnownDifference(
        ("tensorstore",), BOTH, _of_numcodecs, "is not registered", "TensorStore has no codecs of numcodecs"
    ),
    KnownDifference(
        ("zarrs", "zarrista"),
        BOTH,
        _of_numcodecs,
        "is not supported",
        "zarrs has few of the codecs of numcodecs",
    ),
    KnownDifference(
        ("zarrs", "zarrista"),
        BOTH,
        _of_numcodecs,
        "configuration is unsupported",
        "zarrs knows no defaults of numcodecs",
    ),
    KnownDifference(
        ("tensorstore",),
        BOTH,
        _extension,
        "is not one of the supported data types",
        "TensorStore has no text, bytes and times in version 3",
    ),
    KnownDifference(("zarrs",), BOTH, _fixed_text, " is not supported", "zarrs has no text and bytes of fixed length"),
    KnownDifference(
        ("zarrs",),
        BOTH,
        lambda case: _extension(case) and not _fixed_text(case),
        "UnsupportedDataTypeError",
        "the pipeline of zarrs in zarr-python takes no times, and nothing of any length",
    ),
    KnownDifference(
        ("zarrista",),
        BOTH,
        lambda case: case.kind == "fixed bytes",
        "data type null_terminated_bytes is not supported",
        "zarrs has no bytes of fixed length",
    ),
    KnownDifference(
        ("zarrista",),
        ("read",),
        _transposed_vlen,
        "out-of-bounds of array shape",
        "zarrs reads variable-length elements of transposed chunks as if the chunks were not transposed",
    ),
    KnownDifference(
        ("zarrista",),
        ("write",),
        lambda case: KINDS[case.kind].serializer is not None and case.fill != "",
        DIFFERS,
        "zarrs treats empty elements as the fill value, even if that is another, and omits chunks of them",
    ),
    *(
        KnownDifference(
            ("zarrs", "zarrista"),
            ("read",),
            _blosc_of_compressed,
            words,
            "zarrs reads only whole elements of a part of a blosc frame, although the frame holds compressed bytes",
        )
        for words in ("unexpected end of file", "incomplete frame")
    ),
    *(
        KnownDifference(
            ("zarr",),
            BOTH,
            lambda case: "numcodecs.pcodec" in _names(case) and "complex" in case.kind,
            words,
            "numcodecs has no pcodec of complex numbers",
        )
        for words in ("Unsupported data type", "cannot reshape array")
    ),
    KnownDifference(
        ("zarr",),
        ("write",),
        _single_bytes,
        "Expected bytes, got numpy.ndarray",
        "zarr-python mistakes an array of one object for the object",
    ),
    KnownDifference(
        ("zarr",),
        ("read",),
        lambda case: _single_bytes(case) and "sharding_indexed" in _names(case),
        DIFFERS,
        "zarr-python wraps a single object in a shard into an array",
    ),
    KnownDifference(
        ("tensorstore",),
        BOTH,
        _compressed_shards,
        "codecs may be specified as inner codecs",
        "TensorStore allows no codec after shards",
    ),
    KnownDifference(
        ("zarr", "zarrs"),
        BOTH,
        _transposed_shards,
        "not divisible by the shard's inner chunk size",
        "zarr-python compares the inner chunks of transposed shards with chunks that are not transposed",
    ),
    KnownDifference(
        ("zarrs",),
        ("read",),
        _big_complex,
        DIFFERS,
        "zarrs 0.2.3 swaps the real and the imaginary part of big-endian chunks that it reads in part",
    ),
    KnownDifference(
        ("zarr",),
        ("read",),
        lambda case: case.fill == "0x7e01",
        DIFFERS,
        "zarr-python supports only one NaN of float16",
    ),
    KnownDifference(
        ("zarrs",),
        ("read",),
        _nan_with_payload,
        DIFFERS,
        "zarrs gets its fill value through zarr-python, which writes every NaN as NaN",
    ),
    KnownDifference(
        ("zarr",), ("write",), _nan_with_payload, DIFFERS, "zarr-python stores every NaN that is a fill value as NaN"
    ),
    KnownDifference(
        ("zarr",),
        ("write",),
        _complex_fill,
        DIFFERS,
        "zarr-python omits complex chunks if they and the fill value all have a NaN part, or are zero of any sign",
    ),
)
