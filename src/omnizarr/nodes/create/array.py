"""Creating arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from omnizarr.errors import ExtensionError, MissingDependencyError
from omnizarr.nodes.array import Array
from omnizarr.nodes.create.array_handle import array_handle
from omnizarr.nodes.create.node import create_node
from omnizarr.nodes.create.option_names import ArrayOptions, check_names
from omnizarr.nodes.create.options import array_model
from omnizarr.nodes.metadata.documents import describe_location
from omnizarr.nodes.node import NodeContext

__all__ = ["new_array"]


def new_array(context: NodeContext, *, known_group: str | None = None, **options: Unpack[ArrayOptions]) -> Array:
    """Creates an array and writes its data, if there are any.

    `known_group` is the path of a group above it that is known to exist.
    """
    check_names(options)
    overwrite = options.pop("overwrite", False)
    write_empty_chunks = options.pop("write_empty_chunks", False)
    options.pop("zarr_format", None)
    conventions = options.pop("conventions", None)
    if conventions is not None:
        context = context._replace(dialect=context.dialect.with_conventions(conventions))
    try:
        model, data = array_model(context.dialect, **options)  # type: ignore[misc]
    except (ExtensionError, MissingDependencyError) as error:
        location = describe_location(context.store, context.path)
        raise error.add_context(f"cannot create array {location}") from error.__cause__
    required = None if conventions is not None else context.dialect.conventions_for(model)
    if required is not None:
        from omnizarr.nodes.create.conventions import hierarchy_uses_conventions  # lazy import: few arrays need any

        if hierarchy_uses_conventions(context):
            context = context._replace(dialect=context.dialect.with_conventions(required))
            model = context.dialect.adapt_new_array(model)
    if any(getattr(codec, "allowed", False) for codec in model.codecs):  # the caller allowed pickles for writing
        read_options = replace(context.dialect.read_options, allow_pickle=True)
        context = context._replace(dialect=context.dialect.with_read_options(read_options))
    context = create_node(context, model, overwrite=overwrite, known_group=known_group)
    array = array_handle(context, model, write_empty_chunks=write_empty_chunks)
    if data is not None:
        array[...] = data
        array._publish_data()
    return array
