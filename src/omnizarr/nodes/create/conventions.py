"""Conventions of other programs, for what a generation cannot express: used in hierarchies that already use them."""

from __future__ import annotations

from itertools import islice

from omnizarr.errors import OmnizarrError
from omnizarr.nodes.metadata.documents import document_values, parse_documents
from omnizarr.nodes.node import NodeContext

__all__ = ["hierarchy_uses_conventions"]

_MOST_DOCUMENTS = 1000
_BATCH = 50


def hierarchy_uses_conventions(context: NodeContext) -> bool:
    """Whether an array of the hierarchy follows the conventions that `context.dialect` knows. Reads at most 1000
    documents."""
    store, dialect = context.store, context.dialect
    below = store.list_prefix(dialect.listing_prefix("")) if store.listable else iter(())
    keys = [*dialect.keys(""), *islice(below, _MOST_DOCUMENTS)]
    for start in range(0, len(keys), _BATCH):
        values = document_values(store, keys[start : start + _BATCH], each=True)
        for key, value in values.items():
            try:
                document = parse_documents(store, {key: value}, dialect.encoding).get(key)
            except OmnizarrError:  # damaged, or no document
                continue
            if dialect.uses_conventions(document):
                return True
    return False
