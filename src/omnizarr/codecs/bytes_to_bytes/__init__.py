"""Bytes → bytes codecs: compressors and checksums."""
