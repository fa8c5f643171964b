"""Where the replicas of new topics go."""

import random
from collections import Counter
from typing import Literal

import numpy as np
import pytest
from msgspec.structs import replace

from kafkabal.config.topic_specs import TopicSpec, topic_spec
from kafkabal.errors import KafkabalError, LimitExceededError, UsageError
from kafkabal.model.cluster_rows import BrokerRow, LogDirRow, TopicRow
from kafkabal.model.cluster_state import PRODUCE_LATENCY, ClusterState
from kafkabal.placement.eligible_brokers import EligibleBrokers
from kafkabal.placement.place_by_layout import place_by_layout
from kafkabal.placement.placement_policy import PlacementPolicy, parse_policy
from kafkabal.placement.placement_request import placement_requests
from kafkabal.placement.topic_placement import PlacedTopics, place_topics
from kafkabal.scoring import rules_of
from kafkabal.scoring.evaluation import evaluate
from kafkabal.scoring.registry import default_scores, load_scores
from kafkabal.testing import cluster_builders
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world

SCORE, EVEN = PlacementPolicy(), parse_policy("even")
LAYOUTS = ["score", "even", "brokers+2", "binomial:0.5"]
ROOM = 10**16


def spec(name: str = "t", partitions: int | None = 6, factor: int | None = 3, size: int | None = None) -> TopicSpec:
    """A topic to be placed."""
    return topic_spec(name, partitions=partitions, replication_factor=factor, partition_bytes=size)


def empty(brokers: int, *, racks: int = 3, dirs: int = 1) -> ClusterState:
    """A cluster without topics."""
    return cluster_builders.cluster(cluster_builders.brokers(brokers, racks=racks, dirs=dirs, dir_bytes=ROOM), [])


def random_specs(seed: int, count: int = 1000) -> list[TopicSpec]:
    """Topics of all sorts, their partitions from next to nothing to a hundred times the mean."""
    draw = random.Random(seed)
    return [
        spec(
            f"t{i}",
            draw.randint(1, 12),
            draw.choice([1, 2, 3, 3]),
            int(draw.expovariate(1) * draw.expovariate(1) * 1e9),
        )
        for i in range(count)
    ]


def racks_of(cluster: ClusterState) -> dict[int, object]:
    """Rack by broker id; a broker without one is alone."""
    return {
        int(b): (cluster.racks[r] if r >= 0 else f"alone {b}")
        for b, r in zip(cluster.brokers.id, cluster.brokers.rack, strict=True)
    }


def check_rules(placed: PlacedTopics, specs: list[TopicSpec], eligible: set[int], racks: dict[int, object]) -> None:
    """Every partition has its replicas, distinct, on brokers that take some, on as many racks as can be."""
    n_racks = len({racks[b] for b in eligible})
    assert [t.name for t in placed.topics] == [s.name for s in specs]
    for topic, wanted in zip(placed.topics, specs, strict=True):
        assert wanted.partitions in (None, len(topic.assignment))
        for replicas in topic.assignment:
            assert len(set(replicas)) == len(replicas) == wanted.replication_factor
            assert set(replicas) <= eligible
            assert len({racks[b] for b in replicas}) == min(len(replicas), n_racks)


@pytest.mark.parametrize("names", [["disk"], ["replicas"], ["topic-spread"], ["disk", "replicas"], ["disk", "leaders"]])
@pytest.mark.parametrize("factor", [1, 2, 3])
def test_leaders_are_balanced_for_any_scores(names: list[str], factor: int) -> None:
    """A replica score alone does not decide on leaders: one broker led every partition."""
    placed = place_topics(empty(3), [spec(partitions=24, factor=factor)], SCORE, scores=load_scores(names))
    led = Counter(replicas[0] for replicas in placed.topics[0].assignment)
    assert led == {1: 8, 2: 8, 3: 8}


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_the_only_broker_of_a_rack_does_not_lead_all_partitions(seed: int) -> None:
    """It has to hold a replica of each: how many it still lacks is no reason to let it lead them."""
    state = make_world(SyntheticWorld(seed=seed, brokers=4, racks=3, topics=25, skew=0.3))
    for i, partitions in enumerate((6, 12, 10, 24)):
        state = place_topics(state, [spec(f"new{i}", partitions, 3, size=1000)], SCORE).state
    leaders = load_scores(["leaders"])[0].score
    assert not evaluate(leaders, state, tolerance=0.09, rules=rules_of(state)).outside.any()


