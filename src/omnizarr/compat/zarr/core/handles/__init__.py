"""`Array`, `Group` and their asynchronous counterparts."""
