"""Appends to several arrays of a group, which readers see all at once. Each module is imported on first use."""
