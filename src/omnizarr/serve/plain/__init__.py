"""`/as/v3` and `/as/v2`: hierarchies of every generation as plain Zarr of one generation."""
