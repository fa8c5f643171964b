"""What is written, how fast, by whom, and what happens to the brokers meanwhile: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

import numpy as np

from kafkabal.model import I32, I64
from kafkabal.routing import KeyTable
from kafkabal.simulator.discrete_distribution import DiscreteDistribution

MOST_RECORDS: Final = 10**12
"""Of a workload: days of simulating."""
MOST_BYTES: Final = 2**60
"""Of a workload: with some copies still numbers of 64 bits."""

# of keys that are drawn: their salt beside those of the records, and their length
_KEY_NAMES, _DIGITS = 4, 10


class Sizes(Protocol):
    """Bytes of the records, key and value, one after the other."""

    @property
    def mean_bytes(self) -> float:
        """Expected bytes of a record."""

    @property
    def header_bytes(self) -> float:
        """What the headers that ``kafkabal produce`` would add take in a log, a record; 0 where that is not known."""

    def draw(self, generator: np.random.Generator, start: int, n: int) -> I64:
        """Sizes of records ``start`` to ``start + n``: int64, shape (n,), > 0."""


@dataclass(frozen=True, slots=True)
class FixedSize:
    """All records alike."""

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
    """Logarithms of the sizes are normal with standard deviation ``sigma``, as sizes of files usually are."""

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
    """The sizes of a data set in its order, over again when it ends."""

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
        """The keys by row: others for every seed, where they are not known."""

    def draw(self, generator: np.random.Generator, start: int, n: int) -> I32:
        """Rows of the keys of records from a position on: int32, shape (n,), -1 for a record without one."""


@dataclass(frozen=True, slots=True)
class UniformKeys:
    """All keys equally often."""

    n_keys: int

    def table(self, seed: int) -> KeyTable:
        """See :class:`Keys`."""
        return _drawn_keys(self.n_keys, seed)

    def draw(self, generator: np.random.Generator, start: int, n: int) -> I32:  # noqa: ARG002
        """See :class:`Keys`."""
        return (generator.random(n) * self.n_keys).astype(np.int32)


@dataclass(frozen=True, slots=True)
class ZipfKeys:
    """The i-th key in proportion to ``1 / i ** exponent``."""

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
    """The keys of a data set in its order, over again when it ends."""

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
    """Keys that hash as any others would: the same ones for every seed would make one accident of theirs certain."""
    first = np.random.Generator(np.random.PCG64([seed, _KEY_NAMES])).integers(10**_DIGITS - n_keys)
    return KeyTable.numbered(n_keys, _DIGITS, int(first))


class ArrivalProcess(StrEnum):
    """How records come over time."""

    STEADY = "steady"
    """As many bytes every second."""
    POISSON = "poisson"
    """At random, as many records every second on average."""


class BrokerEventKind(StrEnum):
    """What may happen to a broker."""

    SLOW = "slow"
    DEAD = "dead"
    ADDED = "added"
    """It is not there before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEvent:
    """A change of a broker at a time."""

    at_s: float
    broker: int
    becomes: BrokerEventKind
    factor: float = 1.0
    """How many times slower, for :attr:`Change.SLOW`; 1 makes it as quick as before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """How records travel; what stands for a client's and a broker's settings."""

    batch_bytes: int = 16384
    linger_s: float = 0.005
    in_flight: int = 5
    """Batches on a connection at a time."""
    buffer_bytes: int = 32 * 2**20
    """Memory of all producers together."""
    buffer_records: int = 100_000
    acks_all: bool = True
    broker_bytes_per_s: float = 200e6
    """What a broker takes in, as leader and follower."""
    own_bytes_per_s: Mapping[int, float] = field(default_factory=dict)
    """Of single brokers, by id."""
    request_s: float = 0.0002
    """Seconds that a broker spends on a request in addition to its bytes."""
    own_request_s: Mapping[int, float] = field(default_factory=dict)
    """Of single brokers, by id."""
    round_trip_s: float = 0.0005


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOverhead:
    """What records take in a log, where that cannot be known otherwise."""

    header_bytes: int | None = None
    """What the headers of a record take; None as :attr:`Sizes.header_bytes` has it."""
    compression: float = 1.0
    """Part of the records' bytes that is left, above 0 and at most 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Everything but the cluster and the policy."""

    name: str = "workload"
    records: int | None = 100_000
    """None where :attr:`total_bytes` ends it."""
    total_bytes: int | None = None
    sizes: Sizes = FixedSize(1000)
    keys: Keys | None = None
    bytes_per_s: float = 50e6
    process: ArrivalProcess = ArrivalProcess.POISSON
    producers: int = 1
    metrics_interval_s: float = 5.0
    """Policies see the brokers as they were up to so long ago."""
    transport: Transport = Transport()
    log: LogOverhead = LogOverhead()
    events: tuple[BrokerEvent, ...] = ()

    @property
    def expected_records(self) -> int:
        """How many records it has, by its mean size where bytes end it."""
        if self.records is not None:
            return self.records
        assert self.total_bytes is not None
        return int(self.total_bytes / self.sizes.mean_bytes)

    @property
    def expected_bytes(self) -> float:
        """How many bytes of key, value and headers it has, by its mean size."""
        return self.expected_records * (self.sizes.mean_bytes + self.header_bytes)

    @property
    def header_bytes(self) -> int:
        """What the headers of a record take in a log, on average."""
        return round(self.sizes.header_bytes if self.log.header_bytes is None else self.log.header_bytes)

    def key_table(self, seed: int) -> KeyTable | None:
        """The keys by row."""
        return None if self.keys is None else self.keys.table(seed)
