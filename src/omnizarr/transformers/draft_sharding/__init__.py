"""The sharding transformer of the drafts of 2022, which the codec `sharding_indexed` replaced."""

from __future__ import annotations

from omnizarr.transformers.draft_sharding.store import ShardedStore
from omnizarr.transformers.draft_sharding.transformer import SHARDING_URIS, ShardingTransformer

__all__ = ["SHARDING_URIS", "ShardedStore", "ShardingTransformer"]
