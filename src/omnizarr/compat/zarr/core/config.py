"""`config`: settings with dotted names, as a mapping with `get`, and `set` as a function or context manager."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal

__all__ = ["BadConfigError", "Config", "config", "parse_indexing_order"]

_DEFAULTS: dict[str, Any] = {
    "default_zarr_format": 3,
    "array": {
        "order": "C",
        "write_empty_chunks": False,
        "read_missing_chunks": True,
        "target_shard_size_bytes": None,
        "rectilinear_chunks": False,
    },
    "async": {"concurrency": 10, "timeout": None},
    "threading": {"max_workers": None},
    "json_indent": 2,
    "codec_pipeline": {"path": "zarr.core.codec_pipeline.BatchedCodecPipeline", "batch_size": 1},
    "codecs": {
        "blosc": "zarr.codecs.blosc.BloscCodec",
        "gzip": "zarr.codecs.gzip.GzipCodec",
        "zstd": "zarr.codecs.zstd.ZstdCodec",
        "bytes": "zarr.codecs.bytes.BytesCodec",
        "endian": "zarr.codecs.bytes.BytesCodec",
        "crc32c": "zarr.codecs.crc32c_.Crc32cCodec",
        "sharding_indexed": "zarr.codecs.sharding.ShardingCodec",
        "transpose": "zarr.codecs.transpose.TransposeCodec",
        "vlen-utf8": "zarr.codecs.vlen_utf8.VLenUTF8Codec",
        "vlen-bytes": "zarr.codecs.vlen_utf8.VLenBytesCodec",
    },
    "buffer": "zarr.buffer.cpu.Buffer",
    "ndbuffer": "zarr.buffer.cpu.NDBuffer",
}


class BadConfigError(ValueError):
    """A setting has an invalid value."""

    _msg = "bad Config: %r"


class _Reset:
    """The result of `Config.set`: as a context manager, it restores the previous settings."""

    def __init__(self, config: Config, previous: dict[str, Any]) -> None:
        self._config = config
        self._previous = previous

    def __enter__(self) -> Config:
        return self._config

    def __exit__(self, *_: object) -> None:
        self._config.config = self._previous


class Config(Mapping[str, Any]):
    """Nested settings. A dotted name such as `array.order` addresses one of them."""

    def __init__(self, name: str = "zarr", defaults: list[dict[str, Any]] | None = None) -> None:
        self.name = name
        self.defaults = [_DEFAULTS] if defaults is None else defaults
        self.config: dict[str, Any] = {}
        self.refresh()

    def refresh(self) -> None:
        """Sets everything to the defaults and the environment variables `ZARR_…`."""
        self.config = {}
        for defaults in self.defaults:
            _merge(self.config, copy.deepcopy(defaults))
        for name, value in os.environ.items():
            if name.startswith("ZARR_"):
                self._put(self.config, name[5:].lower().replace("__", "."), _literal(value))

    def reset(self) -> None:
        """The same as `refresh`."""
        self.refresh()

    def enable_gpu(self) -> Any:
        """Not available: omnizarr computes on the CPU."""
        raise NotImplementedError("omnizarr has no GPU support")

    def get(self, key: str, default: Any = ..., override_with: Any = None) -> Any:
        """The setting `key`, or `default`; KeyError if neither exists."""
        if override_with is not None:
            return override_with
        value: Any = self.config
        for part in key.split("."):
            try:
                value = value[part]
            except (TypeError, KeyError, IndexError):
                if default is ...:
                    raise KeyError(key) from None
                return default
        return value

    def set(self, arg: Mapping[str, Any] | None = None, lock: Any = None, **kwargs: Any) -> _Reset:
        """Changes settings; `a__b` stands for `a.b`."""
        previous = self.config
        changed = copy.deepcopy(previous)
        names = {**(arg or {}), **{name.replace("__", "."): value for name, value in kwargs.items()}}
        for name, value in names.items():
            self._put(changed, name, value)
        self.config = changed
        return _Reset(self, previous)

    @staticmethod
    def _put(settings: dict[str, Any], name: str, value: Any) -> None:
        *parents, last = name.split(".")
        for parent in parents:
            below = settings.get(parent)
            settings = below if isinstance(below, dict) else settings.setdefault(parent, {})
        if isinstance(value, Mapping) and isinstance(settings.get(last), dict):
            _merge(settings[last], value)
        else:
            settings[last] = value

    def update(self, new: Mapping[str, Any], priority: str = "new") -> None:
        """Merges nested settings."""
        _merge(self.config, new)

    def clear(self) -> None:
        """Removes all settings."""
        self.config = {}

    def to_dict(self) -> dict[str, Any]:
        """A copy of all settings."""
        return copy.deepcopy(self.config)

    def pprint(self) -> None:
        """Writes all settings to standard output."""
        import sys
        from pprint import pformat

        sys.stdout.write(pformat(self.config) + "\n")

    def __getitem__(self, key: str) -> Any:
        return self.get(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.config)

    def __len__(self) -> int:
        return len(self.config)


def _merge(settings: dict[str, Any], new: Mapping[str, Any]) -> None:
    for name, value in new.items():
        if isinstance(value, Mapping) and isinstance(settings.get(name), dict):
            _merge(settings[name], value)
        else:
            settings[name] = value


def _literal(text: str) -> Any:
    import ast

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


config = Config()


def parse_indexing_order(data: Any) -> Literal["C", "F"]:
    """`data`, if it is `C` or `F`."""
    if data in ("C", "F"):
        return data  # type: ignore[no-any-return]
    raise ValueError(f"Expected one of ('C', 'F'), got {data} instead.")
