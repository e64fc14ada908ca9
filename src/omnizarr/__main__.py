"""`python -m omnizarr` runs the command line."""

from omnizarr.cli import main

if __name__ == "__main__":
    main()
