"""Internal modules of zarr-python that other packages import."""
