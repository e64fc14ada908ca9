"""Base classes for extensions."""