@pytest.mark.parametrize(
    ("state", "led"), [("dead", {1: 4, 2: 4, 3: 4}), ("online", {1: 3, 2: 3, 3: 3, 4: 3})], ids=["dead", "back"]
)
def test_leading_for_a_broker_that_was_away_does_not_count(
    state: Literal["dead", "online"], led: dict[int, int]
) -> None:
    """While a broker is dead, and until it is elected again, another one leads its partitions: it still leads its part
    of a new topic."""
    rows = [replace(row, state=state if row.broker == 4 else "online") for row in cluster_builders.brokers(4, racks=3)]
    old = [(1, 2, 3), (2, 3, 4), (3, 2, 1), (4, 2, 3)] * 6
    partitions = [
        cluster_builders.partition(i, replicas, leader=2 if replicas[0] == 4 else replicas[0])
        for i, replicas in enumerate(old)
    ]
    cluster = cluster_builders.cluster(rows, [TopicRow(topic="old", partitions=partitions)])

    placed = place_topics(cluster, [spec(partitions=12)], SCORE)

    assert Counter(replicas[0] for replicas in placed.topics[0].assignment) == led
    before = cluster.partitions.leader.tolist()
    assert placed.state.partitions.leader[: len(old)].tolist() == before


def test_a_slow_broker_is_given_fewer_leaders() -> None:
    """A broker that takes twice as long leads half as many partitions of a new topic as each other one."""
    state = empty(3).replace(measured={PRODUCE_LATENCY: np.array([0.01, 0.02, 0.01])})
    placed = place_topics(state, [spec(partitions=25)], SCORE, scores=load_scores(["disk", "latency=0.5"]))
    led = Counter(replicas[0] for replicas in placed.topics[0].assignment)
    assert led == {1: 10, 2: 5, 3: 10}


@pytest.mark.parametrize(("brokers", "racks", "dirs"), [(6, 3, 1), (12, 4, 2), (7, 1, 1), (40, 7, 1)])
def test_a_thousand_topics_leave_every_score_inside_its_band(brokers: int, racks: int, dirs: int) -> None:
    """Topics created by score need no rebalancing: all default scores are inside the band of 0.09, and so of 0.10."""
    cluster, specs = empty(brokers, racks=racks, dirs=dirs), random_specs(brokers)
    placed = place_topics(cluster, specs, SCORE)
    check_rules(placed, specs, set(cluster.brokers.id.tolist()), racks_of(cluster))
    for weighted in default_scores(several_log_dirs=True):
        for tolerance in (0.09, 0.10):
            result = evaluate(weighted.score, placed.state, tolerance=tolerance)
            assert not result.outside.any(), weighted.score.name


def test_new_topics_reduce_an_imbalance() -> None:
    """Replicas go first to the least loaded brokers: the two empty ones."""
    old = cluster_builders.topic("old", *[[1 + i % 4, 1 + (i + 1) % 4] for i in range(40)], size_bytes=100)
    cluster = cluster_builders.cluster(cluster_builders.brokers(6, racks=1, dir_bytes=10**6), [old])
    placed = place_topics(cluster, [spec(f"new{i}", 1, 2, 100) for i in range(20)], SCORE)
    count = Counter(b for topic in placed.topics for b in topic.assignment[0])
    assert count.most_common(2) == [(5, 20), (6, 20)]
    skew_before, skew_after = (
        evaluate(default_scores(several_log_dirs=False)[0].score, state, tolerance=0.1).skew
        for state in (cluster, placed.state)
    )
    assert skew_after < skew_before


