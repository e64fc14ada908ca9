"""Conversion between codecs and the objects with an `id` of v2 documents."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from omnizarr._json import Json, Problems
from omnizarr.codecs.bytes_to_bytes.blosc import Blosc
from omnizarr.codecs.bytes_to_bytes.crc32c import Crc32c
from omnizarr.codecs.bytes_to_bytes.gzip import Gzip
from omnizarr.codecs.bytes_to_bytes.zstd import Zstd
from omnizarr.codecs.contract import Codec, codecs
from omnizarr.codecs.numcodecs_ import PRIVATE, REGISTERED

__all__ = ["class_of", "codec_from_config", "config_of", "is_numcodecs_only", "known_ids"]

_VLEN = ("vlen-utf8", "vlen-bytes")
"""Registered v3 codecs that have the same names in numcodecs."""


def known_ids() -> tuple[str, ...]:
    """The ids that omnizarr implements, without those that other packages register with numcodecs."""
    return tuple(sorted({*REGISTERED, *PRIVATE, *(id for id in _VLEN if codecs.get(id) is not None)}))


def is_numcodecs_only(id: str) -> bool:
    """Whether no v3 codec stores the same bytes as the numcodecs codec `id`. There may be one of the same name: the
    `packbits` of numcodecs has another bit order."""
    return (id in REGISTERED or id in PRIVATE) and id not in _TO_CORE


def codec_from_config(config: Json, path: str, problems: Problems) -> Codec | None:
    """The codec of an object at `path`: the core codec if it stores the same bytes. If the object is invalid, add to
    `problems` and return None."""
    if not isinstance(config, dict):
        problems.expected(path, "an object with the `id` of a codec", config)
        return None
    id = config.get("id")
    if not isinstance(id, str):
        problems.expected(f"{path}.id", "the id of a codec", id)
        return None
    if id in _TO_CORE:
        return _core_codec(id, config, path, problems)
    cls: Any = class_of(id)
    if cls is None:
        return _foreign(id, config, path, problems)
    codec: Codec | None = cls.from_config(_members(config), path, problems)
    return codec


_MOST_PARSED = 64  # configurations of core codecs; few hierarchies have more than ten
_LONGEST_CONFIG = 1000  # characters; longer ones are damaged
_parsed: dict[str, Codec] = {}


def _core_codec(id: str, config: dict[str, Json], path: str, problems: Problems) -> Codec | None:
    """The codec of a configuration that many arrays of a hierarchy have, from a cache unless it has problems."""
    text = repr(config)  # tells 1, 1.0 and true apart
    codec = _parsed.get(text)
    if codec is None:
        before = len(problems.found), len(problems.warnings)
        cls: Any = class_of(id)
        parsed: Any = cls.from_config(_members(config), path, problems)
        codec = None if parsed is None else _TO_CORE[id](parsed)
        if codec is not None and (len(problems.found), len(problems.warnings)) == before:
            if len(_parsed) >= _MOST_PARSED:
                _parsed.clear()
            if len(text) <= _LONGEST_CONFIG:
                _parsed[text] = codec
    return codec


def _members(config: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in config.items() if name != "id"}


def class_of(id: str) -> type[Codec] | None:
    """The class of omnizarr for an id; None if omnizarr does not implement it."""
    if id in _VLEN:
        return codecs.get(id)
    location = REGISTERED.get(id) or PRIVATE.get(id)
    if location is None:
        return None
    module, _, name = location.partition(":")
    cls: type[Codec] = getattr(import_module(f"{__package__}.{module}"), name)
    return cls


_TO_CORE: dict[str, Callable[[Any], Codec]] = {
    "blosc": lambda codec: codec.core,
    "crc32c": lambda codec: Crc32c() if codec.location == "end" else codec,
    "gzip": lambda codec: codec.core,
    "zstd": lambda codec: codec.core,
}
"""Functions that return the core codec with the same stored bytes, by id."""


def _foreign(id: str, config: dict[str, Json], path: str, problems: Problems) -> Codec | None:
    from omnizarr.codecs.numcodecs_.foreign import Foreign, is_in_numcodecs  # lazy import: it loads numcodecs

    if is_in_numcodecs(id):
        return Foreign(config)
    if id.startswith("imagecodecs_"):
        installed = find_spec("imagecodecs") is not None
        hint: str | None = (
            "the installed imagecodecs does not have it; a newer release may"
            if installed
            else "install it with `pip install 'omnizarr[imagecodecs]'`"
        )
    else:
        hint = problems.nearest(id, known_ids()) or "install a package that registers it with numcodecs"
    problems.add(f"{path}.id", f"unknown codec `{id}`", hint=hint)
    return None


def config_of(codec: Codec) -> dict[str, Json] | None:
    """The object of a codec in v2 documents, including its `id`; None if v2 cannot express the codec."""
    from omnizarr.codecs.numcodecs_.core_aliases import NumcodecsBlosc, NumcodecsGzip, NumcodecsZstd

    if isinstance(codec, Crc32c):
        return {"id": "crc32c", "location": "end"}
    numcodec: Any = codec
    if isinstance(codec, Blosc):
        numcodec = NumcodecsBlosc.of(codec)
    elif isinstance(codec, Gzip):
        numcodec = NumcodecsGzip.of(codec)
    elif isinstance(codec, Zstd):
        numcodec = NumcodecsZstd.of(codec)
    elif type(codec).__name__ == "FilterOnBytes":
        numcodec = numcodec.filter
    if not hasattr(numcodec, "to_config"):
        return None
    return {"id": numcodec.id, **numcodec.to_config()}
