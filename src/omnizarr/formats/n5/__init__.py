"""N5: one `attributes.json` per node, for its metadata and its attributes (K1–K24)."""
