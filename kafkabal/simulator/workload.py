"""What is written, how fast and by whom, and what happens to brokers meanwhile: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import I32, I64
from kafkabal.routing import KeyTable
from kafkabal.simulator.discrete_distribution import DiscreteDistribution
from kafkabal.wording import first_of

MOST_RECORDS: Final = 10**12
"""Limit for a workload: days of simulation."""
MOST_BYTES: Final = 2**60
"""Limit for a workload: a few replicas of it still fit 64-bit numbers."""

# for drawn keys: their salt, unlike that of the records, and their length
_KEY_NAMES, _DIGITS = 4, 10


class Sizes(Protocol):
    """Sizes of the records (key and value) in order."""

    @property
    def mean_bytes(self) -> float:
        """Expected bytes of a record."""

    @property
    def header_bytes(self) -> float:
        """Bytes per record in a log of the headers that ``kafkabal produce`` would add; 0 if unknown."""

    def draw(self, generator: np.random.Generator, start: int, n: int) -> I64:
        """Sizes of records ``start`` to ``start + n``: int64, shape (n,), > 0."""


@dataclass(frozen=True, slots=True)
class FixedSize:
    """All records have one size."""

    size_bytes: int

    @property
    def mean_bytes(self) -> float:
        """See :class:`Sizes`."""
        return float(self.size_bytes)

    @property
    def header_bytes(self) -> float:
        """See :class:`Sizes`."""
        return 0.0

    def draw(self, generator: np.random.Generator, start: int, n: int) -> I64:  # noqa: ARG002
        """See :class:`Sizes`."""
        return np.full(n, self.size_bytes, np.int64)


@dataclass(frozen=True, slots=True)
class LogNormalSize:
    """The logarithms of the sizes are normal with standard deviation ``sigma``, as is usual for files."""

    mean_bytes: float
    sigma: float

    @property
    def header_bytes(self) -> float:
        """See :class:`Sizes`."""
        return 0.0

    def draw(self, generator: np.random.Generator, start: int, n: int) -> I64:  # noqa: ARG002
        """See :class:`Sizes`."""
        exponent = generator.standard_normal(n)
        exponent *= self.sigma
        exponent += np.log(self.mean_bytes) - self.sigma**2 / 2
        sizes: I64 = np.exp(exponent, out=exponent).astype(np.int64)
        return np.maximum(sizes, 1, out=sizes)


@dataclass(frozen=True, slots=True, eq=False)
class ListedSizes:
    """The sizes of a data set in its order, repeated from the start at its end."""

    size_bytes: I64
    source: str
    header_bytes: float = 0.0

    @property
    def mean_bytes(self) -> float:
        """See :class:`Sizes`."""
        return float(self.size_bytes.mean())

    def draw(self, generator: np.random.Generator, start: int, n: int) -> I64:  # noqa: ARG002
        """See :class:`Sizes`."""
        return self.size_bytes[np.arange(start, start + n) % len(self.size_bytes)]


class Keys(Protocol):
    """Keys of the records."""

    @property
    def n_keys(self) -> int:
        """Number of distinct keys."""

    def table(self, seed: int) -> KeyTable:
        """The keys by row; unless given, they differ with every seed."""

    def draw(self, generator: np.random.Generator, start: int, n: int) -> I32:
        """Key rows of ``n`` records from ``start`` on: int32, shape (n,), -1 for a record without a key."""


@dataclass(frozen=True, slots=True)
class UniformKeys:
    """All keys are equally frequent."""

    n_keys: int

    def table(self, seed: int) -> KeyTable:
        """See :class:`Keys`."""
        return _drawn_keys(self.n_keys, seed)

    def draw(self, generator: np.random.Generator, start: int, n: int) -> I32:  # noqa: ARG002
        """See :class:`Keys`."""
        return (generator.random(n) * self.n_keys).astype(np.int32)


@dataclass(frozen=True, slots=True)
class ZipfKeys:
    """The i-th key is drawn in proportion to ``1 / i ** exponent``."""

    n_keys: int
    exponent: float
    _made: list[DiscreteDistribution] = field(default_factory=list, repr=False, compare=False)

    def table(self, seed: int) -> KeyTable:
        """See :class:`Keys`."""
        return _drawn_keys(self.n_keys, seed)

    def draw(self, generator: np.random.Generator, start: int, n: int) -> I32:  # noqa: ARG002
        """See :class:`Keys`."""
        if not self._made:
            self._made.append(DiscreteDistribution(np.arange(1, self.n_keys + 1, dtype=np.float64) ** -self.exponent))
        return self._made[0].outcomes(generator.random(n))


@dataclass(frozen=True, slots=True, eq=False)
class ListedKeys:
    """The keys of a data set in its order, repeated from the start at its end."""

    row: I32
    """int32, shape (n_records,): -1 for a record without one."""
    keys: KeyTable

    @property
    def n_keys(self) -> int:
        """See :class:`Keys`."""
        return len(self.keys)

    def table(self, seed: int) -> KeyTable:  # noqa: ARG002
        """See :class:`Keys`."""
        return self.keys

    def draw(self, generator: np.random.Generator, start: int, n: int) -> I32:  # noqa: ARG002
        """See :class:`Keys`."""
        return self.row[np.arange(start, start + n) % len(self.row)]


def _drawn_keys(n_keys: int, seed: int) -> KeyTable:
    """Random keys per seed: with the same keys for every seed, their chance hash collisions would be in every run."""
    first = np.random.Generator(np.random.PCG64([seed, _KEY_NAMES])).integers(10**_DIGITS - n_keys)
    return KeyTable.numbered(n_keys, _DIGITS, int(first))


class ArrivalProcess(StrEnum):
    """How records arrive over time."""

    STEADY = "steady"
    """The same number of bytes every second."""
    POISSON = "poisson"
    """At random, with a constant mean rate of records."""


class BrokerEventKind(StrEnum):
    """What may happen to a broker."""

    SLOW = "slow"
    DEAD = "dead"
    ADDED = "added"
    """It does not exist before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEvent:
    """An event of a broker at a time."""

    at_s: float
    broker: int
    becomes: BrokerEventKind
    factor: float = 1.0
    """How many times slower, for :attr:`BrokerEventKind.SLOW`; 1 restores its speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """How records travel: settings of clients and brokers."""

    batch_bytes: int = 16384
    linger_s: float = 0.005
    in_flight: int = 5
    """Batches in flight per connection."""
    buffer_bytes: int = 32 * 2**20
    """Memory of all producers together."""
    buffer_records: int = 100_000
    acks_all: bool = True
    broker_bytes_per_s: float = 200e6
    """Rate at which a broker takes records, as leader and follower."""
    own_bytes_per_s: Mapping[int, float] = field(default_factory=dict)
    """The rate of single brokers, by id."""
    request_s: float = 0.0002
    """Seconds that a broker spends per request, in addition to its bytes."""
    own_request_s: Mapping[int, float] = field(default_factory=dict)
    """The same of single brokers, by id."""
    round_trip_s: float = 0.0005


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOverhead:
    """What records take in a log in addition, where that is not known otherwise."""

    header_bytes: int | None = None
    """Bytes of a record's headers; None uses :attr:`Sizes.header_bytes`."""
    compression: float = 1.0
    """Compressed size of records over their size, above 0 and at most 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Everything but the cluster and the policy."""

    name: str = "workload"
    records: int | None = 100_000
    """None if :attr:`total_bytes` ends it."""
    total_bytes: int | None = None
    sizes: Sizes = FixedSize(1000)
    keys: Keys | None = None
    bytes_per_s: float = 50e6
    process: ArrivalProcess = ArrivalProcess.POISSON
    producers: int = 1
    metrics_interval_s: float = 5.0
    """Policies see metrics of brokers that are up to this old."""
    transport: Transport = Transport()
    log: LogOverhead = LogOverhead()
    events: tuple[BrokerEvent, ...] = ()

    @property
    def expected_records(self) -> int:
        """Number of records; computed from their mean size if bytes end the workload."""
        if self.records is not None:
            return self.records
        assert self.total_bytes is not None
        return int(self.total_bytes / self.sizes.mean_bytes)

    @property
    def expected_bytes(self) -> float:
        """Bytes of keys, values and headers, computed from the mean size."""
        return self.expected_records * (self.sizes.mean_bytes + self.header_bytes)

    @property
    def header_bytes(self) -> int:
        """Mean bytes of a record's headers in a log."""
        return round(self.sizes.header_bytes if self.log.header_bytes is None else self.log.header_bytes)

    def check_brokers(self, broker_id: I32) -> None:
        """Check that every broker with an event or a rate of its own is among these.

        Raises
        ------
        UsageError
            Naming a broker that is not.
        """
        named = {*self.transport.own_bytes_per_s, *self.transport.own_request_s, *(e.broker for e in self.events)}
        unknown = sorted(named.difference(broker_id.tolist()))
        if unknown:
            hint = f"choose from: {first_of(broker_id.tolist())}"
            raise UsageError(f"unknown broker in the workload: {unknown[0]}", hint=hint)

    def key_table(self, seed: int) -> KeyTable | None:
        """The keys by row."""
        return None if self.keys is None else self.keys.table(seed)
