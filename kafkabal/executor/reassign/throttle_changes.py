"""Changes of the throttle while moves are in flight: on request, and by the cluster's load if it is automatic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from kafkabal.executor.observe.cluster_load import Moves
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_events import RunProgress, ThrottleChanged
from kafkabal.executor.run_options import Throttle
from kafkabal.executor.safety.retry import PASSING_ERRORS
from kafkabal.executor.throttle.auto_rate import AutoRate, StepImpact, next_rate


class ThrottleChanges:
    """Changes the throttle of a run in progress; the next turn of the loop sets it on the brokers."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._auto = _auto_rate(context)

    def take_request(self) -> None:
        """Take a new throttle if one was requested, from any host, since the last turn."""
        request, throttling = self._context.take_request(), self._context.throttling
        if request is None:
            return
        before = throttling.throttle
        throttling.change(request.requested.applied_to(before), request.asked_at)
        if throttling.throttle != before:
            # a request to pause changes no rate
            self._auto = _auto_rate(self._context)
            self._report("as requested")

    def adapt(
        self, progress: RunProgress, still_open: Sequence[PartitionTask], running: Sequence[PartitionTask]
    ) -> None:
        """Adapt an automatic throttle to the load of the cluster."""
        copies = _Copies.of(running, self._context.throttling.throttle)
        if self._auto is None or not copies.are_adapted or not self._auto.is_step_over():
            return
        try:
            moves = copies.moves([t for t in still_open if not t.is_over])
            impact = self._auto.observe(moves, copies.brokers, progress.bytes_per_s / copies.allowed_bytes_per_s)
        except PASSING_ERRORS:
            return  # the moves continue, and the next step observes again
        changed = copies.next_rates(impact) if impact is not None else None
        if changed is not None:
            self._context.throttling.change(changed[0])
            self._report(changed[1])

    def _report(self, reason: str) -> None:
        throttle = self._context.throttling.throttle
        self._context.listener.on_event(
            ThrottleChanged(
                bytes_per_s=throttle.bytes_per_s, reason=reason, log_dir_bytes_per_s=throttle.log_dir_bytes_per_s
            )
        )


@dataclass(frozen=True, slots=True)
class _Copies:
    """Copies in flight, between brokers and between the log dirs of one, and what limits them."""

    throttle: Throttle
    leaders: frozenset[int]
    """Brokers that send copies to others."""
    receivers: frozenset[int]
    within: frozenset[int]
    """Brokers with copies between their log dirs."""

    @classmethod
    def of(cls, running: Sequence[PartitionTask], throttle: Throttle) -> _Copies:
        between = [t for t in running if t.arriving]
        return cls(
            throttle,
            frozenset(t.leader for t in between),
            frozenset(b for t in between for b in t.arriving),
            frozenset(b for t in running if t.stage is Stage.COPYING for b in t.misplaced),
        )

    @property
    def are_adapted(self) -> bool:
        """Whether an automatic throttle adapts the rate of some of them."""
        return bool(self._rates())

    @property
    def brokers(self) -> frozenset[int]:
        """Brokers that read copies from their disks."""
        return self.leaders | self.within

    @property
    def allowed_bytes_per_s(self) -> float:
        """What all of them may copy together."""
        between, within = self.throttle.bytes_per_s or 0, self.throttle.log_dir_bytes_per_s or 0
        return between * min(len(self.leaders), len(self.receivers)) + within * len(self.within)

    def moves(self, tasks: Sequence[PartitionTask]) -> Moves:
        """Brokers that are to get a copy of each partition; between their log dirs, if that is all."""
        return {t.name: t.missing_on if self.leaders else tuple(t.misplaced) for t in tasks}

    def next_rates(self, impact: StepImpact) -> tuple[Throttle, str] | None:
        """The next throttle, and the reason; None if all rates may stay."""
        judged = {name: next_rate(rate, impact) for name, rate in self._rates().items()}
        changes = {name: found for name, found in judged.items() if found is not None}
        if not changes:
            return None
        rates: dict[str, Any] = {name: rate for name, (rate, _) in changes.items()}
        return replace(self.throttle, **rates), next(reason for _, reason in changes.values())

    def _rates(self) -> dict[str, int]:
        """Rates to adapt, by their names in the throttle."""
        throttle = self.throttle
        is_adapted = {
            "bytes_per_s": bool(self.leaders),
            "log_dir_bytes_per_s": bool(self.within) and throttle.is_log_dir_auto,
        }
        rates = {name: getattr(throttle, name) for name, is_it in is_adapted.items() if is_it}
        return {name: rate for name, rate in rates.items() if rate is not None}


def _auto_rate(context: RunContext) -> AutoRate | None:
    throttle = context.throttling.throttle
    if not throttle.is_auto:
        return None
    return AutoRate(context.cluster, context.clock, throttle.behind, context.broker_timeout_s)
