"""The rules that documents of the drafts can break. Their parsers cite the rules of 2022."""

from __future__ import annotations

from omnizarr._json import Json
from omnizarr.formats.rule_table import Placement, RuleTable

__all__ = ["RULES_2020", "RULES_2022", "rules_of_entry_point"]

_BOTH = frozenset(("A1", "A6", "A8", "A13", "A17", "A18", "A35", "A60", "A63", "A64", "A65", "§1.7"))

_PLACES: dict[Placement, str] = {"duplicate": "R154", "other generation": "Z1"}

RULES_2022 = RuleTable(
    "S",
    {
        "": "S13",
        "zarr_format": "S7",
        "metadata_encoding": "S8",
        "metadata_key_suffix": "S8",
        "shape": "S14",
        "data_type": "S15",
        "chunk_grid": "S19",
        "chunk_memory_layout": "S23",
        "fill_value": "S24",
        "extensions": "S26",
        "attributes": "S27",
        "codecs": "S28",
        "compressor": "S28",
        "storage_transformers": "S29",
    },
    keeps=_BOTH,
    translations={"R62": "S20", "V8": "S79", "V9": "S81", "R89": "S83", "R90": "S84", "R18": "S33", "R78": "S33"},
    codecs={"": "S36", "chunk": "S21", "bytes": "S16", "gzip": "S83", "blosc": "S84", "sharding_indexed": "S68"},
    hierarchy=_PLACES
    | {"json": "S6", "orphan": "S22", "foreign": "S41", "child": "S1", "group": "S4", "consolidated": "S46"},
)

RULES_2020 = RuleTable(
    "T",
    {
        "": "T6",
        "zarr_format": "T1",
        "metadata_encoding": "T2",
        "metadata_key_suffix": "T3",
        "shape": "T6",
        "data_type": "T7",
        "chunk_grid": "T9",
        "chunk_memory_layout": "T11",
        "fill_value": "T12",
        "extensions": "T4",
        "attributes": "T6",
        "codecs": "T13",
        "compressor": "T13",
        "storage_transformers": "T26",
    },
    keeps=_BOTH | {"A3", "A5", "A56", "A61"},
    translations={"S3": "T17", "S13": "T6", "S7": "T5", "S11": "T4", "S18": "T8", "S30": "T14", "S10": "T4"},
    codecs={"": "T13", "chunk": "T28", "bytes": "T28", "sharding_indexed": "S68"},
    hierarchy=_PLACES
    | {"json": "T2", "orphan": "T10", "foreign": "T16", "child": "T15", "group": "T18", "consolidated": "A58"},
)


def rules_of_entry_point(document: Json) -> RuleTable:
    """The rules of the draft to which an entry point belongs, even if it is invalid (A5)."""
    encoding = document.get("metadata_encoding") if isinstance(document, dict) else None
    return RULES_2022 if isinstance(encoding, dict) else RULES_2020
