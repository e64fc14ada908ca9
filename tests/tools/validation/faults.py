"""Hierarchies of all generations, each with one known fault, and the sound documents that they change."""

from __future__ import annotations

from tests.tools.validation.fault_kinds import Fault, dump
from tests.tools.validation.faults_data import data_faults
from tests.tools.validation.faults_drafts_n5 import (
    DRAFT_2020,
    DRAFT_2022,
    ENTRY_2020,
    ENTRY_2022,
    N5,
    draft_faults,
    n5_faults,
)
from tests.tools.validation.faults_v1_v2 import V1, V2, v1_faults, v2_faults
from tests.tools.validation.faults_v3 import V3, V3_GROUP, V3_SHARDS, v3_faults

__all__ = ["Fault", "every_fault", "sound_stores"]


def every_fault() -> list[Fault]:
    """All faults."""
    makers = (v3_faults, v2_faults, v1_faults, draft_faults, n5_faults, data_faults)
    return [fault for maker in makers for fault in maker()]


def sound_stores() -> dict[str, dict[str, bytes]]:
    """The documents that the faults change, unchanged."""
    return {
        "v3": {"zarr.json": dump(V3)},
        "v3 shards": {"zarr.json": dump(V3_SHARDS)},
        "v3 group": {"zarr.json": dump(V3_GROUP), "a/zarr.json": dump(V3)},
        "v2": {".zarray": dump(V2)},
        "v1": {"meta": dump(V1), "attrs": b"{}"},
        "2022": {"zarr.json": dump(ENTRY_2022), "meta/a.array.json": dump(DRAFT_2022)},
        "2020": {"zarr.json": dump(ENTRY_2020), "meta/root/a.array.json": dump(DRAFT_2020)},
        "n5": {"attributes.json": b'{"n5": "4.0.0"}', "a/attributes.json": dump(N5)},
    }
