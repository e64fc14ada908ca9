"""Readers and writers that were written from the text of a specification alone, to compare omnizarr with."""
