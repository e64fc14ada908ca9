"""ShardingCodec, ShardingCodecIndexLocation."""

from __future__ import annotations

from omnizarr.compat.zarr.codecs._classes import ShardingCodec, ShardingCodecIndexLocation

__all__ = ["ShardingCodec", "ShardingCodecIndexLocation"]
