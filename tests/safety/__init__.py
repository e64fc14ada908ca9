"""The promises of omnizarr about concurrent writers, crashed writers, and hostile data."""
