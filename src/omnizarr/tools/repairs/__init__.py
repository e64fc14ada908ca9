"""Repairs of stored hierarchies, and how to undo them."""

from omnizarr.tools.repairs.fix import Fix, FixResult, fix
from omnizarr.tools.repairs.results import Repair, RepairResult, RestoreResult, Unrepaired
from omnizarr.tools.repairs.run import repair, restore

__all__ = ["Fix", "FixResult", "Repair", "RepairResult", "RestoreResult", "Unrepaired", "fix", "repair", "restore"]
