"""Filters of numcodecs: array → array codecs that work on one dimension of elements."""
