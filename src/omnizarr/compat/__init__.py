"""omnizarr under the name `zarr`, for programs that were written for zarr-python 3.

    import omnizarr.compat
    omnizarr.compat.install()
    import zarr  # omnizarr.compat.zarr

`python -m omnizarr.compat script.py` runs a program that cannot be edited. Programs that stay with zarr-python can let
it read and write chunks with omnizarr:

    zarr.config.set({"codec_pipeline.path": "omnizarr.compat.OmnizarrCodecPipeline"})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnizarr.compat.hook import install, installed, uninstall

if TYPE_CHECKING:
    from omnizarr.compat.pipeline import OmnizarrCodecPipeline as OmnizarrCodecPipeline

# Without `OmnizarrCodecPipeline`, which needs zarr-python: `import *` must work without it.
__all__ = ["install", "installed", "uninstall"]


if not TYPE_CHECKING:  # so that type checkers report unknown names

    def __getattr__(name: str) -> Any:
        if name != "OmnizarrCodecPipeline":
            raise AttributeError(f"module `omnizarr.compat` has no attribute `{name}`")
        from omnizarr.errors import MissingDependencyError

        try:
            from omnizarr.compat.pipeline import OmnizarrCodecPipeline  # lazy import: it needs zarr-python
        except ImportError:
            raise MissingDependencyError("`OmnizarrCodecPipeline`", "zarr>=3") from None
        return OmnizarrCodecPipeline
