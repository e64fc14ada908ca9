"""`advise`: proposals that fit the access, measured on a sample."""

from __future__ import annotations

import numpy as np
import pytest

import omnizarr
from omnizarr.errors import ArgumentError
from omnizarr.tools import advise
from omnizarr.tools.advice import parse_access


def test_access_names_dimensions_and_lengths() -> None:
    names = ("time", "lat", "lon")
    assert parse_access("time,lat:10", (100, 50, 60), names) == (100, 10, 1)
    assert parse_access(" lon , time:500", (100, 50, 60), names) == (100, 1, 60)
    assert parse_access("0:3,2", (100, 50, 60), None) == (3, 1, 60)
    for wrong in ("tim", "time:x", "", "7"):
        with pytest.raises(ArgumentError, match="access"):
            parse_access(wrong, (100, 50, 60), names)


def test_proposals_follow_the_access() -> None:
    data = np.cumsum(np.random.default_rng(0).normal(size=(365, 45, 90)), axis=0).astype("f4")
    z = omnizarr.create_array({}, data=data, chunks=(1, 45, 90), dimension_names=["time", "lat", "lon"])
    advice = advise(z, ["time"])
    assert advice.access == ((365, 1, 1),)
    best = advice.proposals[0]
    assert best.chunks[0] > 100
    assert best.seconds < advice.present.seconds
    assert best.reads < advice.present.reads == 365
    assert 1 <= best.ratio < 3  # 1 without compression, which a busy machine may find faster
    assert any(1 < proposal.ratio < 3 for proposal in advice.proposals)
    assert all(proposal.files >= 2 and proposal.decode_rate > 0 for proposal in advice.proposals)
    maps = advise(z, ["lat,lon"])
    assert maps.proposals[0].chunks[0] < 50
    both = advise(z, ["time", "lat,lon"])
    assert maps.proposals[0].chunks[0] <= both.proposals[0].chunks[0] <= best.chunks[0]


def test_many_chunks_get_shards_and_the_proposal_can_be_created() -> None:
    z = omnizarr.create_array({}, shape=(200_000, 400, 100), chunks=(1000, 400, 1), dtype="f4")
    proposal = advise(z, ["1"], most=1).proposals[0]
    assert proposal.shards is not None
    assert proposal.files < 10_000
    serializer, *compressors = proposal.codecs
    new = omnizarr.create_array(
        {}, shape=z.shape, dtype="f4", chunks=proposal.chunks, shards=proposal.shards, compressors=compressors or None
    )
    assert new.chunks == proposal.chunks
    assert serializer["name"] == "bytes"


def test_the_sample_is_taken_where_chunks_are_stored() -> None:
    z = omnizarr.create_array({}, shape=(1000, 200, 300), dtype="u2", chunks=(10, 100, 100))
    z[:100] = np.random.default_rng(0).integers(0, 2**16, (100, 200, 300), "u2")  # random bytes do not compress
    advice = advise(z, ["0"])
    assert advice.present.ratio == pytest.approx(1, abs=0.1)
    assert advice.sample_bytes == 100 * 200 * 300 * 2
    assert advice.proposals[0].chunks[0] == 1000  # more than the sample has
    assert all(proposal.ratio < 1.1 for proposal in advice.proposals)


def test_text_and_arrays_without_elements() -> None:
    z = omnizarr.create_array({}, data=np.array(["a", "bb"] * 100, "T"), chunks=10)
    assert advise(z, ["0"]).proposals[0].codecs[0] == {"name": "vlen-utf8"}
    raw = omnizarr.create_array({}, data=np.array([b"\xff", b"\0"], object), dtype="bytes")
    assert advise(raw, ["0"]).proposals[0].codecs[0] == {"name": "vlen-bytes"}
    with pytest.raises(ArgumentError, match="no elements"):
        advise(omnizarr.create_array({}, shape=(0,), dtype="i4"), [])
