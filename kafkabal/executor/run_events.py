"""Events of a run. It prints nothing: a caller that wants them passes a listener.

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
    copy_bytes: int
    """Bytes that are to come to brokers which hold no copy yet."""
    log_dir_bytes: int
    """Bytes that are to be copied between log dirs of one broker."""
    predicted_s: float | None
    """Time that the copies take at the throttle; None without a throttle."""
    lock_scope: str
    throttle_bytes_per_s: int | None
    has_cluster_record: bool
    """Whether the cluster itself keeps what another host needs to take over."""


class PhaseEntered(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="phase"):
    """The run enters another phase."""

    phase: Phase
    opens_in_s: float | None = None
    """Seconds until the time window opens, where that is why the run is paused."""


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


class PartitionAside(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="partition-aside"):
    """A partition waits for something that may pass."""

    partition: str
    reason: str


class PartitionFailed(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="partition-failed"):
    """A partition failed."""

    partition: str
    reason: str


class RunProgress(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="progress"):
    """How far the copies are."""

    done_bytes: int
    total_bytes: int
    done_partitions: int
    total_partitions: int
    in_flight: int
    waiting: int
    aside: int
    bytes_per_s: float
    left_s: float | None
    """None while no rate is known."""
    arriving_bytes: dict[int, int]
    """Bytes that have come to each broker since the run began or was resumed."""


class ThrottleChanged(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="throttle"):
    """The throttle is another one from now on."""

    bytes_per_s: int | None
    """Between brokers; None where that is not limited."""
    reason: str
    log_dir_bytes_per_s: int | None = None
    """Between log dirs; None where that is not limited."""


class Trouble(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="trouble"):
    """A call did not get through; it is tried again."""

    error: str
    since_s: float
    next_try_s: float


class StopRequested(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="stop-requested"):
    """A stop was requested; the run stops by its policy."""

    reason: StopReason


class LockAwaited(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="lock-awaited"):
    """Another command holds the lock of the cluster; it is waited for."""

    holder: str
    """What the cluster says of the holder."""
    wait_s: float
    """At most, the first try included."""


class Warned(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="warning"):
    """Something that the user should know."""

    message: str


class Finished(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="finished"):
    """The end of the run."""

    run_id: str
    outcome: RunOutcome
    done_partitions: int
    total_partitions: int
    done_bytes: int
    elapsed_s: float
    problems: dict[str, str]
    """Partition to reason, for those that are not at their targets."""
    pending: list[str]
    """Throttles that could not be restored."""


Event: TypeAlias = (
    Started
    | PhaseEntered
    | Submitted
    | PartitionDone
    | PartitionAside
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
    """Told of every event, in order, on the thread of the run."""

    def on_event(self, event: Event) -> None:
        """Take note; it should be quick."""


class NullListener:
    """The listener that does nothing."""

    def on_event(self, event: Event) -> None:
        """Ignore it."""


def report_in_background(
    listener: RunListener,
    *,
    on_failure: Callable[[Exception], None] = lambda _: None,
    at_end: Callable[[], None] = lambda: None,
    capacity: int = 10_000,
) -> BackgroundListener[Event]:
    """Have a listener called on a thread of its own; progress that comes while it is busy is skipped."""
    return BackgroundListener(
        listener,
        is_passing=lambda event: isinstance(event, RunProgress),
        missed=lambda skipped: Warned(message=f"the output was blocked: {skipped} events were not written"),
        on_failure=on_failure,
        at_end=at_end,
        capacity=capacity,
    )
