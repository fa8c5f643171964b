"""Files of topics to create."""

from pathlib import Path

import pytest

from kafkabal.config.topic_specs import TopicSpec
from kafkabal.config.topics_file import read_topics
from kafkabal.errors import InputFileError

TRAINING = {"compression.type": "lz4", "max.message.bytes": "10485760", "retention.ms": "604800000"}


def test_a_file_of_topics_is_read_in_its_order(tmp_path: Path) -> None:
    """Every key, and values that YAML would not read as text."""
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
        ("", None, "is empty"),
        ("topics: {a: 1}", 1, "expected a list of topics"),
        ("- name: a", 1, "expected a list of topics"),
        ("topics", 1, "expected a list of topics"),
        ("topic: []", 1, "unknown key in a file of topics: 'topic'"),
        ("topics: []", 1, "the list of topics is empty"),
        ("topics:\n- name: a\n  partitions: 1000000000", 2, "partitions: 1,000,000,000 exceeds the limit of 100,000"),
        ("topics:\n- partitions: 1", 2, "topic without a name"),
        ("topics:\n- name: a\n  partition: 1", 3, "unknown key in a topic: 'partition'"),
        ("topics:\n- name: a\n  partitions: x", 3, "not a whole number: 'x'"),
        ("topics:\n- name: a\n  partitions:", 3, "empty value"),
        ("topics:\n- name: a\n  configs: {retention.ms: null}", 3, "empty value"),
        ("topics:\n- name: a\n- name: b b", 3, "invalid topic name: 'b b'"),
        ("topics:\n- name: a\n\n- name: a", 4, "duplicate topic: a"),
        ("topics:\n- name: a\n  preset: x", 2, "unknown preset: 'x'"),
        ("topics:\n- name: a\n  partition_bytes: 3 apples", 3, "invalid size: '3 apples'"),
    ],
)
def test_a_wrong_file_of_topics_is_named_by_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    """The error has the line of the mistake, and the reason."""
    path = tmp_path / "topics.yaml"
    path.write_text(text)
    with pytest.raises(InputFileError, match=message) as error:
        read_topics(path)
    assert error.value.line == line
