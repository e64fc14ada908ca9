"""Data types of numbers, including those of ml_dtypes."""
