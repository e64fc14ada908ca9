"""From an address, which is a path or a URL, to a store."""
