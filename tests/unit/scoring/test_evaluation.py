"""Single cases of the formula, worked out by hand."""

import numpy as np
import pytest

from kafkabal.config.settings import Settings
from kafkabal.errors import ConfigError, UsageError
from kafkabal.model.cluster_rows import BrokerRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.scoring.available_needs import require
from kafkabal.scoring.bands import RelativeBand
from kafkabal.scoring.capacity_options import ScoreOptions, score_options
from kafkabal.scoring.evaluation import evaluate
from kafkabal.scoring.registry import load_score, load_scores
from kafkabal.scoring.score_protocol import ScoreBase
from kafkabal.testing import cluster_builders

NAN = float("nan")


def brokers(*totals: int | None, state: str = "online") -> list[BrokerRow]:
    """Brokers 1, 2, ... with one log dir of so many bytes."""
    return [
        BrokerRow(broker=b, log_dirs=[LogDirRow(path="/d0", total_bytes=total, usable_bytes=0, state=state)])  # type: ignore[arg-type]
        for b, total in enumerate(totals, 1)
    ]


def one_replica_each(*sizes: int) -> TopicRow:
    """A topic with one partition of so many bytes on broker 1, 2, ..."""
    return TopicRow(
        topic="t", partitions=[cluster_builders.partition(i, [i + 1], size) for i, size in enumerate(sizes) if size]
    )


@pytest.mark.parametrize(
    ("totals", "sizes", "share", "skew"),
    [
        ((1000, 1000), (100, 100), [1, 1], 0),
        ((1000, 1000), (300, 100), [1.5, 0.5], 0.5),
        ((1000, 3000), (100, 300), [1, 1], 0),
        ((1000, 1000, 1000), (100, 100, 0), [1.5, 1.5, 0], 1),
        ((1000, 1000), (0, 0), [1, 1], 0),
        ((None, None), (300, 100), [1.5, 0.5], 0.5),
    ],
    ids=["even", "uneven", "as large as loaded", "an empty new broker", "nothing at all", "capacity not known"],
)
def test_share_and_skew_of_disks(totals: tuple, sizes: tuple, share: list[float], skew: float) -> None:
    """An empty broker is as visible as a full one, and larger disks are due more."""
    result = evaluate(
        load_score("disk"), cluster_builders.cluster(brokers(*totals), [one_replica_each(*sizes)]), tolerance=0.1
    )
    assert result.share.tolist() == pytest.approx(share)
    assert result.skew == pytest.approx(skew)


def test_capacity_known_of_some_brokers_only_is_an_error_that_names_the_others() -> None:
    """Guessing would move data for nothing, so it is an error."""
    cluster = cluster_builders.cluster(brokers(1000, None, None), [one_replica_each(1, 1, 1)])
    with pytest.raises(ConfigError, match="capacity unknown for some brokers only: 2, 3") as error:
        evaluate(load_score("disk"), cluster, tolerance=0.1)
    assert "capacity:" in (error.value.hint or "")


def test_dead_unreported_and_offline_brokers_have_no_disk_share() -> None:
    """They have no comparable capacity, and the others are compared without them."""
    rows = [
        *brokers(1000, 1000),
        BrokerRow(broker=3, state="dead"),
        BrokerRow(broker=4),
        BrokerRow(broker=5, log_dirs=[LogDirRow(path="/d0", state="offline")]),
    ]
    cluster = cluster_builders.cluster(rows, [one_replica_each(100, 100)])
    result = evaluate(load_score("disk"), cluster, tolerance=0.1)
    np.testing.assert_equal(result.share.tolist(), [1, 1, NAN, NAN, NAN])
    assert result.counted.tolist() == [True, True, False, False, False]
    assert not result.outside.any()


def test_an_empty_dir_among_many_full_ones_is_outside_its_band() -> None:
    """Ten dirs that are each a tenth above the mean do not hide the one that has nothing."""
    dirs = [LogDirRow(path=f"/d{i}", total_bytes=1000, usable_bytes=0, volume=f"v{i}") for i in range(11)]
    partitions = [cluster_builders.partition(i, [1], 100, log_dirs=[i]) for i in range(10)]
    cluster = cluster_builders.cluster(
        [BrokerRow(broker=1, log_dirs=dirs)], [TopicRow(topic="t", partitions=partitions)]
    )
    result = evaluate(load_score("log-dir"), cluster, tolerance=0.1)
    assert result.outside.tolist() == [False] * 10 + [True]
    assert result.skew == pytest.approx(1)


