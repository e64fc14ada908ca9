"""Fuzzing: bytes that nobody should have written, for everything that reads some."""