def test_a_full_broker_does_not_concentrate_a_new_topic_on_another() -> None:
    """Of two brokers in a rack one holds all bytes: the new topic, though small, stays inside its own band on both."""
    held = cluster_builders.topic("held", *[(1, 2, 3)] * 6, size_bytes=10**9)
    state = cluster_builders.cluster(cluster_builders.brokers(4, racks=3), [held])
    placed = place_topics(state, [spec(partitions=12, size=10**7)], SCORE)

    counts = Counter(broker for replicas in placed.topics[0].assignment for broker in replicas)
    assert (counts[1], counts[4]) == (5, 7)


def test_brokers_of_unequal_size_get_bytes_in_proportion() -> None:
    """With the disk as the only score, a broker of three times the disk gets three times the bytes."""
    rows = [
        BrokerRow(broker=b, rack=f"r{b}", log_dirs=[LogDirRow(path="/d", total_bytes=size, usable_bytes=size)])
        for b, size in enumerate((10**12, 10**12, 3 * 10**12), 1)
    ]
    placed = place_topics(
        cluster_builders.cluster(rows, []), [spec("t", 100, 1, 10**9)], SCORE, scores=load_scores(["disk"])
    )
    assert Counter(r[0] for r in placed.topics[0].assignment) == {1: 20, 2: 20, 3: 60}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_only_brokers_that_take_replicas_get_some(layout: str) -> None:
    """Dead, unresponsive, cordoned, offline and excluded brokers get nothing, whatever the layout."""

    def dirs(state: str) -> list[LogDirRow]:
        return [LogDirRow(path="/d", total_bytes=ROOM, usable_bytes=ROOM, state=state)]  # type: ignore[arg-type]

    rows = [
        *cluster_builders.brokers(5, racks=2, dir_bytes=ROOM),
        BrokerRow(broker=6, state="dead"),
        BrokerRow(broker=7),
        BrokerRow(broker=8, log_dirs=dirs("cordoned")),
        BrokerRow(broker=9, log_dirs=dirs("offline")),
    ]
    cluster = cluster_builders.cluster(rows, [])
    specs = [spec("t", 6, 3)]
    placed = place_topics(cluster, specs, parse_policy(layout), exclude_brokers=[5])
    check_rules(placed, specs, {1, 2, 3, 4}, racks_of(cluster))


def test_a_rack_without_open_brokers_has_no_share() -> None:
    """Three replicas in two racks are balanced over their brokers, though a third rack is excluded."""
    state = cluster_builders.cluster(
        [
            replace(row, rack=rack)
            for row, rack in zip(cluster_builders.brokers(6, dir_bytes=ROOM), "aabbbc", strict=True)
        ],
        [],
    )

    placed = place_topics(state, [spec("t", 10, 3)], SCORE, exclude_brokers=[6])

    count = Counter(b for replicas in placed.topics[0].assignment for b in replicas)
    assert set(count.values()) == {6}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_placement_is_the_same_every_time(layout: str) -> None:
    """Equal input gives equal output, and other topics do not affect a topic's random choices."""
    specs = [spec(name, None if layout == "brokers+2" else 9) for name in ("a", "b")]
    placed = [place_topics(empty(6), specs, parse_policy(layout)) for _ in range(2)]
    assert placed[0].topics == placed[1].topics
    if layout != "score":
        assert place_topics(empty(6), specs[1:], parse_policy(layout)).topics[0] == placed[0].topics[1]


@pytest.mark.parametrize(("brokers", "racks", "factor"), [(6, 3, 3), (6, 2, 3), (5, 5, 2), (4, 1, 4), (7, 3, 2)])
def test_an_even_layout_spreads_leaders_and_followers(brokers: int, racks: int, factor: int) -> None:
    """Leaders differ by at most one, and so do followers if all racks have as many brokers."""
    cluster, specs = empty(brokers, racks=racks), [spec("t", 3 * brokers + 1, factor)]
    placed = place_topics(cluster, specs, EVEN)
    check_rules(placed, specs, set(range(1, brokers + 1)), racks_of(cluster))
    leaders = Counter(r[0] for r in placed.topics[0].assignment)
    followers = Counter(b for r in placed.topics[0].assignment for b in r[1:])
    assert max(leaders.values()) - min(leaders.values()) == 1
    if brokers % racks == 0:
        assert max(followers.values()) - min(followers.values()) <= 1