def test_dirs_of_a_broker_without_data_are_balanced() -> None:
    """Other brokers' data says nothing about the dirs of this one."""
    rows = cluster_builders.brokers(2, dirs=2)
    topic = TopicRow(topic="t", partitions=[cluster_builders.partition(i, [1], 100, log_dirs=[i]) for i in range(2)])
    result = evaluate(load_score("log-dir"), cluster_builders.cluster(rows, [topic]), tolerance=0.1)
    assert result.share.tolist() == [1, 1, 1, 1]
    assert result.skew == 0


@pytest.mark.parametrize(
    ("internal", "movable", "fair"),
    [
        ((573, 0), (0, 0), [573, 0]),
        ((300, 0), (0, 100), [300, 100]),
        ((300, 0), (100, 0), [300, 100]),
        ((10, 0), (40, 50), [50, 50]),
    ],
    ids=["nothing that may move", "as even as it can be", "not so", "internal bytes made up for"],
)
def test_log_dirs_are_due_their_part_of_the_bytes_of_their_broker(
    internal: tuple[int, int], movable: tuple[int, int], fair: list[float]
) -> None:
    """Internal topics stay in their log dirs: fair is as even as all others can make it."""
    row = BrokerRow(broker=1, log_dirs=[LogDirRow(path=f"/d{d}", total_bytes=1000, usable_bytes=0) for d in (0, 1)])

    def topic(name: str, sizes: tuple[int, int], *, is_internal: bool) -> TopicRow:
        parts = [cluster_builders.partition(d, [1], size, log_dirs=[d]) for d, size in enumerate(sizes)]
        return TopicRow(topic=name, internal=is_internal, partitions=parts)

    topics = [topic("__own", internal, is_internal=True), topic("t", movable, is_internal=False)]
    result = evaluate(load_score("log-dir"), cluster_builders.cluster([row], topics), tolerance=0.1)
    load = np.add(internal, movable)

    assert result.fair.tolist() == pytest.approx(fair)
    assert result.outside.tolist() == (np.abs(load - fair) > 0.1 * np.array(fair)).tolist()


def test_log_dirs_of_a_cluster_without_any_are_no_trouble() -> None:
    """If no broker reports its dirs, there is nothing to compare, and no error."""
    topic = TopicRow(topic="t", partitions=[PartitionRow(partition=0, replicas=[1], leader=1)])
    result = evaluate(load_score("log-dir"), cluster_builders.cluster([BrokerRow(broker=1)], [topic]), tolerance=0.1)
    assert (len(result.share), result.skew, result.max_share) == (0, 0.0, 1.0)


def test_two_dirs_on_one_volume_share_its_bytes() -> None:
    """Each is due half of the volume, so a dir on its own volume is due twice as much."""
    dirs = [LogDirRow(path=f"/d{i}", total_bytes=1000, usable_bytes=0, volume=v) for i, v in enumerate("aab")]
    partitions = [cluster_builders.partition(i, [1], size, log_dirs=[i]) for i, size in enumerate((100, 100, 200))]
    cluster = cluster_builders.cluster(
        [BrokerRow(broker=1, log_dirs=dirs)], [TopicRow(topic="t", partitions=partitions)]
    )
    assert evaluate(load_score("log-dir"), cluster, tolerance=0.1).share.tolist() == [1, 1, 1]
    assert evaluate(load_score("disk"), cluster, tolerance=0.1).capacity.tolist() == [2000]


def test_replicas_of_a_topic_are_compared_within_the_topic() -> None:
    """Broker 1 holds all four replicas of one topic where ceil(4 / 3) + 1 = 3 is the most."""
    cluster = cluster_builders.cluster(
        cluster_builders.brokers(3),
        [cluster_builders.topic("even", [1], [2], [3]), cluster_builders.topic("heaped", [1], [1], [1], [1])],
    )
    result = evaluate(load_score("topic-spread"), cluster, tolerance=0.1)
    assert result.outside.tolist() == [True, False, False]
    assert result.share.tolist() == pytest.approx([3, 1, 1])
    assert result.skew == pytest.approx(2)


