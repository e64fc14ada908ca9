"""Writing datasets, data arrays and trees: `to_zarr` of the accessor."""
