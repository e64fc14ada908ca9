"""Metadata documents of nodes in a store: fetch, parse, change, consolidate."""
