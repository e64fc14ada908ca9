"""Plans: long work as independent, repeatable tasks that any executor runs and that can be resumed."""

from omnizarr.tools.plans.journal import PlanJournal
from omnizarr.tools.plans.plan import Plan, PlanDescription, PlanResult
from omnizarr.tools.plans.stage import PlanCost, Stage

__all__ = ["Plan", "PlanCost", "PlanDescription", "PlanJournal", "PlanResult", "Stage"]
