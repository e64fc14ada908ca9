"""Chunk grids bound to the shape of an array."""
