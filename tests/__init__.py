"""The tests of omnizarr; they mirror the package, folder by folder."""
