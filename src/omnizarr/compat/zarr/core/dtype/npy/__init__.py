"""Data types of NumPy, by kind."""
