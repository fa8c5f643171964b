"""No request has more array elements than brokers accept, however large the cluster (Kafka 4.4: 1,000,000)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kafkabal.clusters.clock import Deadline, SystemClock
from kafkabal.clusters.cluster_protocol import NewTopic, ReplicaOn
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ResourceKind
from kafkabal.clusters.kafka.configs import alter_configs, describe_configs
from kafkabal.clusters.kafka.create_topics import create_topics
from kafkabal.clusters.kafka.elections import elect_preferred_leaders
from kafkabal.clusters.kafka.leader_and_group_offsets import leader_offsets, share_group_offsets
from kafkabal.clusters.kafka.log_dirs import move_log_dirs, replica_logs
from kafkabal.clusters.kafka.metadata import partition_status
from kafkabal.clusters.kafka.reassignments import alter_reassignments
from kafkabal.errors import NotAuthorizedError
from kafkabal.model.topic_partition import TopicPartition

_MOST_ELEMENTS = 1_000_000
_LARGE = 120_000
_BEYOND = 1_100_000


class _Answer:
    """A response without errors and without items, for any request."""

    def __getattr__(self, name: str) -> Any:
        return 0 if name.endswith("code") else [] if name.endswith("s") else None


class _CountingClient:
    """Counts the array elements of every request, and reports success."""

    clock = SystemClock()
    broker_timeout_ms = 1000
    settings = SimpleNamespace(bootstrap_controllers=())

    def __init__(self) -> None:
        self.most = 0
        self.requests = 0

    def supports(self, *_: Any) -> bool:
        return True

    def deadline(self) -> Any:
        return Deadline(60.0, self.clock)

    deadline_of_brokers = deadline

    def call_controller(self, request: Any, *_: Any, **__: Any) -> Any:
        return self._count(request)

    def call_broker(self, _: int, request: Any, *__: Any) -> Any:
        return self._count(request)

    def call_any(self, request: Any, *_: Any) -> Any:
        return self._count(request)

    def metadata(self, names: Iterable[str], *_: Any) -> Any:
        self.most = max(self.most, len(list(names)))
        self.requests += 1
        return _Answer()

    def for_each(self, brokers: Iterable[int], ask: Callable[[int, Any], Any]) -> Mapping[int, Any]:
        answers = {}
        for broker in brokers:
            try:
                answers[broker] = ask(broker, self.deadline())
            except Exception as error:  # noqa: BLE001 - an answer without dirs is refused, once it was counted
                answers[broker] = error
        return answers

    def _count(self, request: Any) -> Any:
        self.most = max(self.most, _elements(request))
        self.requests += 1
        return _Answer()


def _elements(value: Any) -> int:
    """Number of array elements in a request, including nested ones."""
    if isinstance(value, list | tuple):
        return len(value) + (0 if value and isinstance(value[0], int | str) else sum(map(_elements, value)))
    fields = getattr(value, "_fields", None) or getattr(type(value), "_struct", None)
    names = [getattr(field, "name", field) for field in getattr(fields, "fields", fields or ())]
    held = vars(value) if hasattr(value, "__dict__") else {name: getattr(value, name, None) for name in names}
    return sum(_elements(v) for v in held.values() if isinstance(v, list | tuple))


def _names(number: int) -> list[TopicPartition]:
    return [TopicPartition(f"t{n // 10_000}", n % 10_000) for n in range(number)]


def _alter(client: Any) -> None:
    alter_reassignments(client, dict.fromkeys(_names(_LARGE), (1, 2, 3)), allow_replication_factor_change=True)


def _move(client: Any) -> None:
    move_log_dirs(client, {ReplicaOn(*name, 1): "/d" for name in _names(_LARGE)})


def _configs(client: Any) -> None:
    entries = ",".join(f"{n}:1" for n in range(1000))
    topics = [ConfigResource(ResourceKind.TOPIC, f"t{n}") for n in range(2000)]
    with pytest.raises(KeyError):  # the empty answer names no topic
        alter_configs(client, [ConfigChange(topic, "a", entries) for topic in topics])


def _read_configs(client: Any) -> None:
    with pytest.raises(KeyError):
        describe_configs(client, [ConfigResource(ResourceKind.TOPIC, f"t{n}") for n in range(2000)], ["a", "b"])


def _read_replicas(client: Any) -> None:
    with pytest.raises(NotAuthorizedError):  # as an empty answer is taken
        replica_logs(client, [1], _names(_BEYOND))


@pytest.mark.parametrize(
    "call",
    [
        _alter,
        _move,
        _configs,
        _read_configs,
        lambda client: elect_preferred_leaders(client, _names(_LARGE)),
        lambda client: leader_offsets(client, 1, _names(_LARGE), client.deadline()),
        lambda client: partition_status(client, [f"t{n}" for n in range(_LARGE)]),
        lambda client: create_topics(
            client, [NewTopic(name=f"t{n}", assignment=((1, 2, 3),) * 100) for n in range(1000)], validate_only=False
        ),
        _read_replicas,
        lambda client: share_group_offsets(client, 1, [f"g{n}" for n in range(_LARGE)], client.deadline()),
    ],
    ids=["reassign", "log dirs", "alter", "describe", "elect", "offsets", "metadata", "create", "replicas", "share"],
)
def test_no_request_is_too_large(call: Callable[[Any], None]) -> None:
    """Requests about hundreds of thousands of partitions are split into accepted ones."""
    client = _CountingClient()
    call(client)
    assert client.requests > 0
    assert client.most < _MOST_ELEMENTS


def test_elements_are_counted() -> None:
    """The count includes nested elements."""
    client = _CountingClient()
    alter_reassignments(client, dict.fromkeys(_names(100), (1, 2, 3)), allow_replication_factor_change=True)
    assert client.most >= 400


class _CountedNames(list[TopicPartition]):
    """Partitions that count how often the code goes through all of them."""

    passes = 0

    def __iter__(self) -> Iterator[TopicPartition]:
        self.passes += 1
        return super().__iter__()


def test_partitions_are_grouped_once_for_all_brokers() -> None:
    """However many brokers are asked for the same partitions, their names are sorted into topics once."""
    passes = []
    for brokers in (range(1), range(50)):
        names = _CountedNames(_names(10))
        with pytest.raises(NotAuthorizedError):  # as an empty answer is taken
            replica_logs(_CountingClient(), brokers, names)  # type: ignore[arg-type]
        passes.append(names.passes)
    assert passes[0] == passes[1]
