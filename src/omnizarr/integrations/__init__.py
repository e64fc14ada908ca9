"""Integrations with other libraries. Each module imports its library, so that importing omnizarr does not."""
