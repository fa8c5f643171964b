"""Specifications of topics to create, presets, and how an existing topic differs from its specification."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kafkabal.errors import UsageError
from kafkabal.model import COMPRESSION_TYPE, MAX_MESSAGE_BYTES, RETENTION_MS
from kafkabal.wording import choice_hint

if TYPE_CHECKING:  # describing a topic does not need numpy
    from kafkabal.model import ClusterState

MOST_PARTITIONS: Final = 100_000
"""Per topic; a whole cluster supports some millions of replicas, and all requested ones are placed in memory."""

_LONGEST_NAME = 249
"""Kafka's limit: the folder name, with the partition number, must fit into 255 bytes."""
_NAME = re.compile(rf"[A-Za-z0-9._-]{{1,{_LONGEST_NAME}}}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """A topic as requested."""

    name: str
    partitions: int | None = None
    """None lets the placement decide."""
    replication_factor: int | None = None
    configs: Mapping[str, str] = field(default_factory=dict)
    partition_bytes: int | None = None
    """Expected size of a partition; None for the mean of the cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Values for one kind of topic; a user may override each."""

    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "training": Preset(
            partitions=10,
            replication_factor=3,
            configs=MappingProxyType(
                {COMPRESSION_TYPE: "lz4", MAX_MESSAGE_BYTES: "10485760", RETENTION_MS: str(168 * 3600 * 1000)}
            ),
        )
    }
)


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between an existing topic and its specification."""

    topic: str
    key: str
    """``partitions``, ``replication_factor`` or the key of a config."""
    expected: str
    found: str | None
    """None if the config is not set on the topic."""

    def __str__(self) -> str:
        found = "is not set" if self.found is None else f"is {self.found}"
        return f"{self.topic}: {self.key} {found}, expected {self.expected}"


def is_topic_name(name: object) -> bool:
    """Whether Kafka allows this name."""
    return isinstance(name, str) and bool(_NAME.fullmatch(name)) and name not in (".", "..")


def parse_topic(text: str) -> str:
    """Read the name of a topic.

    Raises
    ------
    UsageError
        If Kafka would refuse the name.
    """
    if not is_topic_name(text):
        raise UsageError(
            f"invalid topic name: {text!r:.{_LONGEST_NAME + 2}}",
            hint=f"up to {_LONGEST_NAME} letters, digits, dots, underscores and dashes",
        )
    return text


def topic_spec(
    name: str,
    *,
    preset: str | None = None,
    partitions: int | None = None,
    replication_factor: int | None = None,
    configs: Mapping[str, str] | None = None,
    partition_bytes: int | None = None,
) -> TopicSpec:
    """Describe a topic; explicit values take precedence over the preset's.

    Raises
    ------
    UsageError
        If Kafka would refuse the name, the preset is unknown, or a number is not above 0 or too large.
    """
    parse_topic(name)
    base = _preset(preset) if preset is not None else None
    for what, number in (("partitions", partitions), ("replication factor", replication_factor)):
        if number is not None and number < 1:
            raise UsageError(f"topic {name}: {what} must be above 0 (given {number})")
    if partitions is not None and partitions > MOST_PARTITIONS:
        raise UsageError(f"topic {name}: partitions: {partitions:,} exceeds the limit of {MOST_PARTITIONS:,}")
    return TopicSpec(
        name=name,
        partitions=partitions or (base.partitions if base else None),
        replication_factor=replication_factor or (base.replication_factor if base else None),
        configs={**(base.configs if base else {}), **(configs or {})},
        partition_bytes=partition_bytes,
    )


def differences(spec: TopicSpec, state: ClusterState) -> tuple[Difference, ...]:
    """How an existing topic differs from its specification; configs are compared only if they were read.

    Parameters
    ----------
    spec
        Of a topic that ``state`` has.
    """
    row = state.topics.index_of(spec.name)
    own = state.partitions.rows_of(row)
    # only these: replication factors of all partitions, for each of 10,000 topics, would take a quarter of a minute
    replicas = state.partitions.first[own.start : own.stop + 1].tolist()
    factors = sorted({after - before for before, after in pairwise(replicas)})
    found: list[tuple[str, str, str | None]] = []
    if spec.partitions is not None and spec.partitions != own.stop - own.start:
        found.append(("partitions", str(spec.partitions), str(own.stop - own.start)))
    if spec.replication_factor is not None and factors != [spec.replication_factor]:
        found.append(("replication_factor", str(spec.replication_factor), " and ".join(map(str, factors))))
    there = state.topics.configs[row]
    if there is not None:
        found.extend((k, v, there.get(k)) for k, v in sorted(spec.configs.items()) if there.get(k) != v)
    return tuple(Difference(spec.name, key, expected, is_now) for key, expected, is_now in found)


def _preset(name: str) -> Preset:
    found = PRESETS.get(name)
    if found is None:
        raise UsageError(f"unknown preset: {name!r}", hint=choice_hint(name, PRESETS))
    return found
