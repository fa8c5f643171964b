"""Reads the whole state of a cluster: all brokers in parallel, each with a deadline; failures are reported per broker.

Metadata lists topics and brokers, each broker reports its log dirs and replica sizes, the controller the reassignments
in flight; offsets come from the leaders, committed offsets from the coordinators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.cluster_protocol import BrokerProblem, InFlight, Reading, ReadRequest, Reassignment
from kafkabal.clusters.config_items import ConfigResource, ConfigSource, ResourceKind
from kafkabal.clusters.kafka.configs import describe_configs
from kafkabal.clusters.kafka.error_mapping import TOPIC_AUTHORIZATION_FAILED, not_authorized
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.clusters.kafka.leader_and_group_offsets import group_offsets, leader_offsets
from kafkabal.clusters.kafka.log_dirs import describe_log_dirs
from kafkabal.clusters.kafka.metadata import topics_refused
from kafkabal.clusters.kafka.responses_to_rows import BrokerResponses, assemble
from kafkabal.errors import (
    KafkabalError,
    NotAuthorizedError,
    RefusedByClusterError,
    TemporaryRefusalError,
    UnreachableError,
)
from kafkabal.gc_pause import cycle_collection_paused
from kafkabal.model import TopicPartition
from kafkabal.wording import counted_noun

_V = TypeVar("_V")


class KafkaReader:
    """Reads one cluster once.

    Parameters
    ----------
    source
        Name of the back end.
    list_reassignments
        Lists the reassignments in flight of this kind of cluster.
    """

    def __init__(
        self,
        client: KafkaClient,
        request: ReadRequest,
        source: str,
        list_reassignments: Callable[[], Mapping[TopicPartition, Reassignment]],
    ) -> None:
        self._client = client
        self._request = request
        self._list_reassignments = list_reassignments
        self._problems: dict[int, str] = {}
        self._in_flight_problem = ""
        self._responses = BrokerResponses(source=source, taken_at=client.clock.utc_now())

    def read(self) -> Reading:
        """Read everything that was requested.

        Raises
        ------
        UnreachableError
            If no broker reports its log dirs, or no controller responds and the reassignments in flight are required.
        NotAuthorizedError
            If the principal may not describe the cluster, or a topic that brokers hold.
        """
        with cycle_collection_paused():
            return self._read()

    def _read(self) -> Reading:
        responses = self._responses
        responses.topics = self._client.metadata(None).topics
        responses.nodes = self._client.nodes()
        # all brokers in parallel, each with its own deadline: one that hangs costs only its own data
        responses.logs = self._ask_each(responses.nodes.by_id, lambda b, d: describe_log_dirs(self._client, b, d))
        self._check_any_broker_responded()
        self._check_topics()
        responses.reassignments = self._reassignments()
        if self._request.configs:
            responses.configs = self._topic_configs()
        if self._request.offsets:
            self._read_offsets()
        if self._request.group_offsets:
            found = self._ask_each(responses.logs, lambda b, d: group_offsets(self._client, b, d))
            responses.groups = {group: offsets for groups in found.values() for group, offsets in groups.items()}
        problems = tuple(BrokerProblem(broker, message) for broker, message in sorted(self._problems.items()))
        return Reading(assemble(responses), problems, self._in_flight_problem)

    def _ask_each(self, brokers: Iterable[int], task: Callable[[int, Deadline], _V]) -> dict[int, _V]:
        """The result of each broker; one that fails is recorded as a problem, and not asked again."""
        asked = [broker for broker in brokers if broker not in self._problems]
        found: dict[int, _V] = {}
        for broker, outcome in self._client.for_each(asked, task, self._request.deadline_s).items():
            if isinstance(outcome, NotAuthorizedError):
                raise outcome
            if isinstance(outcome, KafkabalError):
                self._problems[broker] = outcome.message
            else:
                found[broker] = outcome
        return found

    def _check_any_broker_responded(self) -> None:
        if self._responses.logs:
            return
        if not self._problems:
            raise UnreachableError("the cluster has no registered broker")
        broker, message = min(self._problems.items())
        raise UnreachableError(
            f"none of {counted_noun(len(self._problems), 'broker')} reported its log dirs; broker {broker}: {message}",
            hint="check that this host can reach the addresses in advertised.listeners",
        )

    def _check_topics(self) -> None:
        """Refuse a partial view: metadata omits topics that the principal may not see; the brokers' log dirs do not."""
        known = {topic.name for topic in self._responses.topics}
        strangers = {name for logs in self._responses.logs.values() for name in logs.current} - known
        if strangers:
            response = self._client.metadata(sorted(strangers))
            refused = [topic.name for topic in response.topics if topic.error_code == TOPIC_AUTHORIZATION_FAILED]
            if refused:
                raise topics_refused(refused)

    def _reassignments(self) -> Mapping[TopicPartition, Reassignment] | None:
        """Those in flight; None if they are unknown."""
        if self._request.in_flight is InFlight.OMITTED:
            return None
        try:
            return self._list_reassignments()
        except (UnreachableError, TemporaryRefusalError) as error:
            if self._request.in_flight is InFlight.REQUIRED:
                raise
            self._in_flight_problem = error.message
            return None

    def _topic_configs(self) -> dict[str, dict[str, str]]:
        """Configs set on the topics themselves."""
        resources = [ConfigResource(ResourceKind.TOPIC, topic.name) for topic in self._responses.topics]
        values, faults = describe_configs(self._client, resources, None)
        for resource, fault in faults.items():
            if fault.name == "TOPIC_AUTHORIZATION_FAILED":
                message = f"not authorized to describe the configs of {resource}"
                raise not_authorized(message, "DescribeConfigs on topic '*'")
            if fault.name != "UNKNOWN_TOPIC_OR_PARTITION":
                raise RefusedByClusterError(f"cannot describe the configs of {resource}: {fault}")
        return {
            resource.name: {k: v.value for k, v in own.items() if v.source is ConfigSource.OWN and v.value is not None}
            for resource, own in values.items()
        }

    def _read_offsets(self) -> None:
        led = self._led_partitions()
        found = self._ask_each(led, lambda b, d: leader_offsets(self._client, b, led[b], d))
        for offsets in found.values():
            self._responses.start_offsets |= offsets.start
            self._responses.end_offsets |= offsets.end
            self._responses.local_start_offsets |= offsets.local_start

    def _led_partitions(self) -> Mapping[int, list[TopicPartition]]:
        """Partitions of each broker that leads some and responds."""
        led: dict[int, list[TopicPartition]] = {broker: [] for broker in self._responses.logs}
        for topic in self._responses.topics:
            for p in topic.partitions:
                if p.leader_id in led:
                    led[p.leader_id].append(TopicPartition(topic.name, p.partition_index))
        return {broker: partitions for broker, partitions in led.items() if partitions}
