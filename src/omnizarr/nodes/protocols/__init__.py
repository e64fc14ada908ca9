"""How other libraries use an array handle: NumPy, dask and their like. Each module is imported on first use."""
