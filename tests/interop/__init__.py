"""Interoperability: other implementations read our arrays, and we read theirs."""
