"""Time limits: every question may be given seconds, and says what it decided when they are over."""

from __future__ import annotations

import time

from dtsemnet.names import shown
from dtsemnet.tree._validate import real

__all__ = ["Deadline"]


class Deadline:
    """The moment at which a search ends, with what it knows by then.

    Parameters
    ----------
    seconds : float, optional
        Seconds from now; None for no limit.

    Examples
    --------
    >>> Deadline(None).is_over, Deadline(0.0).is_over
    (False, True)
    """

    def __init__(self, seconds: float | None) -> None:
        limit = real(seconds)
        if seconds is not None and (limit is None or not limit >= 0):
            raise ValueError(f"time_limit must be a number of seconds not below 0, got {shown(seconds)}.")
        self._end = None if limit is None else time.monotonic() + limit

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return self._end is not None and time.monotonic() >= self._end

    @property
    def seconds_left(self) -> float | None:
        """Seconds that are left; None for no limit."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())
