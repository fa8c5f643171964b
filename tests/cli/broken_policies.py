"""Faulty policies for tests."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kafkabal.model.cluster_state import I32
from kafkabal.routing.policy_protocol import About, Context, Feedback, PolicyBase, RecordBatch
from kafkabal.routing.routing_view import RoutingView


class First(PolicyBase):
    """Always picks the first partition; the other policies derive from it and each fail in one way."""

    about: ClassVar = About(name="first", meaning="the first partition", source="a test")

    def refresh(self, view: RoutingView) -> None:
        """Store the number of partitions."""
        self.n_partitions = view.n_partitions

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """Pick the first partition."""
        return 0

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """Pick the first partition."""
        out[:] = 0


class Unmade(First):
    """Raises when it is created."""

    def __init__(self, context: Context) -> None:
        raise ValueError("not today")


class Blind(First):
    """Exits the process with code 0 when it gets a view."""

    def refresh(self, view: RoutingView) -> None:
        """Exit."""
        raise SystemExit(0)


class Deaf(First):
    """Claims to learn, but has no kernels."""

    about: ClassVar = About(name="deaf", meaning="none", source="a test", feedback=Feedback.ACKS)


class Failing(First):
    """Raises during a batch."""

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """Fail."""
        raise RuntimeError("out of\nluck")

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """Fail."""
        raise RuntimeError("out of\nluck")


class Leaving(First):
    """Exits the process during a pick."""

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """Exit."""
        raise SystemExit


class Idle(First):
    """Fills in no partitions."""

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """Leave the output unchanged."""


class Astray(First):
    """Numbers partitions from 1."""

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """Return one past the last partition."""
        return self.n_partitions

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """Return one past the last partition for the last record."""
        out[:] = 0
        out[-1] = self.n_partitions


class Halved(First):
    """Returns a fraction between two partitions."""

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """Return a number that is not whole."""
        out[:] = np.full(len(records), 0.5)
