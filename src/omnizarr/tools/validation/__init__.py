"""`omnizarr validate`: the rules of the format, by number, checked on stored hierarchies."""

from omnizarr.tools.validation.findings import Finding, ReaderVerdict, Report
from omnizarr.tools.validation.validate import validate

__all__ = ["Finding", "ReaderVerdict", "Report", "validate"]
