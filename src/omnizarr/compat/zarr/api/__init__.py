"""The functions of the package."""
