"""Repairs of stored hierarchies, and how to undo them."""

from omnizarr.tools.repairs.fix import Fix, FixResult, fix
from omnizarr.tools.repairs.repair import repair, restore
from omnizarr.tools.repairs.results import Repair, RepairResult, RestoreResult, Unrepaired

__all__ = ["Fix", "FixResult", "Repair", "RepairResult", "RestoreResult", "Unrepaired", "fix", "repair", "restore"]