@pytest.mark.parametrize("on_cordoned", [[], [[3]]], ids=["empty", "with a replica"])
def test_a_cordoned_broker_lacks_no_replicas_of_a_topic(on_cordoned: list[list[int]]) -> None:
    """It may receive none: it shows its fair share by topic as it does by disk, and adds no skew."""
    cordoned = BrokerRow(broker=3, log_dirs=[LogDirRow(path="/d0", total_bytes=1000, state="cordoned")])
    topic = cluster_builders.topic("t", [1], [2], [1], [2], [1], [2], *on_cordoned)
    cluster = cluster_builders.cluster([*cluster_builders.brokers(2), cordoned], [topic])
    result = evaluate(load_score("topic-spread"), cluster, tolerance=0.1)
    assert result.min_share >= 0.85
    assert result.skew < 0.2


def test_a_score_of_shared_groups_sees_who_holds_too_little() -> None:
    """A band with a lower edge is missed by a broker that holds nothing of a group, larger brokers included."""

    class TopicBytes(ScoreBase):
        name = "topic-bytes"
        band = RelativeBand()

        def replica_load(self, cluster: ClusterState) -> np.ndarray:
            return np.ones(len(cluster.replicas))

        def group(self, cluster: ClusterState) -> np.ndarray:
            return cluster.partitions.topic[cluster.replicas.partition]

        def capacity(self, cluster: ClusterState) -> np.ndarray:
            return np.array([1.0, 1.0, 2.0])

    even = cluster_builders.topic("a", [1], [2], [3], [3])
    lacking = cluster_builders.topic("b", [2], [2], [3], [3])
    names = {"even": [even], "lacking": [even, lacking]}
    outside = {
        name: evaluate(
            TopicBytes(), cluster_builders.cluster(cluster_builders.brokers(3), topics), tolerance=0.1
        ).outside.tolist()
        for name, topics in names.items()
    }
    assert outside == {"even": [False, False, False], "lacking": [True, True, False]}


def test_counts_can_be_due_in_proportion_to_disks() -> None:
    """With ``count_capacity: disk`` a broker of three times the disk is due three times the replicas."""
    cluster = cluster_builders.cluster(brokers(1000, 3000), [cluster_builders.topic("t", [1], [2], [2], [2])])
    names = ["replicas", "leaders", "topic-spread"]
    by_disk = load_scores(names, ScoreOptions(count_by_disk=True))
    for equal, scaled in zip(load_scores(names), by_disk, strict=True):
        assert evaluate(equal.score, cluster, tolerance=0.1).share.tolist() == pytest.approx([0.5, 1.5])
        assert evaluate(scaled.score, cluster, tolerance=0.1).share.tolist() == pytest.approx([1, 1])


def test_settings_choose_the_capacity() -> None:
    """``count_capacity`` and ``nic_rate`` of a profile are the options of its scores."""
    assert score_options(Settings()) == ScoreOptions()
    assert score_options(Settings(count_capacity="disk", nic_rate_bytes_per_s={3: 30})) == ScoreOptions(
        count_by_disk=True, nic_rate_bytes_per_s={3: 30}
    )


def test_rates_can_be_measured_against_networks() -> None:
    """With ``nic_rate`` a broker of three times the network is due three times the bytes."""
    topic = TopicRow(
        topic="t",
        partitions=[
            PartitionRow(partition=i, replicas=[b], leader=b, in_bytes_per_s=100.0 * b) for i, b in enumerate((1, 3))
        ],
    )
    cluster = cluster_builders.cluster([BrokerRow(broker=b) for b in (1, 3)], [topic])
    (equal,), (scaled,) = (
        load_scores(["leader-bytes-in"], o) for o in (None, ScoreOptions(nic_rate_bytes_per_s={"default": 10, 3: 30}))
    )
    assert evaluate(equal.score, cluster, tolerance=0.1).share.tolist() == pytest.approx([0.5, 1.5])
    assert evaluate(scaled.score, cluster, tolerance=0.1).share.tolist() == pytest.approx([1, 1])
    (partial,) = load_scores(["bytes-out"], ScoreOptions(nic_rate_bytes_per_s={3: 30}))
    with pytest.raises(ConfigError, match="NIC rate configured for some brokers only; missing: 1"):
        evaluate(partial.score, cluster, tolerance=0.1)


