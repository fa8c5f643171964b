"""Reads a ``topics.yaml``: a list of topics to create."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from kafkabal.config import value_parsers
from kafkabal.config.topic_specs import TopicSpec, topic_spec
from kafkabal.config.yaml_document import YamlNode, read_filled_yaml
from kafkabal.errors import InputFileError, UsageError

T = TypeVar("T")

_KEYS = ("name", "preset", "partitions", "replication_factor", "configs", "partition_bytes")


def read_topics(path: Path) -> tuple[TopicSpec, ...]:
    """Read a ``topics.yaml``, in file order.

    Raises
    ------
    InputFileError
        If it cannot be read, is empty or malformed, has no topic, an unknown key or a duplicate topic; the message
        names the line.
    """
    root = read_filled_yaml(path)
    is_mapping = isinstance(root.content, Mapping)
    entries = value_parsers.check_keys(root, ("topics",), "a file of topics") if is_mapping else {}
    listed = entries.get("topics", root)
    if listed is root or not isinstance(listed.content, tuple):
        raise listed.error("expected a list of topics, as in  topics: [{name: a, partitions: 3}]")
    if not listed.content:
        raise listed.error("the list of topics is empty")
    specs: dict[str, TopicSpec] = {}
    for entry in listed.content:
        spec = _read_entry(entry)
        if spec.name in specs:
            raise entry.error(f"duplicate topic: {spec.name}")
        specs[spec.name] = spec
    return tuple(specs.values())


def _read_entry(entry: YamlNode) -> TopicSpec:
    given = value_parsers.check_keys(entry, _KEYS, "a topic")
    if "name" not in given:
        raise entry.error("topic without a name")

    def read(key: str, reader: Callable[[YamlNode], T]) -> T | None:
        return reader(given[key]) if key in given else None

    try:
        return topic_spec(
            value_parsers.text(given["name"]),
            preset=read("preset", value_parsers.text),
            partitions=read("partitions", value_parsers.whole_number),
            replication_factor=read("replication_factor", value_parsers.whole_number),
            configs={
                key: value_parsers.text(node) for key, node in (read("configs", value_parsers.mapping) or {}).items()
            },
            partition_bytes=read("partition_bytes", value_parsers.size),
        )
    except InputFileError:
        raise
    except UsageError as error:
        raise entry.error(error.message, hint=error.hint) from None
