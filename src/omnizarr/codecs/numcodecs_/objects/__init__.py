"""Codecs of numcodecs that store Python objects."""
