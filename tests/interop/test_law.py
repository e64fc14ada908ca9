"""A law: another implementation reads any array of ours with equal elements; and the reverse."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import omnizarr
from tests.interop.cases import (
    BIG,
    BLOSC_NAMES,
    BLOSC_SHUFFLES,
    CRC32C,
    EXTENSION_FILLS,
    EXTENSION_KINDS,
    FILLS,
    KINDS,
    LITTLE,
    Case,
    blosc,
    document,
    fit,
    gzip,
    same,
    sharding,
    write_ours,
    zstd,
)
from tests.interop.known_differences import DIFFERS, Action, known_difference
from tests.peers import LIBRARIES, Peer, PeerError, Unsupported

COMPRESSORS = st.one_of(
    st.builds(gzip, st.integers(0, 9)),
    st.builds(zstd, st.integers(-3, 5), checksum=st.booleans()),
    st.builds(blosc, st.sampled_from(BLOSC_NAMES), st.sampled_from(BLOSC_SHUFFLES), st.integers(0, 9)),
    st.just(CRC32C),
)


@st.composite
def chains(draw: st.DrawFn, shape: tuple[int, ...], depth: int = 2) -> list[dict[str, Any]]:
    """Codecs for chunks of a shape; shards are nested at most `depth` deep."""
    codecs: list[dict[str, Any]] = []
    if draw(st.booleans()) and shape:
        order = draw(st.permutations(range(len(shape))))
        codecs.append({"name": "transpose", "configuration": {"order": order}})
        shape = tuple(shape[axis] for axis in order)
    if depth and draw(st.booleans()):
        inner = [draw(st.sampled_from([d for d in range(1, length + 1) if length % d == 0])) for length in shape]
        index: list[dict[str, Any]] = draw(st.sampled_from([[LITTLE], [BIG], [LITTLE, CRC32C], [BIG, CRC32C]]))
        at = draw(st.sampled_from(["start", "end"]))
        return [*codecs, sharding(inner, *draw(chains(tuple(inner), depth - 1)), index=index, at=at)]
    return [*codecs, draw(st.sampled_from([LITTLE, BIG])), *draw(st.lists(COMPRESSORS, max_size=2))]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """An array of any kind, partly written, with random bits."""
    name = draw(st.sampled_from(sorted(KINDS)))
    kind = KINDS[name]
    fills = [
        (kind.zero, kind.blank),
        *((fill, bits) for other, fill, bits in (*FILLS, *EXTENSION_FILLS) if other == name),
    ]
    fill, bits = draw(st.sampled_from(fills))
    shape = tuple(draw(st.lists(st.integers(0, 7), max_size=3)))
    chunks = tuple(draw(st.integers(1, 6)) for _ in shape)
    data = np.empty(shape, kind.dtype)
    data[...] = bits
    written = tuple(slice(draw(st.integers(0, 2)), draw(st.integers(3, 7))) for _ in shape)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    part = data[(*written, ...)]  # an array also for no dimensions, where an empty tuple would give a scalar
    if name in EXTENSION_KINDS:
        part[...] = random.choice(kind.values, part.shape)
    else:
        part[...] = np.frombuffer(random.bytes(part.nbytes), kind.dtype).reshape(part.shape)
    for truths in (part, *(part[field] for field in kind.dtype.names or ())):
        if truths.dtype == bool:
            truths[...] = truths.view("u1") & 1
    codecs = fit(draw(chains(chunks)), kind.dtype, kind.serializer)
    keys = {
        "name": draw(st.sampled_from(["default", "v2"])),
        "configuration": {"separator": draw(st.sampled_from("./"))},
    }
    return Case("any", name, data, chunks, codecs, fill, bits, keys, [written])


@given(case=cases(), library=st.sampled_from(LIBRARIES), action=st.sampled_from(["read", "write"]))
def test_one_implementation_reads_what_another_writes(
    zarr3_peer: Peer, case: Case, library: str, action: Action
) -> None:
    assume(library in zarr3_peer.libraries)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "array"
        try:
            if action == "read":
                write_ours(place, case)
                equal = same(zarr3_peer.read(library, place), case.data)
            else:
                zarr3_peer.write(library, place, case.data, document=document(case))
                equal = same(omnizarr.open_array(place, mode="r")[...], case.data)
            complaint = None if equal else DIFFERS
        except (Unsupported, PeerError, omnizarr.OmnizarrWarning) as error:
            complaint = str(error)
    assert complaint is None or known_difference(library, action, case, complaint) is not None, complaint
