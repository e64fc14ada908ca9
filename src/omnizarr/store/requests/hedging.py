"""Second requests for late answers (hedging), and budgets that keep second requests and retries rare.

Some servers answer a few requests very late. After three times the time that nine of ten requests take, the client
sends the request again, and the first answer counts. If the server is slow because it is overloaded, more requests
would make it slower; so only a share of all requests may be sent twice.
"""

from __future__ import annotations

from collections import deque

__all__ = ["MOST_COPIES", "Budget", "Hedging"]

MOST_COPIES = 4  # of a request, the first one included: a second one, too, may be late
_RECENT = 256  # requests whose time is remembered
_ENOUGH = 16  # requests, before which nothing is known
_UNKNOWN = 1.0  # seconds to wait until then
_LEAST = 0.05  # seconds: a computer that does other work, too, may take as long
_FACTOR = 3


class Budget:
    """Permits additional requests: a share of all requests, and a few at the start."""

    def __init__(self, share: float, start: float) -> None:
        self._share = share
        self._start = start
        # No lock: concurrent calls may lose a few counts, which changes the budget only slightly.
        self._left = start

    def earn(self) -> None:
        """Count a request."""
        self._left = min(self._left + self._share, 10 * self._start)

    def spend(self) -> bool:
        """Whether an additional request is permitted; counts it."""
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Hedging:
    """When requests to one server are late."""

    def __init__(self) -> None:
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._count = 0
        self._budget = Budget(0.05, 10)
        self.after = _UNKNOWN
        """The seconds after which a request is late."""

    def observe(self, seconds: float) -> None:
        """Learn from the time of a request."""
        self._recent.append(seconds)
        self._budget.earn()
        self._count += 1
        if self._count % _ENOUGH == 0:
            ordered = sorted(self._recent.copy())
            self.after = max(_LEAST, _FACTOR * ordered[len(ordered) * 9 // 10])

    def permit(self) -> bool:
        """Whether one more request may be sent twice; counts it."""
        return self._budget.spend()
