"""Events of a run. A run prints nothing: a caller that wants output passes a listener.

Every event encodes as one JSON object with its name under ``event``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import msgspec

from kafkabal.executor.safety.stop_request import StopReason
from kafkabal.executor.state.journal_records import EffectKind
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome
from kafkabal.isolated_listeners import BackgroundListener


class Started(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="started"):
    """The run begins or is resumed."""

    run_id: str
    goal: Goal
    partitions: int
    """Partitions to change; none if it only cancels or restores."""
    copy_bytes: int
    """Bytes to copy to brokers that hold no copy yet."""
    log_dir_bytes: int
    """Bytes to copy between log dirs of the same broker."""
    predicted_s: float | None
    """Predicted time of the copies at the throttle; None without a throttle."""
    lock_scope: str
    throttle_bytes_per_s: int | None
    log_dir_throttle_bytes_per_s: int | None
    has_cluster_record: bool
    """Whether the cluster itself keeps what another host needs to take over."""


class PhaseEntered(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="phase"):
    """The run enters another phase."""

    phase: Phase
    opens_in_s: float | None = None
    """Seconds until the time window opens, if the run is paused for that."""


class Submitted(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="submitted"):
    """A request was answered."""

    effect: int
    kind: EffectKind
    items: int
    failed: int


class PartitionDone(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="partition-done"):
    """A partition is in place."""

    partition: str
    copy_bytes: int


class PartitionPostponed(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="partition-postponed"):
    """A partition waits for something that may pass."""

    partition: str
    reason: str


class PartitionFailed(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="partition-failed"):
    """A partition failed."""

    partition: str
    reason: str


class RunProgress(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="progress"):
    """Progress of the copies."""

    done_bytes: int
    total_bytes: int
    done_partitions: int
    total_partitions: int
    in_flight: int
    waiting: int
    postponed: int
    bytes_per_s: float
    left_s: float | None
    """Predicted time left; None while no rate is known."""
    arriving_bytes: dict[int, int]
    """Bytes copied to each broker since the run began or was resumed."""


class ThrottleChanged(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="throttle"):
    """The throttle changes."""

    bytes_per_s: int | None
    """Between brokers; None without a limit."""
    reason: str
    log_dir_bytes_per_s: int | None = None
    """Between log dirs; None without a limit."""


class Trouble(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="trouble"):
    """A call failed and is retried."""

    error: str
    since_s: float
    next_try_s: float
    give_up_s: float
    """Longest time from the first failure to the last attempt."""


class StopRequested(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="stop-requested"):
    """A stop was requested; the run stops as its options say."""

    reason: StopReason


class LockAwaited(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="lock-awaited"):
    """Another command holds the lock of the cluster, or Kafka cannot grant it yet; this one waits for it."""

    holder: str
    """What the cluster reports about the holder, or why the lock cannot be granted yet."""
    wait_s: float
    """Longest wait, counted from the first attempt."""


class Warned(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="warning"):
    """A warning for the user."""

    message: str


class Finished(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="finished"):
    """The run has ended."""

    run_id: str
    outcome: RunOutcome
    done_partitions: int
    total_partitions: int
    done_bytes: int
    elapsed_s: float
    problems: dict[str, str]
    """Partition to reason, for partitions that are not at their targets."""
    pending: list[str]
    """Throttles that could not be restored."""


Event: TypeAlias = (
    Started
    | PhaseEntered
    | Submitted
    | PartitionDone
    | PartitionPostponed
    | PartitionFailed
    | RunProgress
    | ThrottleChanged
    | Trouble
    | StopRequested
    | LockAwaited
    | Warned
    | Finished
)


class RunListener(Protocol):
    """Receives every event, in order, on the thread of the run."""

    def on_event(self, event: Event) -> None:
        """Handle an event; must be quick."""


class NullListener:
    """A listener that does nothing."""

    def on_event(self, event: Event) -> None:
        """Ignore the event."""


def report_in_background(
    listener: RunListener,
    *,
    on_failure: Callable[[Exception], None] = lambda _: None,
    at_end: Callable[[], None] = lambda: None,
    capacity: int = 10_000,
) -> BackgroundListener[Event]:
    """Call a listener on a thread of its own; progress events that arrive while it is busy are skipped."""
    return BackgroundListener(
        listener,
        is_passing=lambda event: isinstance(event, RunProgress),
        missed=lambda skipped: Warned(message=f"the output was blocked: {skipped} events were not written"),
        on_failure=on_failure,
        at_end=at_end,
        capacity=capacity,
    )
