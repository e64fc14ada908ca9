"""Statistics of chunks, stored as Zarr arrays below the array: smallest and largest element, sum, and counts.

Each entry is stored with a digest of itself and of the state of the stored chunk. A reader uses an entry only if the
digest fits what is stored now, and otherwise computes the statistics of the chunk from its elements. So entries may be
stale, torn or absent, and no result depends on them.
"""
