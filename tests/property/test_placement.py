"""Properties of the placement of new topics, on untidy clusters."""

from collections import Counter

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from kafkabal.config.topic_specs import TopicSpec, topic_spec
from kafkabal.errors import ConfigError, LimitExceededError, UsageError
from kafkabal.model.cluster_state import ClusterState
from kafkabal.model.state_to_rows import topic_rows
from kafkabal.placement.placement_policy import parse_policy
from kafkabal.placement.topic_placement import PlacedTopics, place_topics
from kafkabal.testing.strategies import clusters

policies = st.sampled_from(["score", "score", "even", "brokers+2:1", "binomial:0.3:1"]).map(parse_policy)
# names that no random cluster has
specs = st.lists(
    st.builds(
        topic_spec,
        st.integers(0, 99).map("new{}".format),
        partitions=st.integers(1, 8),
        replication_factor=st.integers(1, 4),
        partition_bytes=st.none() | st.integers(0, 2**36),
    ),
    max_size=4,
    unique_by=lambda spec: spec.name,
)


def eligible(cluster: ClusterState) -> set[int]:
    """Brokers that may get replicas: live, with an open dir, or all live ones if none reports its dirs."""
    live = {int(b) for b, is_live in zip(cluster.brokers.id, cluster.brokers.is_live, strict=True) if is_live}
    working, is_open = set(), set()
    for broker, state in zip(cluster.log_dirs.broker.tolist(), cluster.log_dirs.state.tolist(), strict=True):
        broker_id = int(cluster.brokers.id[broker])
        working |= {broker_id} if state != 1 else set()
        is_open |= {broker_id} if state == 0 else set()
    return live & is_open if live & working else live


def place(cluster: ClusterState, wanted: list[TopicSpec], text: object) -> PlacedTopics:
    """Place topics, or draw again if that is impossible."""
    try:
        return place_topics(cluster, wanted, text)  # type: ignore[arg-type]
    except (UsageError, ConfigError, LimitExceededError):
        assume(False)
        raise


@given(cluster=clusters(), wanted=specs, policy=policies)
def test_no_rule_is_broken(cluster: ClusterState, wanted: list[TopicSpec], policy: object) -> None:
    """Replicas are on distinct accepting brokers, in as many racks as possible, and no volume exceeds its limit."""
    if "brokers" in str(policy):
        wanted = [topic_spec(s.name, replication_factor=s.replication_factor) for s in wanted]
    placed = place(cluster, wanted, policy)
    eligible_brokers = eligible(cluster)
    rack = {
        int(b): int(r) if r >= 0 else f"alone {b}"
        for b, r in zip(cluster.brokers.id, cluster.brokers.rack, strict=True)
    }
    n_racks = len({rack[b] for b in eligible_brokers})
    added: Counter[int] = Counter()
    for topic, spec in zip(placed.topics, wanted, strict=True):
        assert len(topic.assignment) == (spec.partitions or len(eligible_brokers) + 2)
        for replicas, dirs in zip(topic.assignment, topic.log_dirs, strict=True):
            assert len(set(replicas)) == len(replicas) == len(dirs) == spec.replication_factor
            assert set(replicas) <= eligible_brokers
            assert len({rack[b] for b in replicas}) == min(len(replicas), n_racks)
    names = {t.name for t in placed.topics}
    for row in topic_rows(placed.state):
        for p in row.partitions if row.topic in names else []:
            for b, d, size in zip(p.replicas, p.log_dirs or [], p.sizes or [], strict=True):
                if d is not None:
                    at = int(cluster.log_dirs.first[cluster.brokers.index_of(b)]) + d
                    assert cluster.log_dirs.state[at] == 0
                    added[int(cluster.log_dirs.volume[at])] += size or 0
    for volume, size in added.items():
        at = int(np.flatnonzero(cluster.log_dirs.volume == volume)[0])
        total, usable = int(cluster.log_dirs.total_bytes[at]), int(cluster.log_dirs.usable_bytes[at])
        if total >= 0 and usable >= 0 and size:
            assert total - usable + size <= 0.85 * total


@given(cluster=clusters(), wanted=specs, policy=policies)
def test_existing_topics_are_not_changed(cluster: ClusterState, wanted: list[TopicSpec], policy: object) -> None:
    """New topics are added and nothing else changes, and the placement is reproducible."""
    placed = place(cluster, wanted, policy)
    names = {t.name for t in placed.topics}
    assert [r for r in topic_rows(placed.state) if r.topic not in names] == list(topic_rows(cluster))
    assert placed.state.log_dirs is cluster.log_dirs
    assert place(cluster, wanted, policy).topics == placed.topics
