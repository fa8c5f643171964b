"""What moves in a simulated delivery: pools of batches and records, connections, brokers, acknowledgements to come.

Columns of numbers, which a kernel can be compiled for.
"""

from __future__ import annotations

from typing import NamedTuple

NONE = -1


class Batches(NamedTuple):
    """Pool of batches, one entry each."""

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
    """Neighbours in the list of those that linger, oldest first."""
    later: list[int]
    behind: list[int]
    """The next in the queue of its connection."""
    spare: list[int]
    """Entries that are free; a stack."""


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
    """Queue of batches that are ready and have to wait."""
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
    """Since the beginning."""


class DeliveryTopic(NamedTuple):
    """Placement of the partitions."""

    leader: list[int]
    first: list[int]
    """Followers of partition p are ``follower[first[p]:first[p + 1]]``."""
    follower: list[int]


class Agenda(NamedTuple):
    """Acknowledgements to come: a binary heap by time."""

    at_s: list[float]
    batch: list[int]


class DeliveryLimits(NamedTuple):
    """Settings; one item each."""

    linger_s: list[float]
    half_round_trip_s: list[float]
    batch_bytes: list[int]
    in_flight: list[int]
    acks_all: list[int]


class DeliveryState(NamedTuple):
    """All that moves."""

    batches: Batches
    records: Records
    links: Links
    servers: Servers
    topic: DeliveryTopic
    agenda: Agenda
    limits: DeliveryLimits
    open_batch: list[int]
    """By producer x partitions + partition, -1 where none is open."""
    sent: list[int]
    """By partition: batches sent."""
    counts: list[int]
    """Free batches, free records, acknowledgements to come, first and last lingering batch, refused records."""
    now_s: list[float]


# places in ``counts``
FREE_BATCHES, FREE_RECORDS, TO_COME, OLDEST, YOUNGEST, REFUSED = range(6)
