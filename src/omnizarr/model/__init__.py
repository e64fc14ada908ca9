"""The one model that all generations are translated to and from."""

from omnizarr.model.array import MOST_DIMENSIONS, ArrayModel, ZarrFormat, every_codec
from omnizarr.model.group import GroupModel
from omnizarr.model.path import join_path, normal_path, parent_path

__all__ = [
    "MOST_DIMENSIONS",
    "ArrayModel",
    "GroupModel",
    "ZarrFormat",
    "every_codec",
    "join_path",
    "normal_path",
    "parent_path",
]
