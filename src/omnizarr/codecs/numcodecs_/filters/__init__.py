"""Array → array codecs of numcodecs (filters)."""
