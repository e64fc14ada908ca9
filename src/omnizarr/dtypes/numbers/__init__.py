"""Data types of numbers, those of ml_dtypes included."""