def test_brokers_plus_two_gives_two_more_leaders_to_brokers_that_are_drawn() -> None:
    """One leader per broker and two more; other seeds draw other brokers; followers stay even."""
    heaps = set()
    for seed in range(20):
        placed = place_topics(empty(6), [spec("t", None, 2)], parse_policy(f"brokers+2:{seed}"))
        leaders = Counter(r[0] for r in placed.topics[0].assignment)
        followers = Counter(b for r in placed.topics[0].assignment for b in r[1:])
        assert sorted(leaders) == [1, 2, 3, 4, 5, 6]
        assert leaders.total() == 8
        assert max(followers.values()) - min(followers.values()) <= 1
        heaps.add(tuple(sorted(leaders.items())))
    assert len(heaps) > 10


@pytest.mark.parametrize(("probability", "mean"), [(0.0, 0), (0.2, 1), (0.5, 2.5), (1.0, 5)])
def test_a_binomial_layout_draws_leaders_around_its_mean(probability: float, mean: float) -> None:
    """Leaders follow the binomial distribution over the brokers by id; followers stay even."""
    placed = place_topics(empty(6), [spec("t", 600, 2)], parse_policy(f"binomial:{probability}:3"))
    leaders = [r[0] - 1 for r in placed.topics[0].assignment]
    followers = Counter(b for r in placed.topics[0].assignment for b in r[1:])
    assert np.mean(leaders) == pytest.approx(mean, abs=0.15)
    if 0 < probability < 1:
        assert max(followers.values()) - min(followers.values()) <= 1


@pytest.mark.parametrize(
    ("specs", "layout", "message"),
    [
        ([spec(factor=7)], "score", "topic t: replication factor 7 needs as many brokers; only 6 brokers accept"),
        ([spec(factor=None)], "score", "topic t: no replication factor given"),
        ([spec(partitions=None)], "score", "topic t: no number of partitions given"),
        ([spec(partitions=None)], "even", "topic t: no number of partitions given"),
        ([spec(partitions=9)], "brokers+2", r"placement brokers\+2 creates 8 partitions on this cluster, not 9"),
        (
            [spec(f"t{i}", partitions=100_000, factor=6) for i in range(4)],
            "score",
            "replicas: 2,400,000 exceeds the limit of",
        ),
        ([spec("old")], "score", "topic old already exists"),
        ([spec("a"), spec("a")], "score", "topic a already exists"),
        ([spec("old.x")], "score", "topic old.x collides with old_x"),
        ([spec("a.b"), spec("a_b")], "even", "topic a_b collides with a.b"),
    ],
)
def test_unplaceable_topics_are_refused_before_any_is_placed(specs: list[TopicSpec], layout: str, message: str) -> None:
    """The topic is named, and what is wrong with it."""
    cluster = cluster_builders.cluster(
        cluster_builders.brokers(6, racks=3), [cluster_builders.topic("old", [1]), cluster_builders.topic("old_x", [1])]
    )
    with pytest.raises(UsageError, match=message):
        place_topics(cluster, specs, parse_policy(layout))


def test_a_cluster_without_eligible_brokers_is_reported() -> None:
    """If every broker is excluded, that is the reason given."""
    with pytest.raises(UsageError) as none:
        place_topics(empty(2), [spec(factor=1)], SCORE, exclude_brokers=[1, 2])
    assert none.value.message == "topic t: no broker accepts new replicas"
    assert none.value.hint is not None
    assert "excluded" in none.value.hint
    with pytest.raises(UsageError, match="--exclude-brokers: unknown broker: 9"):
        place_topics(empty(2), [spec(factor=1)], SCORE, exclude_brokers=[9])


def cluster_with_room(*room: int) -> ClusterState:
    """Brokers 1, 2, ... of 1000 bytes, each with so much left below the limit of 0.85, on racks a, a, b."""
    rows = [
        BrokerRow(
            broker=b, rack="aab"[b - 1], log_dirs=[LogDirRow(path="/d", total_bytes=1000, usable_bytes=150 + left)]
        )
        for b, left in enumerate(room, 1)
    ]
    return cluster_builders.cluster(rows, [])


