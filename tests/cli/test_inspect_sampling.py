"""``kafkabal inspect --sample``: what is read twice, and what may be refused."""

from __future__ import annotations

import io
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.cli.commands.inspect_sampling import reading_with_rates
from kafkabal.cli.framework.cluster_access import read_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.clusters import Capability, Reading, ReadRequest
from kafkabal.clusters.cluster_protocol import BrokerProblem
from kafkabal.config import Settings
from kafkabal.errors import NotAuthorizedError
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.testing.cluster_builders import brokers, cluster, partition, topic


def test_sampling_works_without_access_to_consumer_groups() -> None:
    """What producers write is measured all the same, and a warning says what is not; other refusals are errors."""
    state = cluster(brokers(1), [topic("t", [1])])
    asked: list[bool] = []
    err = io.StringIO()

    def read(request: ReadRequest) -> Reading:
        asked.append(request.group_offsets)
        if request.group_offsets:
            raise NotAuthorizedError("cannot read the committed offsets of group g")
        return Reading(state, ())

    context = CommandContext(stderr=err, sleep=lambda _: None)
    group_reader: Any = SimpleNamespace(capabilities={Capability.GROUP_OFFSETS})
    reading_with_rates(read, group_reader, context, sample_s=1.0, detailed=False)
    assert asked == [True, False, False]
    assert "of group g; what consumers read is unknown" in err.getvalue()

    def refuse(_: ReadRequest) -> Reading:
        raise NotAuthorizedError("cannot describe the cluster")

    with pytest.raises(NotAuthorizedError, match="describe the cluster"):
        reading_with_rates(refuse, group_reader, context, sample_s=1.0, detailed=False)


def test_rates_are_per_second_of_the_time_between_the_readings() -> None:
    """600 records of 1 kB in five seconds are 120 kB/s, whatever the clock showed at the first reading."""
    log = replace(partition(0, [1], size_bytes=1_000_000), start_offset=0)
    states = [
        cluster(brokers(1), [TopicRow(topic="t", partitions=[replace(log, end_offset=end)])]) for end in (400, 1_000)
    ]
    readings = iter([Reading(state, ()) for state in states])
    seconds = count(1_000, 5)
    context = CommandContext(stderr=io.StringIO(), sleep=lambda _: None, monotonic=lambda: float(next(seconds)))
    no_groups: Any = SimpleNamespace(capabilities=frozenset())

    sampled = reading_with_rates(lambda _: next(readings), no_groups, context, sample_s=5.0, detailed=False)
    assert sampled.state.partitions.in_bytes_per_s.tolist() == [120_000]


def test_what_two_readings_miss_is_said_once(tmp_path: Path) -> None:
    """A dead broker is as dead when the cluster is read again; another problem is another line."""
    state = cluster(brokers(1), [topic("t", [1])])
    problems = iter([[BrokerProblem(2, "refused")], [BrokerProblem(2, "refused"), BrokerProblem(3, "refused")]])
    err = io.StringIO()
    context = CommandContext(stderr=err, folders=dict.fromkeys(("state", "cache"), tmp_path))
    lame: Any = SimpleNamespace(read=lambda _: Reading(state, tuple(next(problems))), name="c")

    for _ in range(2):
        read_cluster(lame, Settings(), context, ReadRequest())
    assert err.getvalue().splitlines() == [f"kafkabal: warning: broker {b}: refused" for b in (2, 3)]
