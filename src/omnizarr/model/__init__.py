"""The model of arrays and groups: one form for the documents of all generations."""

from omnizarr.model.array import MOST_DIMENSIONS, UNFINISHED_RESIZE, ArrayModel, ZarrFormat, every_codec
from omnizarr.model.group import UNFINISHED_APPEND, GroupModel
from omnizarr.model.path import join_path, normal_path, parent_path

__all__ = [
    "MOST_DIMENSIONS",
    "UNFINISHED_APPEND",
    "UNFINISHED_RESIZE",
    "ArrayModel",
    "GroupModel",
    "ZarrFormat",
    "every_codec",
    "join_path",
    "normal_path",
    "parent_path",
]
