"""A view may come in the middle of a pick, from another thread: at every step of one, the other is run as a whole."""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np
import pytest

from kafkabal.routing.policy_protocol import Context, Feedback, Policy, RecordBatch
from kafkabal.routing.registry import load_policy, policy_names
from kafkabal.routing.routing_view import RoutingView
from kafkabal.simulator import Leaders

# those that learn from acknowledgements get their views from the thread that picks
VARIANTS = [
    text
    for text in (*policy_names(), "round-robin:over=brokers", "least-loaded:own=true", "rack-local:rack=rack-1")
    if load_policy(text).about.feedback is not Feedback.ACKS
]
PACES = {"score": 61, "bounded-load": 101, "astraea": 101, "smooth-weighted": 101}
"""Every which instruction is interrupted, where there are thousands."""
_KEYS = (None, b"a", b"b")
_OF_BATCH = 6


class Interruption:
    """Runs an action before the nth instruction of a policy's code, unless that holds a lock."""

    def __init__(self, nth: int, policy: Policy, action: Callable[[], None]) -> None:
        self.came = False
        self._left = nth
        self._policy = policy
        self._action = action

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Interrupt what is done in the block."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        if "kafkabal.routing" not in frame.f_globals.get("__name__", ""):
            return None
        frame.f_trace_opcodes = True
        return self._step

    def _step(self, _frame: FrameType, event: str, _argument: Any) -> Any:
        self._left -= event == "opcode"
        if self._left <= 0 and not self.came and not self._is_locked():
            self.came = True
            tracing = sys.gettrace()
            sys.settrace(None)
            self._action()
            sys.settrace(tracing)
        return self._step

    def _is_locked(self) -> bool:
        return any(isinstance(value, _thread.LockType) and value.locked() for value in vars(self._policy).values())


def picked(policy: Policy) -> list[int]:
    """The partitions of some records, one by one and in a batch."""
    out = np.empty(_OF_BATCH, np.int32)
    ones = [policy.pick(key, 500_000) for key in _KEYS]
    times = np.linspace(0.0, 1.0, _OF_BATCH)
    policy.pick_batch(RecordBatch(size_bytes=np.full(_OF_BATCH, 500_000, np.int64), at_s=times), out)
    return [*ones, *out.tolist()]


@pytest.fixture
def grown(view_over: Callable[..., RoutingView]) -> RoutingView:
    """A later view, with more brokers and partitions."""
    view = view_over(brokers=8, leaders=Leaders.BROKERS_PLUS_2, racks=3, existing_bytes=2 * 10**6)
    return replace(view, at_s=5.0)


@pytest.mark.parametrize("text", VARIANTS)
@pytest.mark.parametrize("view_interrupts", [True, False])
def test_a_view_may_come_at_any_moment(
    text: str, uneven_view: RoutingView, grown: RoutingView, *, view_interrupts: bool
) -> None:
    """Every pick is a partition; afterwards, keys go where a policy sends them that has only seen the later view."""
    fresh = load_policy(text).create(Context(seed=3, clock=lambda: 0.0))
    fresh.refresh(grown)
    # primes, so that no instruction of a loop is missed each time
    pace = PACES.get(text, 3)
    nth, came = 0, True
    while came:
        nth += pace
        policy = load_policy(text).create(Context(seed=3, clock=lambda: 0.0))
        policy.refresh(uneven_view)
        policy.pick(None, 5000)
        seen: list[int] = []

        def take_view(policy: Policy = policy) -> None:
            policy.refresh(grown)

        def pick(policy: Policy = policy, seen: list[int] = seen) -> None:
            seen += picked(policy)

        outer, inner = (pick, take_view) if view_interrupts else (take_view, pick)
        interruption = Interruption(nth, policy, inner)
        with interruption.awaited():
            outer()
        came = interruption.came
        if came:
            seen += picked(policy)
            assert all(0 <= partition < grown.n_partitions for partition in seen), nth
            if fresh.about.keeps_key_order:
                for key in (b"a", b"b"):
                    assert policy.pick(key, 10) == fresh.pick(key, 10), nth
