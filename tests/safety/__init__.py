"""What omnizarr promises when many write at once, when writers die, and when data are hostile."""
