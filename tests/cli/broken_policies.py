"""Policies as nobody should write them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kafkabal.model.cluster_state import I32
from kafkabal.routing.policy_protocol import About, Context, Feedback, PolicyBase, RecordBatch
from kafkabal.routing.routing_view import RoutingView


class First(PolicyBase):
    """The first partition; others derive from it and fail in one thing."""

    about: ClassVar = About(name="first", meaning="the first partition", source="a test")

    def refresh(self, view: RoutingView) -> None:
        """Know how many partitions there are."""
        self.n_partitions = view.n_partitions

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """Always the same."""
        return 0

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """Always the same."""
        out[:] = 0


class Unmade(First):
    """Cannot be made."""

    def __init__(self, context: Context) -> None:
        raise ValueError("not today")


class Blind(First):
    """Takes no view, and would end the process as if all were well."""

    def refresh(self, view: RoutingView) -> None:
        """Leave."""
        raise SystemExit(0)


class Deaf(First):
    """Says that it learns, and has no kernels."""

    about: ClassVar = About(name="deaf", meaning="none", source="a test", feedback=Feedback.ACKS)


class Failing(First):
    """Raises in the middle of its work."""

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """Fail."""
        raise RuntimeError("out of\nluck")

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """Fail."""
        raise RuntimeError("out of\nluck")


class Leaving(First):
    """Ends the process."""

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """Leave."""
        raise SystemExit


class Idle(First):
    """Writes nothing."""

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """Forget."""


class Astray(First):
    """Counts from 1."""

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """One behind the last."""
        return self.n_partitions

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """One behind the last, for the last record."""
        out[:] = 0
        out[-1] = self.n_partitions


class Halved(First):
    """Gives what is between two partitions."""

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """Not a whole number."""
        out[:] = np.full(len(records), 0.5)
