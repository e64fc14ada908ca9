"""Array → array codecs."""
