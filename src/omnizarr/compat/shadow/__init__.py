"""A folder that `install` puts first on `sys.path`. Child processes inherit the path, and find `zarr` here."""