def test_bytes_out_are_copies_to_followers_and_reads() -> None:
    """Rate x (RF - 1) + what is consumed, on the leader; a partition without a leader sends nothing."""
    rows = [
        PartitionRow(partition=0, replicas=[1, 2, 3], leader=2, in_bytes_per_s=10.0, out_bytes_per_s=5.0),
        PartitionRow(partition=1, replicas=[1, 2], leader=-1, in_bytes_per_s=99.0),
        PartitionRow(partition=2, replicas=[3], leader=3),
    ]
    cluster = cluster_builders.cluster([BrokerRow(broker=b) for b in (1, 2, 3)], [TopicRow(topic="t", partitions=rows)])
    assert evaluate(load_score("bytes-out"), cluster, tolerance=0.1).load.tolist() == [0, 25, 0]
    assert evaluate(load_score("leader-bytes-in"), cluster, tolerance=0.1).load.tolist() == [0, 10, 0]


@pytest.mark.parametrize(
    ("name", "missing"), [("disk", "log-dirs"), ("bytes-out", "rates"), ("leader-bytes-in", "rates")]
)
def test_missing_data_of_a_cluster_is_reported(name: str, missing: str) -> None:
    """A score without its inputs is refused by name, instead of reading zeros."""
    topic = TopicRow(topic="t", partitions=[PartitionRow(partition=0, replicas=[1], leader=1)])
    cluster = cluster_builders.cluster([BrokerRow(broker=1)], [topic])
    with pytest.raises(
        UsageError, match=f"score '{name}' needs {missing}, which this cluster does not supply"
    ) as error:
        require(load_score(name), cluster)
    assert error.value.hint


def test_logs_that_are_not_made_yet_are_no_obstacle() -> None:
    """Just after a topic was created its brokers report log dirs without logs: they are empty."""
    row = PartitionRow(partition=0, replicas=[1], leader=1)
    cluster = cluster_builders.cluster(cluster_builders.brokers(1), [TopicRow(topic="t", partitions=[row])])
    assert evaluate(load_score("disk"), cluster, tolerance=0.1).load.tolist() == [0]


@pytest.mark.parametrize("name", ["replicas", "leaders", "topic-spread"])
def test_counting_needs_nothing(name: str) -> None:
    """Placement alone is enough to count."""
    require(load_score(name), cluster_builders.cluster([BrokerRow(broker=1)], []))


def test_an_unknown_capacity_does_not_prevent_evaluation() -> None:
    """If no broker reports its capacity, equal ones are assumed."""
    require(load_score("disk"), cluster_builders.cluster(brokers(None, None), [one_replica_each(1, 1)]))


class _BytesOfTopics(ScoreBase):
    """Bytes of each topic on a broker."""

    name, unit, meaning, band = "topic-bytes", "bytes", "bytes of each topic on a broker", RelativeBand()

    def replica_load(self, cluster: ClusterState) -> np.ndarray:
        return cluster.replicas.size_bytes.astype(np.float64)

    def group(self, cluster: ClusterState) -> np.ndarray:
        return cluster.partitions.topic[cluster.replicas.partition]


def test_a_group_without_load_is_missed_by_no_broker() -> None:
    """A topic of 0 bytes on one broker of two makes nothing uneven; one with bytes does."""
    for size, skew in ((0, 0.0), (100, 1.0)):
        single = TopicRow(topic="u", partitions=[cluster_builders.partition(0, [1], size)])
        state = cluster_builders.cluster(brokers(1000, 1000), [one_replica_each(100, 100), single])
        assert evaluate(_BytesOfTopics(), state, tolerance=0.1).skew == pytest.approx(skew)
