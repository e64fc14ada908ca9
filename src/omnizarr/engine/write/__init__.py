"""Writing chunks."""
