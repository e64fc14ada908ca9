"""The metadata documents of nodes in a store: fetching, changing, consolidating."""
