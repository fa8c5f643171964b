"""The interface of a routing policy: it picks the partition of every record, based on the last view of the cluster.

One implementation serves the live producer and the simulator. The producer calls :meth:`Policy.pick` for each record;
the simulator calls :meth:`Policy.pick_batch` for all records between two views. Both give the same partitions, bit for
bit: random numbers come from a stream that does not depend on how many are drawn at a time, bytes are counted in
integers, and the clock is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from time import monotonic
from typing import ClassVar, Protocol, runtime_checkable

from kafkabal.config import Range
from kafkabal.model import F64, I32, I64
from kafkabal.routing.key_hashes import KeyTable
from kafkabal.routing.routing_view import RoutingView


class Input(StrEnum):
    """Data that a policy needs to work as described."""

    KEYS = "keys"
    LOG_DIRS = "log-dirs"
    """Bytes of brokers and partitions, and the brokers' capacity."""
    LATENCY = "latency"
    """How long each broker takes to respond, from client telemetry or a client's own statistics."""
    RACKS = "racks"
    SCORES = "scores"
    """The selected scores, :attr:`~kafkabal.routing.routing_view.RoutingView.marginal_loads`."""
    ACKS = "acks"
    """A call of :meth:`Policy.acked` for every record."""


class Feedback(StrEnum):
    """How a pick depends on what happened to earlier records."""

    NONE = "none"
    """Between two views, only on how many records and bytes there were: a whole batch can be picked at once."""
    SENT = "sent"
    """On where the producer's own earlier records went."""
    ACKS = "acks"
    """Also on when they were acknowledged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The description of a policy, known without creating one."""

    name: str
    """Unique, lower case, with dashes."""
    meaning: str
    """One line that says how it picks."""
    source: str
    """Paper, KIP or program that describes it."""
    inputs: frozenset[Input] = frozenset()
    optional_inputs: frozenset[Input] = frozenset()
    """Data that changes its picks where it is known, and that it does without elsewhere."""
    keeps_key_order: bool = False
    """All records of a key go to one partition, as long as the number of partitions does not change."""
    feedback: Feedback = Feedback.NONE
    asks_what_settled: bool = False
    """Views must say which of its own records had reached the brokers; not for a policy that gets each
    acknowledgement."""
    ranges: Mapping[str, Range] = field(default_factory=dict)
    """Allowed ranges of numeric options, by option name."""

    def expect(self, **options: float) -> None:
        """Check that options are within their ranges.

        Raises
        ------
        UsageError
            Naming an option that is not, and its range.
        """
        for parameter, value in options.items():
            option = parameter.replace("_", "-")
            self.ranges[option].expect(f"{self.name}: {option}", value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a policy gets from its creator."""

    seed: int = 0
    """The same seed, views and records give the same partitions; the producers of one topic use different seeds."""
    clock: Callable[[], float] = monotonic
    """Seconds; called only by policies whose picks depend on time."""
    rack: str | None = None
    """Rack of the reader whose records should be near."""
    compiled: bool = False
    """Pick batches in machine code (needs numba); the partitions are the same."""
    expected_bytes: Callable[[], float] = lambda: inf
    """About how many bytes the producer will send in all, as far as known now, so that brokers are even at the end;
    infinite if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordBatch:
    """Records of one producer, in send order."""

    size_bytes: I64
    """int64, shape (n,), > 0: key, value and headers."""
    key: I32 | None = None
    """int32, shape (n,): row of the key in :attr:`keys`, -1 for a record without one; None if no record has one."""
    keys: KeyTable | None = None
    at_s: F64 | None = None
    """float64, shape (n,): when each record is sent, ascending; required by policies that use the clock."""

    def __len__(self) -> int:
        return len(self.size_bytes)

    def __getitem__(self, rows: slice) -> RecordBatch:
        return RecordBatch(
            size_bytes=self.size_bytes[rows],
            key=None if self.key is None else self.key[rows],
            keys=self.keys,
            at_s=None if self.at_s is None else self.at_s[rows],
        )


class Pick(Protocol):
    """The type of :meth:`Policy.pick`, for a policy that exposes another object's method."""

    def __call__(self, key: bytes | None, size_bytes: int) -> int:
        """See :meth:`Policy.pick`."""


class Policy(Protocol):
    """Picks the partition of each record; one instance serves one producer and one topic.

    All methods except :meth:`refresh` are called by one thread at a time.
    """

    @property
    def about(self) -> About:
        """The policy's description; a class attribute, so no instance is needed."""

    def refresh(self, view: RoutingView) -> None:
        """Take a new view of the cluster; must be called once before the first record.

        May be called by another thread than :meth:`pick`: compute the new state first, then replace the old one in one
        step.

        Raises
        ------
        OperationError
            If no partition of the topic has a leader.
        """

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """The partition of the next record, which counts as sent there; O(1), prepared by the last view.

        Parameters
        ----------
        size_bytes
            Bytes of key, value and headers, > 0.
        """

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """The partitions of the next records, written to ``out``: the same as from one call of :meth:`pick` per record.

        A policy that learns from acknowledgements gets none in between.
        """

    def acked(self, partition: int, size_bytes: int, latency_s: float) -> None:
        """A record picked earlier is acknowledged or failed; called for each record, only if :attr:`About.feedback` is
        ``acks``.

        Parameters
        ----------
        latency_s
            Time from the pick to the acknowledgement, NaN if the delivery failed.
        """


class Slot:
    """The partition of consecutive records, and how many bytes it may still get."""

    __slots__ = ("left_bytes", "partition")

    def __init__(self, partition: int = 0) -> None:
        self.partition = partition
        self.left_bytes = 0
        """If 0 or less, the next record enters a new slot. A slot's last record may be longer than its rest."""


@runtime_checkable
class SlotPolicy(Protocol):
    """A policy that lets the caller route records on its own as long as they go where the last one went.

    Within a slot, a record without a key costs no call of the policy: the caller subtracts its bytes from the slot.
    """

    @property
    def slot(self) -> Slot:
        """The current slot, always the same object."""

    def enter_slot(self, size_bytes: int) -> int:
        """Begin a new slot, when the old one is used up, for a record of this size; returns its bytes, from which the
        caller subtracts the record."""

    def watch_in_flight(self, awaited_and_settled: Callable[[], tuple[I64, I64]]) -> None:
        """Called before a new slot, or before a block of records is picked.

        Parameters
        ----------
        awaited_and_settled
            Returns int64, shape (n_partitions,), twice: bytes that were sent, and how many of them were acknowledged
            or given up.
        """

    def plan_slots(
        self, size_bytes: int, overruns: Iterable[tuple[int, int]], batch_bytes: int = 0
    ) -> list[tuple[int, int]]:
        """The partition and bytes of the next slots, at most 64, for a caller that uses them up and then asks again.

        Parameters
        ----------
        size_bytes
            Of the next record.
        overruns
            Of earlier slots: partition, and bytes by which the last record was longer than what was left.
        batch_bytes
            Of records that are sent at once, if there are several.
        """


class PolicyBase:
    """What all policies share; derive from it and add what differs."""

    about: ClassVar[About]

    def __init__(self, context: Context) -> None:
        self.context = context

    def acked(self, partition: int, size_bytes: int, latency_s: float) -> None:
        """Ignore the acknowledgement."""
