"""Topics that are to be created, and how existing ones differ."""

from pathlib import Path

import pytest

from kafkabal.config.topics_file import PRESETS, TopicSpec, differences, read_topics, topic_spec
from kafkabal.errors import InputFileError, UsageError
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.testing import cluster_builders

TRAINING = {"compression.type": "lz4", "max.message.bytes": "10485760", "retention.ms": "604800000"}


def test_the_training_preset_is_what_training_data_needs() -> None:
    """10 partitions, three replicas, lz4, a week of retention, 10 MiB messages."""
    assert topic_spec("t", preset="training") == TopicSpec(
        name="t", partitions=10, replication_factor=3, configs=TRAINING
    )
    assert list(PRESETS) == ["training"]


def test_what_is_given_comes_before_the_preset() -> None:
    """Numbers and single configs are overridden, the others stay."""
    spec = topic_spec("t", preset="training", partitions=4, configs={"retention.ms": "1", "cleanup.policy": "compact"})
    assert (spec.partitions, spec.replication_factor) == (4, 3)
    assert spec.configs == {**TRAINING, "retention.ms": "1", "cleanup.policy": "compact"}


@pytest.mark.parametrize("name", ["a", "A-b_c.9", "x" * 249, "..."])
def test_names_that_kafka_takes(name: str) -> None:
    """Letters, digits, dots, underscores and dashes."""
    assert topic_spec(name).name == name


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "caf\xe9", "a/b", "x" * 250, "a\n"])
def test_names_that_kafka_refuses(name: str) -> None:
    """They are refused here already, with the rule."""
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
    """An unknown preset is answered with those that exist."""
    with pytest.raises(UsageError, match=message):
        topic_spec("t", **given)


def test_a_file_of_topics_is_read_in_its_order(tmp_path: Path) -> None:
    """Every key, and values that YAML would take for something else than text."""
    path = tmp_path / "topics.yaml"
    path.write_text(
        "topics:\n"
        "  - {name: b, preset: training, partitions: 20}\n"
        "  - name: 'on'\n"
        "    partitions: 3\n"
        "    replication_factor: 2\n"
        "    partition_bytes: 10GiB\n"
        "    configs:\n"
        "      retention.ms: 604800000\n"
        "      preallocate: no\n"
    )
    assert read_topics(path) == (
        TopicSpec(name="b", partitions=20, replication_factor=3, configs=TRAINING),
        TopicSpec(
            name="on",
            partitions=3,
            replication_factor=2,
            partition_bytes=10 * 2**30,
            configs={"retention.ms": "604800000", "preallocate": "no"},
        ),
    )


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "expected a list of topics"),
        ("topics: {a: 1}", 1, "expected a list of topics"),
        ("- name: a", 1, "expected a mapping"),
        ("topic: []", 1, "unknown key in a file of topics: 'topic'"),
        ("topics: []", 1, "the list of topics is empty"),
        ("topics:\n- name: a\n  partitions: 1000000000", 2, "partitions: 1,000,000,000 exceeds the limit of 100,000"),
        ("topics:\n- partitions: 1", 2, "topic without a name"),
        ("topics:\n- name: a\n  partition: 1", 3, "unknown key in a topic: 'partition'"),
        ("topics:\n- name: a\n  partitions: x", 3, "not a whole number: 'x'"),
        ("topics:\n- name: a\n- name: b b", 3, "invalid topic name: 'b b'"),
        ("topics:\n- name: a\n\n- name: a", 4, "duplicate topic: a"),
        ("topics:\n- name: a\n  preset: x", 2, "unknown preset: 'x'"),
        ("topics:\n- name: a\n  partition_bytes: 3 apples", 3, "invalid size: '3 apples'"),
    ],
)
def test_a_wrong_file_of_topics_is_named_by_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    """File, line and reason."""
    path = tmp_path / "topics.yaml"
    path.write_text(text)
    with pytest.raises(InputFileError, match=message) as error:
        read_topics(path)
    assert error.value.line == line


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
def test_an_existing_topic_is_compared_with_what_is_wanted(spec: TopicSpec, expected: list[str]) -> None:
    """Only what was asked for is compared, and configs only where they were read."""
    rows = [
        TopicRow(topic="t", partitions=[cluster_builders.partition(i, [1, 2]) for i in range(2)], configs={"a": "1"}),
        cluster_builders.topic("u", [1], [1, 2]),
    ]
    assert [str(d) for d in differences(spec, cluster_builders.cluster(cluster_builders.brokers(2), rows))] == expected
