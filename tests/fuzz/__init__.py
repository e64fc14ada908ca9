"""Fuzzing: malformed bytes for every parser."""
