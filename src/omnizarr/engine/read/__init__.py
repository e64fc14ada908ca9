"""Reading chunks into memory. `engine/route.py` chooses one of the modules here."""
