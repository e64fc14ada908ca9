"""Stored arrays that other programs wrote, and the scripts that created them."""
