"""Measurements of omnizarr beside its peers, and the study behind its defaults."""
