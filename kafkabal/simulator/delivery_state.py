"""State of a simulated delivery: pools of batches and records, connections, brokers, future acknowledgements.

Columns of numbers, so that kernels over them can be compiled.
"""

from __future__ import annotations

from typing import NamedTuple

NONE = -1


class Batches(NamedTuple):
    """Pool of batches; each column has one entry per batch."""

    size_bytes: list[int]
    first_record: list[int]
    last_record: list[int]
    opened_s: list[float]
    sent_s: list[float]
    place: list[int]
    """producer x partitions + partition"""
    link: list[int]
    """producer x brokers + broker once it is ready, -1 before."""
    earlier: list[int]
    """Neighbours in the list of lingering batches, oldest first."""
    later: list[int]
    behind: list[int]
    """The next batch in the queue of its connection."""
    spare: list[int]
    """Stack of free entries."""


class Records(NamedTuple):
    """Pool of records that are not acknowledged."""

    following: list[int]
    """The next record of the same batch."""
    at_s: list[float]
    offered_s: list[float]
    size_bytes: list[int]
    spare: list[int]


class Links(NamedTuple):
    """Connections of producers to brokers."""

    in_flight: list[int]
    first: list[int]
    """Head of the queue of batches that are ready and waiting."""
    last: list[int]


class Servers(NamedTuple):
    """Brokers by row."""

    free_s: list[float]
    """When the queue of each is empty."""
    bytes_per_s: list[float]
    request_s: list[float]
    latency_s: list[float]
    """Sum over the batches since the last measurement, from sending to acknowledgement."""
    batches: list[int]
    acked_bytes: list[int]
    """Bytes acknowledged since the start."""


class DeliveryTopic(NamedTuple):
    """Placement of the partitions."""

    leader: list[int]
    first: list[int]
    """Followers of partition p are ``follower[first[p]:first[p + 1]]``."""
    follower: list[int]


class Agenda(NamedTuple):
    """Future acknowledgements: a binary heap by time."""

    at_s: list[float]
    batch: list[int]


class DeliveryLimits(NamedTuple):
    """Settings; each is a list of one item."""

    linger_s: list[float]
    half_round_trip_s: list[float]
    batch_bytes: list[int]
    in_flight: list[int]
    acks_all: list[int]


class DeliveryState(NamedTuple):
    """The whole state."""

    batches: Batches
    records: Records
    links: Links
    servers: Servers
    topic: DeliveryTopic
    agenda: Agenda
    limits: DeliveryLimits
    open_batch: list[int]
    """By producer x partitions + partition, -1 if none is open."""
    sent: list[int]
    """By partition: batches sent."""
    counts: list[int]
    """Free batches, free records, pending acknowledgements, first and last lingering batch."""
    now_s: list[float]


# indexes into ``counts``
FREE_BATCHES, FREE_RECORDS, TO_COME, OLDEST, YOUNGEST = range(5)
