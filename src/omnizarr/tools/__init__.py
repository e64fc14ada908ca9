"""Questions about stored data, answered with plain typed results: what lies at a location, what it contains, and more.

The command line prints these results. A program can use the same functions:

    from omnizarr.tools import open_location
    node = open_location("weather.zarr/temperature").node

Every result is a frozen dataclass of plain values; `as_json` turns it into what `--json` prints. Functions that may
take long accept `progress`, a function that they call with the amount done and the total amount.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnizarr.tools.advice import Advice, advise
    from omnizarr.tools.checksums import Checksum, checksum, dandi_checksum
    from omnizarr.tools.chunk_statistics import (
        ArrayStatistics,
        build_statistics,
        check_statistics,
        remove_statistics,
    )
    from omnizarr.tools.differences import Diff, diff
    from omnizarr.tools.files import FileResult, export_file, import_file
    from omnizarr.tools.locations import OpenLocation, open_location
    from omnizarr.tools.migration import ArrayMigration, MigrationPlan, migrate
    from omnizarr.tools.plans import Plan
    from omnizarr.tools.plans.copy import copy
    from omnizarr.tools.plans.rechunk import rechunk
    from omnizarr.tools.pyramids import pyramid
    from omnizarr.tools.repairs import FixResult, RepairResult, RestoreResult, fix, repair, restore
    from omnizarr.tools.results import Progress, as_json
    from omnizarr.tools.selections import parse_selection, split_selection
    from omnizarr.tools.validation import Finding, Report, validate

__all__ = [
    "Advice",
    "ArrayMigration",
    "ArrayStatistics",
    "Checksum",
    "Diff",
    "FileResult",
    "Finding",
    "FixResult",
    "MigrationPlan",
    "OpenLocation",
    "Plan",
    "Progress",
    "RepairResult",
    "Report",
    "RestoreResult",
    "advise",
    "as_json",
    "build_statistics",
    "check_statistics",
    "checksum",
    "copy",
    "dandi_checksum",
    "diff",
    "export_file",
    "fix",
    "import_file",
    "migrate",
    "open_location",
    "parse_selection",
    "pyramid",
    "rechunk",
    "remove_statistics",
    "repair",
    "restore",
    "split_selection",
    "validate",
]

_MODULES = {
    "advice": ("Advice", "advise"),
    "chunk_statistics": ("ArrayStatistics", "build_statistics", "check_statistics", "remove_statistics"),
    "checksums": ("Checksum", "checksum", "dandi_checksum"),
    "differences": ("Diff", "diff"),
    "files": ("FileResult", "export_file", "import_file"),
    "locations": ("OpenLocation", "open_location"),
    "migration": ("ArrayMigration", "MigrationPlan", "migrate"),
    "plans": ("Plan",),
    "plans.copy": ("copy",),
    "plans.rechunk": ("rechunk",),
    "pyramids": ("pyramid",),
    "repairs": ("FixResult", "RepairResult", "RestoreResult", "fix", "repair", "restore"),
    "results": ("Progress", "as_json"),
    "selections": ("parse_selection", "split_selection"),
    "validation": ("Finding", "Report", "validate"),
}
"""The names by module. A module is imported on first use, so that a command loads only what it needs."""


if not TYPE_CHECKING:  # so that type checkers report unknown names

    def __getattr__(name: str) -> Any:
        for module, names in _MODULES.items():
            if name in names:
                value = globals()[name] = getattr(import_module(f"omnizarr.tools.{module}"), name)
                return value
        raise AttributeError(f"module `omnizarr.tools` has no attribute `{name}`")


def __dir__() -> list[str]:
    return list(__all__)
