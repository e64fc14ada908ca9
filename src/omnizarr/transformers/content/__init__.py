"""Content-addressed storage: a transformer that stores values under their digests, and its collector of garbage."""

from __future__ import annotations

from omnizarr.transformers.content.collect import GarbageReport, collect
from omnizarr.transformers.content.store import ContentStore
from omnizarr.transformers.content.transformer import ContentAddressed

__all__ = ["ContentAddressed", "ContentStore", "GarbageReport", "collect"]
