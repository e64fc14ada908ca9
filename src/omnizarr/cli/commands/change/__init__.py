"""Commands that write, one module each."""
