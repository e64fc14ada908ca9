"""`migrate`: a hierarchy in another generation of the format, beside the old one or in place."""

from omnizarr.tools.migration.migrate import migrate
from omnizarr.tools.migration.work import ArrayMigration, MigrationPlan

__all__ = ["ArrayMigration", "MigrationPlan", "migrate"]
