"""Tools for metadata documents."""
