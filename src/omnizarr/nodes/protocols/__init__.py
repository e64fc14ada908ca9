"""Features of an array handle that few programs use, each imported on first use."""
