"""Events of planning."""

from __future__ import annotations


class PlanListener:
    """Told about each step of the search; does nothing by default."""

    def step(self, name: str) -> None:
        """A step begins."""


SILENT = PlanListener()
