"""Changes of the throttle while moves are in flight: on request, and by the cluster's load if it is automatic."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kafkabal.executor.observe.cluster_load import Moves
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_events import RunProgress, ThrottleChanged
from kafkabal.executor.safety.retry import PASSING_ERRORS
from kafkabal.executor.throttle.auto_rate import AutoRate, next_rate


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
        rate, copying = self._context.throttling.rate, [t for t in running if t.arriving]
        if self._auto is None or rate is None or not copying or not self._auto.is_step_over():
            return
        leaders = {t.leader for t in copying}
        busy = min(len(leaders), len({b for t in copying for b in t.arriving}))
        try:
            moves: Moves = {t.name: t.missing_on for t in still_open if not t.is_over}
            impact = self._auto.observe(moves, leaders, progress.bytes_per_s / (rate * busy))
        except PASSING_ERRORS:
            return  # the moves continue, and the next step observes again
        judged = next_rate(rate, impact) if impact is not None else None
        if judged is not None:
            throttling = self._context.throttling
            throttling.change(replace(throttling.throttle, bytes_per_s=judged[0]))
            self._report(judged[1])

    def _report(self, reason: str) -> None:
        throttle = self._context.throttling.throttle
        self._context.listener.on_event(
            ThrottleChanged(
                bytes_per_s=throttle.bytes_per_s, reason=reason, log_dir_bytes_per_s=throttle.log_dir_bytes_per_s
            )
        )


def _auto_rate(context: RunContext) -> AutoRate | None:
    throttle = context.throttling.throttle
    if not throttle.is_auto:
        return None
    return AutoRate(context.cluster, context.clock, throttle.behind, context.broker_timeout_s)