@pytest.mark.parametrize(
    ("room", "partitions", "factor", "message"),
    [
        ((100, 100, 100), 3, 1, None),
        ((99, 300, 0), 3, 1, None),
        ((100, 100, 99), 3, 1, "topic t: no broker has room for a partition of 100 B below 85% of"),
        ((300, 300, 0), 1, 2, "topic t: no broker in another rack has room"),
        ((300, 0, 300), 3, 3, "topic t: no other broker has room"),
    ],
    ids=["just enough", "only one has room", "one byte short", "not on another rack", "not on a third broker"],
)
def test_no_log_dir_is_filled_above_its_limit(
    room: tuple[int, ...], partitions: int, factor: int, message: str | None
) -> None:
    """Room is what is left below 0.85 of a volume, and the rack rule is never broken for it."""
    cluster = cluster_with_room(*room)
    wanted = [spec("t", partitions, factor, 100)]
    if message is None:
        placed = place_topics(cluster, wanted, SCORE)
        count = Counter(b for replicas in placed.topics[0].assignment for b in replicas)
        assert all(count[b] * 100 <= left for b, left in enumerate(room, 1))
    else:
        with pytest.raises(LimitExceededError, match=message):
            place_topics(cluster, wanted, SCORE)


def replicas_that_fit(room: list[int], racks: list[str], partitions: int) -> int:
    """Most replicas of 100 bytes if no rack has two of a partition."""
    slots: Counter[str] = Counter()
    for left, rack in zip(room, racks, strict=True):
        slots[rack] += left // 100
    return sum(min(partitions, count) for count in slots.values())


@pytest.mark.parametrize("seed", [*range(20), 58, 87, 88, 199, 258, 333, 376, 514, 791, 967, 991, 1195, 1306])
def test_a_topic_is_refused_only_if_it_does_not_fit(seed: int) -> None:
    """Brokers that all later partitions need are used by each of them, whatever the scores prefer."""
    draw = random.Random(seed)
    count = draw.randint(2, 7)
    racks = [draw.choice("abcd") for _ in range(count)]
    factor, partitions = draw.randint(1, len(set(racks))), draw.randint(2, 12)
    room = [100 * draw.randint(0, partitions) for _ in range(count)]
    used = [draw.randint(0, 8000) for _ in range(count)]
    rows = [
        BrokerRow(broker=b, rack=rack, log_dirs=[LogDirRow(path="/d", total_bytes=10_000, usable_bytes=1500 + left)])
        for b, (rack, left) in enumerate(zip(racks, room, strict=True), 1)
    ]
    old = [
        cluster_builders.partition(b, [b + 1], min(size, 8500 - left))
        for b, (size, left) in enumerate(zip(used, room, strict=True))
    ]
    cluster = cluster_builders.cluster(rows, [TopicRow(topic="old", partitions=old)])
    wanted = [spec("t", partitions, factor, 100)]

    if replicas_that_fit(room, racks, partitions) >= partitions * factor:
        placed = place_topics(cluster, wanted, SCORE).topics[0]
        taken = Counter(b for replicas in placed.assignment for b in replicas)
        assert all(taken[b] * 100 <= left for b, left in enumerate(room, 1))
    else:
        with pytest.raises(LimitExceededError):
            place_topics(cluster, wanted, SCORE)


def test_racks_keep_room_for_the_partitions_that_all_span_them() -> None:
    """With more replicas than racks, the extra ones stay off a rack that only just has room for all partitions."""
    room = {"a": [1100, 1100, 600], "b": [400, 100, 600, 300]}
    rows = [
        BrokerRow(broker=b, rack=rack, log_dirs=[LogDirRow(path="/d", total_bytes=10_000, usable_bytes=1500 + left)])
        for b, (rack, left) in enumerate(((rack, left) for rack in room for left in room[rack]), 1)
    ]

    placed = place_topics(cluster_builders.cluster(rows, []), [spec("t", 11, 3, 100)], SCORE)

    assert len(placed.topics[0].assignment) == 11


