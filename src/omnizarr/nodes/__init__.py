"""Handles of nodes: `Array`, `Group` and their attributes."""

from omnizarr.nodes.array import Array
from omnizarr.nodes.attributes import Attributes
from omnizarr.nodes.create.option_names import ArrayOptions, check_flag, check_names, takes_array_options
from omnizarr.nodes.group import Group, new_group
from omnizarr.nodes.open import open_node
from omnizarr.nodes.unreadable import UnreadableNode

__all__ = [
    "Array",
    "ArrayOptions",
    "Attributes",
    "Group",
    "UnreadableNode",
    "check_flag",
    "check_names",
    "new_group",
    "open_node",
    "takes_array_options",
]
