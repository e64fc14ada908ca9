"""`UnreadableNode`: a member of a group that cannot be read."""

from __future__ import annotations

from omnizarr.errors import MetadataError, OmnizarrError

__all__ = ["UnreadableNode"]


class UnreadableNode:
    """Takes the place of a member that cannot be read in the listing of its group; `error` is the reason."""

    def __init__(self, path: str, error: OmnizarrError) -> None:
        self.path = path
        self.error = error

    @property
    def name(self) -> str:
        """The path in the store, with a leading slash."""
        return f"/{self.path}"

    @property
    def basename(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def reason(self) -> str:
        """The message of the error in one line, without the location."""
        if isinstance(self.error, MetadataError) and self.error.problems:
            return "; ".join(f"{problem.path}: {problem.message}" for problem in self.error.problems)
        return "; ".join(line.strip() for line in self.error.message.splitlines())

    def __repr__(self) -> str:
        from omnizarr.display.texts import printable  # lazy import: display only

        return printable(f"<UnreadableNode {self.name}: {self.reason}>")
