"""A member that cannot be read: it is listed all the same, with the reason, and never hides its group."""

from __future__ import annotations

from omnizarr.errors import MetadataError, OmnizarrError

__all__ = ["UnreadableNode"]


class UnreadableNode:
    """Stands where an array or a group would; `error` says why it is not one."""

    def __init__(self, path: str, error: OmnizarrError) -> None:
        self.path = path
        self.error = error

    @property
    def name(self) -> str:
        return f"/{self.path}"

    @property
    def basename(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def reason(self) -> str:
        """Why it cannot be read, in one line; where it lies is not said again."""
        if isinstance(self.error, MetadataError) and self.error.problems:
            return "; ".join(f"{problem.path}: {problem.message}" for problem in self.error.problems)
        return "; ".join(line.strip() for line in self.error.message.splitlines())

    def __repr__(self) -> str:
        return f"<UnreadableNode {self.name}: {self.reason}>"
