"""Events of planning."""

from __future__ import annotations


class PlanListener:
    """Receives each step of the search; ignores it by default."""

    def step(self, name: str) -> None:
        """A step begins."""


NO_LISTENER = PlanListener()
