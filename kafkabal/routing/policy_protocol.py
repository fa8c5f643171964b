"""What a routing policy is: it picks the partition of every record by what the last view of the cluster left.

One implementation serves the live producer and the simulator. The producer calls :meth:`Policy.pick` for each record;
the simulator calls :meth:`Policy.pick_batch` for all records between two views. Both give the same partitions, bit for
bit: randomness comes from a stream that does not care how many numbers are drawn at a time, bytes are counted in
integers, and the clock is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from time import monotonic
from typing import ClassVar, Protocol, runtime_checkable

from kafkabal.config import Range
from kafkabal.model import F64, I32, I64
from kafkabal.routing.key_hashes import KeyTable
from kafkabal.routing.routing_view import RoutingView


class Input(StrEnum):
    """What a policy must be fed with to be what it claims."""

    KEYS = "keys"
    LOG_DIRS = "log-dirs"
    """Bytes of brokers and partitions, and what the brokers can hold."""
    LATENCY = "latency"
    """How long each broker takes to answer: client telemetry or a client's own statistics."""
    RACKS = "racks"
    ACKS = "acks"
    """A call of :meth:`Policy.acked` for every record."""


class Feedback(StrEnum):
    """How much of what happened to earlier records a pick depends on."""

    NONE = "none"
    """Nothing between two views, but how many records and bytes came: all of it can be computed at once."""
    SENT = "sent"
    """Where the producer's own earlier records went."""
    ACKS = "acks"
    """Also when they were acknowledged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is known of a policy without making one."""

    name: str
    """Unique, lower case, with dashes."""
    meaning: str
    """One line that says how it picks."""
    source: str
    """Paper, KIP or program that describes it."""
    inputs: frozenset[Input] = frozenset()
    keeps_key_order: bool = False
    """All records of a key go to one partition, as long as the number of partitions stays."""
    feedback: Feedback = Feedback.NONE
    asks_what_settled: bool = False
    """Views are to say which of its own records had reached the brokers; not for a policy that hears of each."""
    ranges: Mapping[str, Range] = field(default_factory=dict)
    """What options that are numbers may be, by their names as they are written."""

    def expect(self, **options: float) -> None:
        """See that options are within their ranges.

        Raises
        ------
        UsageError
            Naming one that is not, and what it may be.
        """
        for parameter, value in options.items():
            option = parameter.replace("_", "-")
            self.ranges[option].expect(f"{self.name}: {option}", value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a policy gets from its creator."""

    seed: int = 0
    """The same seed, views and records give the same partitions; producers of one topic take different seeds."""
    clock: Callable[[], float] = monotonic
    """Seconds; only policies whose pick depends on time call it."""
    rack: str | None = None
    """Rack of the reader that records should be close to."""
    compiled: bool = False
    """Decide batches in machine code (needs numba); the partitions are the same."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordBatch:
    """Records of one producer in the order in which they are sent."""

    size_bytes: I64
    """int64, shape (n,), > 0: key, value and headers."""
    key: I32 | None = None
    """int32, shape (n,): row of the key in :attr:`keys`, -1 for a record without one; None where no record has one."""
    keys: KeyTable | None = None
    at_s: F64 | None = None
    """float64, shape (n,): when each record is sent, ascending; policies that need the clock need it."""

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
    """What :meth:`Policy.pick` is, for a policy that hands out another object's."""

    def __call__(self, key: bytes | None, size_bytes: int) -> int:
        """See :meth:`Policy.pick`."""


class Policy(Protocol):
    """Decides the partition of each record; one instance serves one producer and one topic.

    Apart from :meth:`refresh`, its methods are called by one thread at a time.
    """

    @property
    def about(self) -> About:
        """What is known of it; of a class, without making an instance."""

    def refresh(self, view: RoutingView) -> None:
        """Take a new view of the cluster; must be called once before the first record.

        May be called by another thread than :meth:`pick`: what is new is computed first and put in place at once.

        Raises
        ------
        OperationError
            If no partition of the topic has a leader.
        """

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """Partition of the next record, which counts as sent there; O(1) from what the last view left.

        Parameters
        ----------
        size_bytes
            Bytes of key, value and headers, > 0.
        """

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """Partitions of the next records, written to ``out``: what as many calls of :meth:`pick` would give.

        A policy with feedback from acknowledgements takes none in between.
        """

    def acked(self, partition: int, size_bytes: int, latency_s: float) -> None:
        """A record picked earlier is done with; called for each only where :attr:`About.feedback` is ``acks``.

        Parameters
        ----------
        latency_s
            From the pick to the acknowledgement, NaN where the delivery failed.
        """


class Slot:
    """Where records go, one after the other, until so many bytes are used up."""

    __slots__ = ("left_bytes", "partition")

    def __init__(self, partition: int = 0, left_bytes: int = 0) -> None:
        self.partition = partition
        self.left_bytes = left_bytes
        """0 or less: the next record enters another slot. The last record of a slot may be longer than what is left."""


@runtime_checkable
class SlotPolicy(Protocol):
    """A policy that leaves records to the caller as long as they go where the last one went.

    Without keys, and between two slots, a record costs no call of it: the caller takes the bytes of each off the slot.
    """

    @property
    def slot(self) -> Slot:
        """The slot in use, always the same object."""

    def enter_slot(self, size_bytes: int) -> int:
        """Begin the slot of a record of this size, which finds the slot used up and is not taken off; its bytes."""


class PolicyBase:
    """Keeps what every policy keeps; derive from it and give what differs."""

    about: ClassVar[About]

    def __init__(self, context: Context) -> None:
        self.context = context

    def acked(self, partition: int, size_bytes: int, latency_s: float) -> None:
        """Nothing is learnt from it."""
