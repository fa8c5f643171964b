"""Topics to create, and how existing ones differ."""

import pytest

from kafkabal.config.topic_specs import PRESETS, TopicSpec, differences, topic_spec
from kafkabal.errors import UsageError
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.testing import cluster_builders

TRAINING = {"compression.type": "lz4", "max.message.bytes": "10485760", "retention.ms": "604800000"}


def test_the_training_preset_sets_the_configs_for_training_data() -> None:
    """10 partitions, three replicas, lz4, a week of retention, 10 MiB messages."""
    assert topic_spec("t", preset="training") == TopicSpec(
        name="t", partitions=10, replication_factor=3, configs=TRAINING
    )
    assert list(PRESETS) == ["training"]


def test_given_configs_override_the_preset() -> None:
    """Numbers and single configs can be overridden, the others stay."""
    spec = topic_spec("t", preset="training", partitions=4, configs={"retention.ms": "1", "cleanup.policy": "compact"})
    assert (spec.partitions, spec.replication_factor) == (4, 3)
    assert spec.configs == {**TRAINING, "retention.ms": "1", "cleanup.policy": "compact"}


@pytest.mark.parametrize("name", ["a", "A-b_c.9", "x" * 249, "..."])
def test_names_that_kafka_takes(name: str) -> None:
    """Letters, digits, dots, underscores and dashes."""
    assert topic_spec(name).name == name


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "caf\xe9", "a/b", "x" * 250, "a\n"])
def test_names_that_kafka_refuses(name: str) -> None:
    """They are refused before Kafka sees them, with the rule."""
    with pytest.raises(UsageError, match="invalid topic name") as error:
        topic_spec(name)
    assert "249" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"preset": "trainig"}, "unknown preset: 'trainig'"),
        ({"partitions": 0}, "partitions must be above 0 \\(given 0\\)"),
        ({"partitions": 100_001}, "topic t: partitions: 100,001 exceeds the limit of 100,000"),
        ({"replication_factor": -1}, "replication factor must be above 0 \\(given -1\\)"),
    ],
)
def test_bad_values_are_refused(given: dict, message: str) -> None:
    """An unknown preset suggests the existing ones."""
    with pytest.raises(UsageError, match=message):
        topic_spec("t", **given)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (topic_spec("t"), []),
        (topic_spec("t", partitions=2, replication_factor=2, configs={"a": "1"}), []),
        (topic_spec("t", partitions=3), ["t: partitions is 2, expected 3"]),
        (topic_spec("t", replication_factor=3), ["t: replication_factor is 2, expected 3"]),
        (topic_spec("t", configs={"b": "2", "a": "9"}), ["t: a is 1, expected 9", "t: b is not set, expected 2"]),
        (topic_spec("u", replication_factor=2, configs={"a": "1"}), ["u: replication_factor is 1 and 2, expected 2"]),
    ],
)
def test_an_existing_topic_is_compared_with_its_specification(spec: TopicSpec, expected: list[str]) -> None:
    """Only requested settings are compared, and configs only if they were read."""
    rows = [
        TopicRow(topic="t", partitions=[cluster_builders.partition(i, [1, 2]) for i in range(2)], configs={"a": "1"}),
        cluster_builders.topic("u", [1], [1, 2]),
    ]
    assert [str(d) for d in differences(spec, cluster_builders.cluster(cluster_builders.brokers(2), rows))] == expected


class _CountedName(str):
    """A topic's name that counts how often it is compared."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        type(self).comparisons += 1
        return str.__eq__(self, other)

    def __gt__(self, other: str) -> bool:
        type(self).comparisons += 1
        return str.__gt__(self, other)

    __hash__ = str.__hash__


def test_an_existing_topic_is_found_without_a_search_of_all() -> None:
    """Its name is compared with a dozen of 1000 names: thousands of existing topics must not take minutes."""
    rows = [cluster_builders.topic(f"t{n:04}", [1]) for n in range(1000)]
    cluster = cluster_builders.cluster(cluster_builders.brokers(1), rows)
    spec = topic_spec("t0900", partitions=2)
    object.__setattr__(spec, "name", _CountedName("t0900"))
    assert [str(d) for d in differences(spec, cluster)] == ["t0900: partitions is 1, expected 2"]
    assert _CountedName.comparisons < 20
