"""The replicas that a topic is read from: finds them, returns their offsets, and retries requests while they change.

After an error, leaders are looked up again, and the topic's id with them: it may have been deleted and re-created.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar
from uuid import UUID

from kafkabal.chunks import chunked
from kafkabal.clusters.clock import Clock
from kafkabal.clusters.kafka.error_mapping import check
from kafkabal.clusters.kafka.kafka_client import KafkaClient, pauses
from kafkabal.clusters.kafka.leader_and_group_offsets import (
    EARLIEST,
    LATEST,
    PARTITIONS_A_REQUEST,
    leader_offsets,
    offsets_request,
)
from kafkabal.clusters.kafka.metadata import describe_topic
from kafkabal.errors import DriftError, KafkabalError, NoResponseError, NotAuthorizedError, UnreachableError
from kafkabal.model import TopicPartition
from kafkabal.units import format_duration

T = TypeVar("T")

READ_COMMITTED: Final = 1
"""Isolation level."""
_RACK_REFRESH_S = 300.0
"""How long a reader with a rack uses the same replicas, like metadata.max.age.ms of Kafka's clients: one in its rack
may be in sync again, which no error reveals."""
_TIMEOUT_S = 60.0
"""How long an outage may last: a dead leader is replaced within half a minute (broker session 9 to 18 s); a training
run should wait rather than fail."""
_FIRST_BYTE_S = 10.0
"""How long a broker may take for the first byte of a response, before the leader is looked up again and the wait is
warned of: a healthy one waits for half a second, and one that hangs has lost its leaderships after 9 s (the default of
broker.session.timeout.ms). A slow one gets twice the time at the next attempt."""


@dataclass(frozen=True, slots=True)
class Replica:
    """The broker that a partition is read from."""

    broker: int
    leader: int


@dataclass(slots=True)
class ReplicaLocations:
    """Where the partitions of a topic are read from, as one of several fetchers last looked up.

    Shared, since a broker that hangs is noticed only after a timeout of half a minute: otherwise every fetcher would
    wait for it in turn, though the first one has found the next leader.
    """

    replicas: dict[int, Replica] = field(default_factory=dict)
    """By partition; empty after an error."""
    topic_id: UUID | None = None
    since_s: float = math.inf
    """When they were looked up, by the clock of the fetchers."""


class Silence:
    """How long the brokers have sent no records, and whether that is too long.

    An attempt counts no longer than a request may take: what exceeds that is time for which this process or the machine
    was suspended, as by a scheduler, a debugger or a laptop's lid, and no response could arrive.
    """

    def __init__(self, clock: Clock, attempt_s: float) -> None:
        self._clock = clock
        self._attempt_s = attempt_s
        self._lasted_s = 0.0
        self._is_warned = False

    def attempt(self, ask: Callable[[], T]) -> T:
        """The result of ``ask``, whose time counts."""
        began_s = self._clock.monotonic()
        try:
            return ask()
        finally:
            took_s = self._clock.monotonic() - began_s
            self._lasted_s += min(took_s, self._attempt_s)
            self._is_warned |= took_s > self._attempt_s + _FIRST_BYTE_S  # suspended: not to be blamed on brokers

    def pause(self, seconds: float) -> None:
        """Wait."""
        self._clock.sleep(seconds)
        self._lasted_s += seconds

    @property
    def remaining_s(self) -> float:
        """Seconds until it is too long, never negative."""
        return max(0.0, _TIMEOUT_S - self._lasted_s)

    def warn(self, topic: str, error: KafkabalError) -> None:
        """Warn once, if it is long enough for a user to wonder."""
        if self._lasted_s >= _FIRST_BYTE_S and not self._is_warned:
            self._is_warned = True
            rest = format_duration(round(self.remaining_s))
            warnings.warn(f"topic {topic}: {error.message}; retrying for up to {rest}", stacklevel=2)


class ResponseTimeout:
    """How long a broker may take for the first byte of a response: more, after it has not responded."""

    def __init__(self, most_s: float) -> None:
        self.first_byte_s = _FIRST_BYTE_S
        self._most_s = most_s

    def ask(self, ask: Callable[[], T]) -> T:
        """The result of ``ask``; the next request may take longer if this one does not respond."""
        try:
            found = ask()
        except NoResponseError:
            self.first_byte_s = min(2 * self.first_byte_s, self._most_s)
            raise
        self.first_byte_s = _FIRST_BYTE_S
        return found


class TopicReplicas:
    """The replicas of one topic; see :class:`~kafkabal.clusters.kafka.range_fetcher.RangeFetcher` for its parameters.

    Parameters
    ----------
    request_timeout_s
        How long a request may take in all.
    """

    def __init__(
        self,
        client: KafkaClient,
        topic: str,
        topic_id: str,
        *,
        rack: str | None,
        located: ReplicaLocations,
        on_located: Callable[[Mapping[int, int], Mapping[int, str | None]], None],
        is_pinned: bool,
        clock: Clock,
        request_timeout_s: float,
    ) -> None:
        self._client = client
        self._topic = topic
        self._topic_id = topic_id
        self._rack = rack
        self._located = located
        self._on_located = on_located
        self._is_pinned = is_pinned
        self._clock = clock
        self._request_timeout_s = request_timeout_s
        self._response_timeout = ResponseTimeout(request_timeout_s)

    @property
    def topic_id(self) -> UUID | None:
        """As brokers have reported it, for requests to them."""
        return self._located.topic_id

    def racks(self) -> Mapping[int, str | None]:
        """Rack of every broker, by its id."""
        return {broker: node.rack for broker, node in self._client.nodes().by_id.items()}

    def silence(self) -> Silence:
        """How long there has been no data, from now on."""
        return Silence(self._clock, self._request_timeout_s)

    def retried(self, ask: Callable[[], T], silence: Silence) -> T:
        """The result of ``ask``, retried while brokers are down or leaders change."""
        for pause_s in pauses():
            try:
                return silence.attempt(ask)
            except (DriftError, NotAuthorizedError):
                raise
            except KafkabalError as error:
                if silence.remaining_s < pause_s:
                    raise UnreachableError(
                        f"cannot read topic {self._topic}: {error.message}",
                        hint=error.hint or "check the brokers with 'kafkabal inspect'",
                    ) from error
                silence.warn(self._topic, error)
            silence.pause(pause_s)
            self._located.replicas = {}
        raise AssertionError  # the pauses never end

    def replica(self, partition: int) -> Replica:
        """Where a partition is read from; looked up again after an error, and in time if a rack is preferred."""
        if self._rack is not None and self._clock.monotonic() - self._located.since_s > _RACK_REFRESH_S:
            self._locate()
        known = self._located.replicas.get(partition) or self._locate().get(partition)
        if known is None and self._is_pinned:  # a topic never loses partitions
            raise DriftError(
                f"topic {self._topic} has no partition {partition}, which the manifest lists",
                hint="pin it again: remove the manifest and the state",
            )
        if known is None:
            raise UnreachableError(f"no broker knows {self._topic}-{partition}")
        return known

    def read_from_leader(self, partition: int, leader: int) -> None:
        """Read a partition from its leader until replicas are looked up again: another one may lag behind the end that
        the leader reported."""
        self._located.replicas[partition] = Replica(leader, leader)

    def ranges(self) -> dict[int, tuple[int, int]]:
        """First offset and last stable offset of every partition.

        Raises
        ------
        UnreachableError
            If a leader does not respond within a minute.
        DriftError
            If it is no longer the same topic.
        """
        silence = self.silence()
        partitions = sorted(self.retried(self._locate, silence))
        found: dict[int, tuple[int, int]] = {}

        def ask() -> None:
            for leader, led in self._by_leader([p for p in partitions if p not in found]).items():
                for some in chunked(led, PARTITIONS_A_REQUEST):
                    found.update(self._ranges(leader, some))

        self.retried(ask, silence)
        return {p: found[p] for p in partitions}

    def local_starts(self) -> dict[int, int]:
        """First offset on the disk of each partition's leader: earlier records are only in remote storage (KIP-405).

        Partitions are missing if their leaders do not report it, as those before Kafka 3.4.

        Raises
        ------
        UnreachableError
            If a leader does not respond within a minute.
        """
        found: dict[int, int] = {}

        def ask() -> None:
            for leader, led in self._by_leader(sorted(self._locate())).items():
                keys = [TopicPartition(self._topic, p) for p in led]
                local = leader_offsets(self._client, leader, keys, self._client.deadline()).local_start
                found.update({key.partition: offset for key, offset in local.items()})

        self.retried(ask, self.silence())
        return found

    def refuse_out_of_range(self, partition: int, at: int, leader: int) -> None:
        """Raise a DriftError if the log does not have an offset, or does not have it any more."""
        first, end = self._ranges(leader, [partition])[partition]
        if at < first:
            again = "pin it again" if self._is_pinned else "start again"
            raise DriftError(
                f"{self._topic}-{partition}: offset {at} was deleted by retention (the log begins at {first})",
                hint=f"raise retention.ms of the topic, or {again} to read what is left",
            )
        if at > end:
            raise self._beyond_end(partition, at, end)

    def refuse_end(self, partition: int, at: int) -> None:
        """Raise a DriftError if the log ends at an offset that is to be read."""
        _, end = self._ranges(self.replica(partition).leader, [partition])[partition]
        if end <= at:
            raise self._beyond_end(partition, at, end)

    def _by_leader(self, partitions: Sequence[int]) -> Mapping[int, list[int]]:
        led: dict[int, list[int]] = {}
        for partition in partitions:
            led.setdefault(self.replica(partition).leader, []).append(partition)
        return led

    def _ranges(self, leader: int, partitions: Sequence[int]) -> dict[int, tuple[int, int]]:
        first, end = (self._offsets(leader, partitions, timestamp) for timestamp in (EARLIEST, LATEST))
        return {p: (first[p], end[p]) for p in partitions}

    def _offsets(self, leader: int, partitions: Sequence[int], timestamp: int) -> dict[int, int]:
        request = offsets_request(
            [(self._topic, [(p, timestamp) for p in partitions])],
            isolation_level=READ_COMMITTED,
            timeout_ms=self._client.broker_timeout_ms,
        )
        offsets = {}
        deadline = self._client.deadline(self._response_timeout.first_byte_s)
        response = self._response_timeout.ask(partial(self._client.call_broker, leader, request, deadline))
        for found in response.topics[0].partitions:
            check(found.error_code, f"ask for the offsets of {self._topic}-{found.partition_index}")
            offsets[found.partition_index] = found.offset
        return offsets

    def _beyond_end(self, partition: int, at: int, end: int) -> DriftError:
        damaged = ", or the manifest is damaged" if self._is_pinned else ""
        return DriftError(
            f"{self._topic}-{partition}: offset {at} does not exist (the log ends at {end})",
            hint=f"the cluster has lost records, as after an unclean leader election{damaged}",
        )

    def _locate(self) -> Mapping[int, Replica]:
        """Look up the topic's id and the location of its replicas."""
        described = describe_topic(self._client, self._topic, self._client.deadline())
        when = "since it was pinned" if self._is_pinned else "while it was read"
        if described is None:
            raise DriftError(f"topic {self._topic} has been deleted {when}")
        if described.topic_id != self._topic_id:
            again = "pin it again: remove the manifest and the state" if self._is_pinned else "start again to read it"
            raise DriftError(
                f"topic {self._topic} has been deleted and created again {when} "
                f"(its id was {self._topic_id} and is {described.topic_id})",
                hint=again,
            )
        topic = self._client.metadata([self._topic]).topics[0]
        self._located.topic_id = topic.topic_id
        racks = self.racks()
        replicas = {}
        for p in topic.partitions:
            if p.leader_id < 0:
                check(p.error_code, f"find the leader of {self._topic}-{p.partition_index}")
            near = [b for b in p.isr_nodes if self._rack is not None and racks.get(b) == self._rack]
            chosen = p.leader_id if not near or p.leader_id in near else near[p.partition_index % len(near)]
            replicas[p.partition_index] = Replica(chosen, p.leader_id)
        self._located.replicas, self._located.since_s = replicas, self._clock.monotonic()
        self._on_located({partition: replica.broker for partition, replica in replicas.items()}, racks)
        return replicas
