"""The rules of the format by number: their text, and how to fix what breaks them."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

__all__ = ["mend", "rule_text", "rules"]


@cache
def rules() -> dict[str, str]:
    """The text of every rule, by number."""
    table: dict[str, str] = json.loads(files(__package__).joinpath("rules.json").read_text(encoding="utf-8"))
    return table


def rule_text(number: str) -> str | None:
    """The text of a rule; None for rules of conventions."""
    return rules().get(number)


_MENDS = {
    "R1": "store the document as `zarr.json`",
    "R3": "remove the key, or move it out of the hierarchy",
    "R4": "move the node out of the array: an array has no children",
    "R8": "write one JSON object in UTF-8, without comments and trailing commas",
    "R9": 'set "zarr_format": 3',
    "R10": 'set "node_type" to "array" or "group"',
    "R11": "write a list of integers of at least 0, one per dimension",
    "R12": "write a core type as a plain string, and any other as an object with `name` and `configuration`",
    "R18": "write a list with exactly one array → bytes codec, such as `bytes`",
    "R19": "write codecs as objects without `must_understand`",
    "R20": "write an object, or leave the member out",
    "R22": "write one string or null per dimension, or leave the member out",
    "R23": "give every dimension its own name",
    "R25": "add the member, and let all members agree about the number of dimensions",
    "R26": "create the group, so that it has a document",
    "R27": 'add "attributes": {}',
    "R28": 'write {"kind": "inline", "must_understand": false, "metadata": {…}}, or remove the member',
    "R29": "consolidate again with `omnizarr.consolidate_metadata`",
    "R30": 'remove the member, or make it an object with "must_understand": false',
    "R31": "keep such data in `attributes`",
    "R33": "write a string, or an object with a string `name` and an object `configuration`",
    "R36": "remove `must_understand`",
    "R37": "install the package that offers the extension, or write the array with a registered one",
    "R39": "use a name of lower-case letters, digits, `-`, `_` and `.`",
    "R46": "rename the node",
    "R54": "write an integer in range, without fraction and exponent",
    "R55": 'write a number, "NaN", "Infinity", "-Infinity", or the bits as "0x…"',
    "R57": 'write "0x" and all hexadecimal digits of the type',
    "R58": "write a list of the real and the imaginary part",
    "R62": "write one integer of at least 1 per dimension",
    "R63": "remove the chunk, or restore the shape that it belongs to",
    "R75": "write new arrays with the encoding `default`",
    "R76": 'set "separator" to "/" or "."',
    "R78": "sort the codecs: array → array, one array → bytes, bytes → bytes",
    "R85": 'set "endian" to "little" or "big"',
    "R87": "write the chunk again from its source: its size is not that of the array's chunks",
    "R88": "write every dimension once",
    "R89": 'set "level" to a number from 0 to 9',
    "R94": "write the chunk again from its source: its checksum is wrong",
    "R95": "choose an inner chunk shape that divides the shard shape",
    "R97": "use codecs with a fixed size: `bytes` and `crc32c`",
    "R98": "write new arrays with `bytes` (little) and `crc32c` as index codecs",
    "R99": 'set "index_location" to "start" or "end"',
    "R106": "write the shard again from its source: its index is damaged",
    "R123": "remove the transformer, or open the array with a program that has it",
    "R154": "write every member once; readers use the last one",
    "Z1": "remove the documents of one generation, or open with `zarr_format`",
    "V1": "add or correct the member as in the specification of version 2",
    "V2": "keep such data in `.zattrs`",
    "V5": 'set "dimension_separator" to "." or "/"',
    "V7": "write byte order, kind and size, such as `<f8`, `|u1` or `|S12`",
    "V8": "add the unit, as in `<M8[ns]`",
    "V10": 'write a number, "NaN", "Infinity" or "-Infinity"',
    "V11": "write the base64 of the element's bytes",
    "V12": "remove the chunk, or restore the shape that it belongs to",
    "V14": "write the chunk again from its source: its size is not that of the array's chunks",
    "V15": "write the chunk again from its source, or correct `compressor` and `filters`",
    "V17": "remove the member; keep such data in `.zattrs`",
    "V18": "create the group above, so that it has a `.zgroup`; an array has no children",
    "V19": "remove the key, or move it out of the hierarchy",
    "V20": "write an object, or remove `.zattrs`",
    "V22": "rename the node with ASCII characters",
    "V26": 'write "filters": null and "fill_value": null explicitly',
    "V28": 'add "dimension_separator": "/"',
    "U12": "add `attrs` with the content {}",
    "A6": "write the default of the data type, such as 0",
    "A34": "consolidate again with `omnizarr.consolidate_metadata`",
    "A40": "write the canonical form: true or false, an integer without fraction",
    "A45": "write new arrays with registered codecs, such as `zstd`, `gzip` or `blosc`",
    "A58": "consolidate again with `omnizarr.consolidate_metadata`",
    "A59": "write all bytes of the element, in base64",
    "A60": 'write "NaN", "Infinity" or "-Infinity" as strings',
    "§1.7": "write the document again in the form of version 3.1; any change by omnizarr does so",
    "K6": 'add "n5": "4.0.0" to the `attributes.json` of the root',
    "K13": "remove the block, or restore the dimensions that it belongs to",
    "K14": "write the block again from its source: its header is damaged",
    "K17": "write the block again from its source: its shape is not that of the array's blocks",
}


def mend(rule: str, hint: str | None = None) -> str:
    """How to fix what breaks a rule: the `hint` of the parser, the advice for the rule, or the text of the rule."""
    known = _MENDS.get(rule)
    if known is None:
        text = (rule_text(rule) or "").partition(" Read:")[0]
        known = f"make it follow the rule: {text}" if text else "correct it"
    return known if hint is None else f"{known} ({hint})"