def test_a_broker_has_room_until_it_is_taken_and_again_once_it_is_released() -> None:
    """The room of one size is known without another look, but not after it has changed."""
    sites = EligibleBrokers(cluster_with_room(100, 250, 0), ())
    assert sites.with_room(100).tolist() == [True, True, False]

    row = sites.put(0, 100)
    assert sites.with_room(100).tolist() == [False, True, False]

    sites.release(row, 100)
    assert sites.with_room(100).tolist() == [True, True, False]


def test_a_rule_that_leads_to_a_full_broker_is_refused() -> None:
    """An even layout does not check room in advance, so an error reports that there is none, and that the broker can be
    left out: a smaller size does not help if it is full."""
    with pytest.raises(LimitExceededError, match="topic t: broker 2 has no room for a partition of 100 B") as error:
        place_topics(cluster_with_room(300, 0, 300), [spec("t", 3, 1, 100)], EVEN)
    assert "--exclude-brokers" in (error.value.hint or "")
    place_topics(cluster_with_room(300, 0, 300), [spec("t", 3, 1, 100)], EVEN, exclude_brokers=[2])


@pytest.mark.parametrize("rooms", [(300, 0, 300), (300, -50, 300)])
def test_a_full_broker_gets_no_replica_of_an_expected_size_of_zero(rooms: tuple[int, ...]) -> None:
    """A topic of unknown size is not taken for empty: it goes where there is room, unless there is none."""
    placed = place_topics(cluster_with_room(*rooms), [spec("t", 6, 2, 0)], SCORE)
    assert {b for row in placed.topics[0].assignment for b in row} == {1, 3}
    crowded = place_topics(cluster_with_room(300, 0, -50), [spec("t", 6, 2, 0)], SCORE)
    assert all(1 in row for row in crowded.topics[0].assignment)
    full = place_topics(cluster_with_room(0, 0, 0), [spec("t", 6, 2, 0)], SCORE)
    assert Counter(b for row in full.topics[0].assignment for b in row) == {1: 3, 2: 3, 3: 6}


def test_a_replica_of_an_expected_size_of_zero_goes_to_a_log_dir_with_room() -> None:
    """Also if the logs of the other dir are smaller: what fills its volume are files of other programs."""
    dirs = [
        LogDirRow(path="/full", total_bytes=1000, usable_bytes=0),
        LogDirRow(path="/free", total_bytes=1000, usable_bytes=500),
    ]
    held = TopicRow(topic="held", partitions=[replace(cluster_builders.partition(0, [1], 100), log_dirs=[1])])
    state = cluster_builders.cluster([BrokerRow(broker=1, log_dirs=dirs)], [held])
    placed = place_topics(state, [spec("t", 1, 1, 0)], SCORE)
    assert placed.topics[0].log_dirs == (("/free",),)


def test_the_expected_size_is_the_mean_of_the_cluster_unless_it_is_given() -> None:
    """It is what the state afterwards shows for the new replicas."""
    old = TopicRow(
        topic="old", partitions=[cluster_builders.partition(i, [1], size) for i, size in enumerate((100, 300))]
    )
    cluster = cluster_builders.cluster(cluster_builders.brokers(2), [old])
    placed = place_topics(cluster, [spec("a", 1, 1), spec("b", 1, 1, 50)], SCORE)
    assert [t.partition_bytes for t in placed.topics] == [200, 50]
    names = [placed.state.topics.name[t] for t in placed.state.partitions.topic]
    sizes = dict(zip(names, placed.state.replicas.size_bytes.tolist(), strict=True))
    assert (sizes["a"], sizes["b"]) == (200, 50)


def test_log_dirs_are_chosen_where_a_broker_has_several() -> None:
    """Each replica is assigned the emptier dir, without cordoned ones; a broker with one dir needs no choice."""
    dirs = [
        LogDirRow(path=f"/d{i}", total_bytes=1000, usable_bytes=900, state=s)
        for i, s in enumerate(("online", "online", "cordoned"))
    ]  # type: ignore[arg-type]
    rows = [BrokerRow(broker=1, log_dirs=dirs), *cluster_builders.brokers(2)[1:]]
    cluster = cluster_builders.cluster(
        rows, [TopicRow(topic="old", partitions=[cluster_builders.partition(0, [1], 100)])]
    )
    placed = place_topics(cluster, [spec("t", 3, 2, 50)], EVEN)
    chosen = [
        dict(zip(r, d, strict=True))
        for r, d in zip(placed.topics[0].assignment, placed.topics[0].log_dirs, strict=True)
    ]
    assert [c[1] for c in chosen] == ["/d1", "/d1", "/d0"]
    assert {c[2] for c in chosen} == {"any"}


