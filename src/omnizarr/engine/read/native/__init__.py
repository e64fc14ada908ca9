"""Routes A, B and C: the kernel reads chunks in local files, uncompressed or in blosc, zstd or gzip, and inner
chunks of shards that are encoded so.

The kernel handles the common cases only. It reports each chunk as DONE, ABSENT or UNUSUAL; an UNUSUAL chunk, which is
damaged or in a form that the kernel does not handle, is read again by the Python routes, which report what is wrong. So
both always give the same result.
"""

from omnizarr.engine.read.native.reader import NativeReader

__all__ = ["NativeReader"]
