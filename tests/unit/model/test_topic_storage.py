"""Which topics keep bytes elsewhere than on the disks of brokers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.topic_storage import is_diskless, is_tiered
from kafkabal.testing.cluster_builders import brokers, cluster, partition


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        (None, (False, False)),
        ({}, (False, False)),
        ({"remote.storage.enable": "true"}, (True, False)),
        ({"remote.storage.enable": "false"}, (False, False)),
        ({"diskless.enable": "true"}, (False, True)),
        ({"inkless.enable": "true"}, (False, True)),
        ({"redpanda.cloud_topic.enabled": "true"}, (False, True)),
    ],
)
def test_storage_by_configs(configs: Mapping[str, str] | None, expected: tuple[bool, bool]) -> None:
    """A topic is tiered or diskless only if a config says so; unknown configs say nothing."""
    row = TopicRow(topic="t", configs=None if configs is None else dict(configs), partitions=[partition(0, [1])])
    state = cluster(brokers(1), [row])
    assert (is_tiered(state).tolist(), is_diskless(state).tolist()) == ([expected[0]], [expected[1]])
