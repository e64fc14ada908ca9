"""One file per program that writes a part of a corpus; each runs in the environment of that program."""
