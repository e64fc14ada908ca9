"""Models of the protocols between writers. An explorer runs every interleaving of their steps, and every crash."""
