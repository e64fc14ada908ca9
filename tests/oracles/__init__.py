"""Readers and writers written from the text of a specification alone, as oracles for omnizarr."""
