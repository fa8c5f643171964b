"""A partition in the run: its target, its last observed state, and its problem, if any."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkabal.clusters import Fault
from kafkabal.executor.observe.observation import Observation, Stage
from kafkabal.executor.reassign.target_placement import TargetPlacement
from kafkabal.model import TopicPartition

ENDED = frozenset({Stage.PLACED, Stage.FOREIGN, Stage.GONE})
STARTABLE = frozenset({Stage.WAITING, Stage.MISPLACED})
RUNNING = frozenset({Stage.MOVING, Stage.LAGGING, Stage.WRONG_TARGET, Stage.COPYING})

FINAL_FAULTS = frozenset(
    {
        "INVALID_REPLICATION_FACTOR",
        "POLICY_VIOLATION",
        "TOPIC_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
        "LOG_DIR_NOT_FOUND",
        "UNSUPPORTED_VERSION",
        "INVALID_REQUEST",
    }
)
"""Errors that a retry cannot change."""


LONGEST_LAG_S = 60.0
"""Brokers apply the controller's changes within a second, but one that has to create or drop thousands of replicas at
once showed its metadata up to a minute late, and was not fenced, since its heartbeats went on (1,000 topics with 10,000
partitions on four busy brokers, Kafka 4.1, 2026-11). If the verdict comes too soon, a partition is skipped."""


@dataclass(slots=True, eq=False)
class PartitionTask:
    """One partition on its way to the target; only the loop that moves it changes it."""

    target: TargetPlacement
    stage: Stage = Stage.WAITING
    current: tuple[int, ...] = ()
    """Replicas when last observed, including those being added and removed."""
    leader: int = -1
    isr: tuple[int, ...] = ()
    to_add: tuple[int, ...] = ()
    """Brokers that get a copy in the next step."""
    arriving: tuple[int, ...] = ()
    """Brokers that the reassignment in flight is adding."""
    out_of_sync: tuple[int, ...] = ()
    """Brokers that keep a replica in the next step or the step in flight, and are out of sync: Kafka completes no
    reassignment while a replica of its target is out of sync."""
    misplaced: dict[int, str] = field(default_factory=dict)
    """Brokers that hold it in another log dir than the target, with the target dir."""
    unseen_on: tuple[int, ...] = ()
    """Brokers with a target log dir that did not report which one holds the partition."""
    attempts: int = 0
    not_before_s: float = 0.0
    """Monotonic time before which it is not tried again."""
    postponed_for: frozenset[int] = frozenset()
    """Brokers that it waits for."""
    problem: str = ""
    """Why it waits, or why it failed."""
    is_given_up: bool = False
    is_cancelling: bool = False
    """Whether this run has asked Kafka to cancel its reassignment."""
    was_cancelled: bool = False
    """Whether the last observation shows that another tool has cancelled its reassignment or its copy between log
    dirs."""
    last_arriving: tuple[int, ...] = ()
    """Brokers that its reassignment was adding when last in flight, until metadata shows how it has ended; none if this
    run has asked Kafka to cancel it."""
    is_shown: bool = False
    """Whether metadata has shown any of these. Before that, it shows the replicas as they were, and that tells nothing
    about how the reassignment has ended."""
    lagging_since_s: float | None = None
    """Since when metadata has shown a reassignment that the controller does not list."""

    @property
    def name(self) -> TopicPartition:
        """Name of the partition."""
        return self.target.name

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be done about it."""
        return self.is_given_up or self.stage in ENDED

    @property
    def is_running(self) -> bool:
        """Whether the cluster is working on it."""
        return self.stage in RUNNING

    @property
    def is_closed(self) -> bool:
        """Whether it is over and need not be observed again; a failed task may still be in flight for a while."""
        return self.is_over and not self.is_running

    @property
    def can_start(self) -> bool:
        """Whether nothing is in flight for it and there is something to do."""
        return self.stage in STARTABLE and not self.is_given_up

    @property
    def next_step(self) -> tuple[int, ...]:
        """Replicas to request next."""
        return self.target.next_step(self.current, self.isr)

    @property
    def is_copied(self) -> bool:
        """Whether the copies of its reassignment are complete, and only a replica that stays is out of sync."""
        return self.stage is Stage.MOVING and bool(self.out_of_sync) and not self.copying_to

    @property
    def waits_in_place(self) -> bool:
        """Whether its reassignment copies nothing: the copies are complete, or it has no leader to copy from."""
        return self.is_copied or (self.stage is Stage.MOVING and self.leader < 0)

    @property
    def cancel_is_unclean(self) -> bool:
        """Whether a reassignment is in flight and none of the previous replicas is in sync.

        Cancelling it would lose whatever only the new replicas hold. Kafka refuses that, unless the topic allows
        unclean leader elections.
        """
        runs = self.stage in (Stage.MOVING, Stage.WRONG_TARGET)
        return runs and not any(b in self.isr for b in self.current if b not in self.arriving)

    @property
    def copying_to(self) -> tuple[int, ...]:
        """Brokers that a copy is on its way to: they are being added and have not caught up."""
        return tuple(b for b in self.arriving if b not in self.isr)

    @property
    def copy_sources(self) -> tuple[int, ...]:
        """Brokers that hold a copy to copy from: those in sync, or all earlier ones where Kafka lists none as in sync.

        Kafka 4.1 removes even the last replica from the ISR when it dies (KIP-966).
        """
        return self.isr or tuple(b for b in self.current if b not in self.arriving)

    @property
    def missing_on(self) -> tuple[int, ...]:
        """Brokers that still need a copy from another broker."""
        held = [b for b in self.current if b not in self.arriving]
        return tuple(b for b in self.target.replicas if b not in held)

    def take(self, seen: Observation, now_s: float) -> None:
        """Update the task from an observation."""
        if self.stage is not Stage.LAGGING or self.is_cancelling:
            self.last_arriving = self.arriving if self.stage is Stage.MOVING and not self.is_cancelling else ()
        was_copying = self.stage is Stage.COPYING and not self.is_cancelling
        self.unseen_on = seen.unseen(self.target)
        status, running = seen.status.get(self.name), seen.reassignments.get(self.name)
        if status is not None:
            adding = running.adding if running else self.last_arriving
            self.is_shown = self.is_shown or not set(adding).isdisjoint(status.replicas)
        stage = seen.stage(self.target)
        if stage is Stage.WAITING and self.last_arriving and not self.is_shown:
            stage = Stage.LAGGING  # the controller accepted it, and small copies end before busy brokers show them
        if stage is Stage.LOG_DIR_UNKNOWN and self.stage is Stage.PLACED and seen.responding.isdisjoint(self.unseen_on):
            stage = Stage.PLACED  # its brokers have died since they reported it in the right log dirs
        self.stage = self._without_lag(stage, now_s)
        if status is not None:
            self.current, self.leader, self.isr = status.replicas, status.leader, status.isr
        # a step that has ended leaves what it added
        is_gone = bool(self.last_arriving) and not set(self.last_arriving) & set(self.current)
        self.was_cancelled = is_gone if self.stage is Stage.WAITING else was_copying and self.stage is Stage.MISPLACED
        self.arriving = running.adding if running else ()
        # from the current replicas: after a step, a cancel or a manual move, other brokers get a copy than at first
        step = self.next_step
        self.to_add = tuple(b for b in step if b not in self.current)
        changes_set = running is not None or set(step) != set(self.current)
        # a change of order alone takes effect at once, whichever replicas are in sync
        self.out_of_sync = self._out_of_sync(running.target if running else step) if changes_set else ()
        self.misplaced = seen.misplaced(self.target)

    def _out_of_sync(self, step: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(b for b in step if b in self.current and b not in self.arriving and b not in self.isr)

    def _without_lag(self, stage: Stage, now_s: float) -> Stage:
        """Take a lag that lasts for the work of another tool: only what the cluster lists is in flight.

        Without that limit, a partition whose replication factor an operator has raised to the union of previous and
        target replicas would be awaited until the run is killed, and its throttles would stay.
        """
        if stage is not Stage.LAGGING:
            self.lagging_since_s = None
            return stage
        self.lagging_since_s = now_s if self.lagging_since_s is None else self.lagging_since_s
        if now_s - self.lagging_since_s < LONGEST_LAG_S:
            return stage
        return Stage.FOREIGN if self.is_shown or not self.last_arriving else Stage.WAITING

    def begin_reassignment(self) -> None:
        """Note that the controller has accepted the next step."""
        self.stage, self.arriving, self.is_shown = Stage.MOVING, self.to_add, False

    def give_up(self, reason: str) -> None:
        """Do nothing more about the partition."""
        self.problem, self.is_given_up = reason, True

    def postpone(self, reason: str, brokers: frozenset[int] = frozenset(), until_s: float = 0.0) -> None:
        """Wait for brokers, or until a time."""
        self.problem, self.postponed_for, self.not_before_s = reason, brokers, until_s

    def release(self) -> None:
        """Stop waiting.

        This clears the brokers together with the reason: a task that kept the brokers without a reason would neither
        start nor be given up if they died again, and its run would never end.
        """
        self.postpone("")
        self.is_cancelling = False

    def is_ready(self, responding: frozenset[int], now_s: float) -> bool:
        """Whether everything that it waits for is there."""
        return self.postponed_for <= responding and now_s >= self.not_before_s

    def fail(self, fault: Fault, now_s: float, attempts: int) -> None:
        """Count a failed attempt: give up if the error is final, otherwise back off for longer each time."""
        self.attempts += 1
        if fault.name == "UNKNOWN_TOPIC_OR_PARTITION":
            self.stage = Stage.GONE
        elif fault.name in FINAL_FAULTS or self.attempts >= attempts:
            self.give_up(str(fault))
        else:
            self.postpone(str(fault), until_s=now_s + min(2.0**self.attempts, 60.0))