def test_topics_can_be_placed_without_reported_log_dirs() -> None:
    """If log dirs may not be read, replicas are counted and room is unknown."""
    cluster = cluster_builders.cluster([BrokerRow(broker=b) for b in (1, 2, 3)], [])
    placed = place_topics(cluster, [spec("t", 3, 1, 10**9)], SCORE)
    assert sorted(r[0] for r in placed.topics[0].assignment) == [1, 2, 3]
    assert placed.topics[0].log_dirs == (("any",),) * 3


def test_configs_come_through() -> None:
    """The topic's configs are passed on, and are in the resulting state."""
    wanted = topic_spec("t", preset="training", configs={"retention.ms": "1"})
    placed = place_topics(empty(3), [wanted], SCORE)
    assert placed.topics[0].configs == {"compression.type": "lz4", "max.message.bytes": "10485760", "retention.ms": "1"}
    assert placed.state.topics.configs == (placed.topics[0].configs,)


def test_every_refusal_is_an_error_of_ours() -> None:
    """Nothing to place is not an error."""
    assert place_topics(empty(3), [], SCORE).topics == ()
    assert issubclass(LimitExceededError, KafkabalError)


@pytest.mark.parametrize(("brokers", "racks"), [(4, 3), (5, 3), (7, 3), (5, 2)])
def test_new_topics_reach_the_shares_that_unequal_racks_allow(brokers: int, racks: int) -> None:
    """Within 2% of the fair share of bytes and replicas, though that is 1.67 times the mean on some brokers."""
    cluster = empty(brokers, racks=racks, dirs=1)
    placed = place_topics(cluster, [spec(f"t{i}", 12, racks, 10**9 * (1 + i % 3)) for i in range(20)], SCORE)
    for weighted in default_scores(several_log_dirs=False):
        result = evaluate(weighted.score, placed.state, tolerance=0.09)
        assert not result.outside.any(), weighted.score.name
        if weighted.score.name in {"disk", "replicas"}:
            assert result.skew < 0.02
            assert result.fair_over_mean.max() > 1.1


def test_a_volume_has_room_where_only_its_first_log_dir_is_cordoned() -> None:
    """A topic with an expected size goes to the other log dir, though the volume's first one is cordoned."""
    rows = [
        replace(
            row,
            log_dirs=[
                replace(d, volume="v", state="cordoned" if i == 0 else "online") for i, d in enumerate(row.log_dirs)
            ],
        )
        for row in cluster_builders.brokers(3, dirs=2)
    ]
    placed = place_topics(cluster_builders.cluster(rows, []), [spec("t", 3, 3, cluster_builders.GB)], SCORE)
    assert {path for paths in placed.topics[0].log_dirs for path in paths} == {"/d1"}


class _CountedRacks(np.ndarray):
    """Racks that count the operations on them."""

    operations = 0

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **options: object) -> object:
        type(self).operations += 1
        plain = [each.view(np.ndarray) if isinstance(each, _CountedRacks) else each for each in inputs]
        return getattr(ufunc, method)(*plain, **options)


def test_the_ring_of_brokers_is_made_in_a_few_operations() -> None:
    """As many for 90 brokers as for 9: a count for each would take minutes for 10,000 topics on a thousand."""
    operations = []
    for brokers in (9, 90):
        sites = EligibleBrokers(empty(brokers), ())
        sites.rack = sites.rack.view(_CountedRacks)
        _CountedRacks.operations = 0
        (request,) = placement_requests([spec(partitions=1, factor=1)], sites, EVEN)
        assert place_by_layout(request, sites, EVEN).tolist() == [[0]]
        operations.append(_CountedRacks.operations)
    assert operations[0] == operations[1]
