"""From the objects with an `id` in documents of version 2 to codecs, and back."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
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
"""Registered codecs of version 3 that numcodecs has by the same names."""


def known_ids() -> tuple[str, ...]:
    """The ids that are understood here, without those that others offer to numcodecs."""
    return tuple(sorted({*REGISTERED, *PRIVATE, *(id for id in _VLEN if codecs.get(id) is not None)}))


def is_numcodecs_only(id: str) -> bool:
    """Whether numcodecs means by it something that no codec of version 3 stores, even one of that name: its `packbits`
    begins at the other end of a byte."""
    return (id in REGISTERED or id in PRIVATE) and id not in _TO_CORE


def codec_from_config(config: Json, path: str, problems: Problems) -> Codec | None:
    """The codec that an object at `path` stands for; adds to `problems` and gives None if there is none. Where a codec
    of the core stores the same bytes, it is that one."""
    if not isinstance(config, dict):
        problems.expected(path, "an object with the `id` of a codec", config)
        return None
    id = config.get("id")
    if not isinstance(id, str):
        problems.expected(f"{path}.id", "the id of a codec", id)
        return None
    cls: Any = class_of(id)
    if cls is None:
        return _foreign(id, config, path, problems)
    found: Any = cls.from_config({name: value for name, value in config.items() if name != "id"}, path, problems)
    if found is not None and id in _TO_CORE:
        return _TO_CORE[id](found)
    codec: Codec | None = found
    return codec


def class_of(id: str) -> type[Codec] | None:
    """The codec that has an id here; None if there is none, or somebody else's."""
    if id in _VLEN:
        return codecs.get(id)
    place = REGISTERED.get(id) or PRIVATE.get(id)
    if place is None:
        return None
    module, _, name = place.partition(":")
    found: type[Codec] = getattr(import_module(f"{__package__}.{module}"), name)
    return found


_TO_CORE: dict[str, Callable[[Any], Codec]] = {
    "blosc": lambda found: found.core,
    "crc32c": lambda found: Crc32c() if found.location == "end" else found,
    "gzip": lambda found: found.core,
    "zstd": lambda found: found.core,
}


def _foreign(id: str, config: dict[str, Json], path: str, problems: Problems) -> Codec | None:
    from omnizarr.codecs.numcodecs_.foreign import Foreign, is_in_numcodecs  # imports numcodecs

    if is_in_numcodecs(id):
        return Foreign(config)
    hint = problems.nearest(id, known_ids()) or "a package that registers it with numcodecs would have to be installed"
    problems.add(f"{path}.id", f"unknown codec `{id}`", hint=hint)
    return None


def config_of(codec: Codec) -> dict[str, Json] | None:
    """The object, with its `id`, that stands for a codec in documents of version 2; None if there is none."""
    from omnizarr.codecs.numcodecs_.core_aliases import NumcodecsBlosc, NumcodecsGzip, NumcodecsZstd

    if isinstance(codec, Crc32c):
        return {"id": "crc32c", "location": "end"}
    known: Any = codec
    if isinstance(codec, Blosc):
        known = NumcodecsBlosc.of(codec)
    elif isinstance(codec, Gzip):
        known = NumcodecsGzip.of(codec)
    elif isinstance(codec, Zstd):
        known = NumcodecsZstd.of(codec)
    elif type(codec).__name__ == "FilterOnBytes":
        known = known.filter
    if not hasattr(known, "to_config"):
        return None
    return {"id": known.id, **known.to_config()}
