"""Many requests to a remote store at once."""
