"""Growth and forecast: rates from history, steady states from retention, and when a disk is full."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kafkabal.history.growth_figures import broker_growth, dir_growth, topic_growth
from kafkabal.history.history_point import HistoryPoint, point_of
from kafkabal.history.partition_growth import MOST_SPANS, chosen_times, measure_growth, of_one_clock
from kafkabal.history.replica_forecast import Forecast, forecast_cluster
from kafkabal.history.topic_retention_limits import RetentionDefaults, kafka_defaults, read_defaults, retention_of
from kafkabal.model import ClusterState, LogDirRow, LogDirState, TopicRow
from kafkabal.testing.cluster_builders import brokers, cluster, partition

HOUR_S = 3600.0
NOW_S = 1_700_000_000.0
MB = 10**6
YEAR_S = 365 * 86400.0
TOTAL = 1000 * MB


def a_cluster(
    size: int, configs: dict[str, str], *, end: int = 1000, name: str = "t", usable: int | None = None
) -> ClusterState:
    """One broker with one log dir of 1000 MB, and one partition of records of ``size / end`` bytes."""
    row = partition(0, [1], size)
    row = replace_struct(row, start_offset=0, end_offset=end, remote_bytes=0)
    (broker,) = brokers(1, dir_bytes=TOTAL)
    free = TOTAL - size if usable is None else usable
    broker = replace_struct(broker, log_dirs=[LogDirRow(path="/d0", total_bytes=TOTAL, usable_bytes=free, volume="v")])
    return cluster([broker], [TopicRow(topic=name, partitions=[row], configs=configs)])


def replace_struct(struct: object, **changes: object) -> object:
    """A msgspec struct with some fields replaced."""
    import msgspec

    return msgspec.structs.replace(struct, **changes)


def past(state: ClusterState, ago_s: float, records: int, size: int) -> HistoryPoint:
    """The only partition as it was."""
    return replace(
        point_of(state, NOW_S - ago_s),
        end_offset=np.array([records]),
        size_bytes=np.array([size]),
        used_bytes={(1, "/d0"): size},
    )


def forecast_of(state: ClusterState, points: list[HistoryPoint], defaults: RetentionDefaults | None = None) -> Forecast:
    """The forecast of the state."""
    retention = retention_of(state, defaults or kafka_defaults())
    return forecast_cluster(state, measure_growth(points, state, NOW_S, retention.is_compacted), retention)


def test_a_topic_without_limits_fills_the_disk_in_a_straight_line() -> None:
    """100 MB per hour into 900 MB of room: full in nine hours."""
    state = a_cluster(100 * MB, {"retention.ms": "-1"})
    forecast = forecast_of(state, [past(state, HOUR_S, 0, 0)])
    assert forecast.full_after_s()[0] == pytest.approx(9 * HOUR_S)
    assert forecast.replica_bytes_at(2 * HOUR_S)[0] == pytest.approx(300 * MB)


def test_varying_rates_give_an_interval_of_when_a_disk_is_full() -> None:
    """100, then 200 MB per hour: full sooner at the upper end of the interval; a single rate has no interval."""
    state = a_cluster(300 * MB, {"retention.ms": "-1"}, end=3000)
    retention, oldest = retention_of(state, kafka_defaults()), past(state, 2 * HOUR_S, 0, 0)
    later = past(state, HOUR_S, 1000, 100 * MB)
    for points, has_interval in (([oldest, later], True), ([oldest], False)):
        growth = measure_growth(points, state, NOW_S, retention.is_compacted)
        found = dir_growth(state, growth, retention, oldest, NOW_S)
        assert found.full_s[0] == pytest.approx(700 / 150 * HOUR_S)
        assert (found.full_low_s[0] < found.full_s[0] < found.full_high_s[0]) == has_interval
        assert (found.full_low_s[0] == found.full_s[0] == found.full_high_s[0]) != has_interval


def test_a_disk_that_is_full_in_more_than_ten_years_never_is() -> None:
    """A disk that fills after more than ten years is not reported as filling; one that fills in nine years is."""
    state = a_cluster(100 * MB, {"retention.ms": "-1"})
    retention = retention_of(state, kafka_defaults())
    for years, outlook in ((9, 9 * YEAR_S), (11, np.inf)):
        before = past(state, years * YEAR_S / 9, 0, 0)
        growth = measure_growth([before], state, NOW_S, retention.is_compacted)
        found = dir_growth(state, growth, retention, before, NOW_S)
        assert found.full_s[0] == pytest.approx(outlook)
        assert found.straight_full_s[0] == pytest.approx(outlook)


def test_retention_by_time_keeps_the_disk_from_becoming_full() -> None:
    """Three hours at 100 MB are some 300 MB, which fit: linear growth would alarm, the forecast does not."""
    state = a_cluster(100 * MB, {"retention.ms": str(3 * 3600 * 1000), "segment.bytes": str(10 * MB)})
    before = past(state, HOUR_S, 0, 0)
    forecast = forecast_of(state, [before])
    assert np.isinf(forecast.full_after_s()[0])
    assert forecast.steady_bytes()[0] == pytest.approx(300 * MB + 5 * MB + 100 * MB / 3600 * 150)
    retention = retention_of(state, kafka_defaults())
    growth = measure_growth([before], state, NOW_S, retention.is_compacted)
    assert dir_growth(state, growth, retention, before, NOW_S).straight_full_s[0] == pytest.approx(9 * HOUR_S)


def test_retention_by_bytes_counts_where_it_is_smaller() -> None:
    """The smaller of both limits ends the growth, with half a segment on top."""
    state = a_cluster(100 * MB, {"retention.ms": "-1", "retention.bytes": str(200 * MB), "segment.bytes": str(20 * MB)})
    forecast = forecast_of(state, [past(state, HOUR_S, 0, 0)])
    assert forecast.steady_bytes()[0] == pytest.approx(210 * MB, rel=0.03)


def test_local_retention_counts_with_tiered_storage() -> None:
    """With remote storage the local limit applies; -2 means the limit of the whole log."""
    tiered = {"remote.storage.enable": "true", "retention.ms": "-1", "segment.bytes": str(MB)}
    state = a_cluster(100 * MB, {**tiered, "local.retention.ms": str(2 * 3600 * 1000)})
    assert forecast_of(state, [past(state, HOUR_S, 0, 0)]).steady_bytes()[0] == pytest.approx(200 * MB, rel=0.05)
    state = a_cluster(100 * MB, {**tiered, "local.retention.ms": "-2"})
    assert np.isinf(forecast_of(state, [past(state, HOUR_S, 0, 0)]).steady_bytes()[0])
    state = a_cluster(100 * MB, {**tiered, "remote.storage.enable": "false", "local.retention.ms": "1000"})
    assert np.isinf(forecast_of(state, [past(state, HOUR_S, 0, 0)]).steady_bytes()[0])


def test_records_in_remote_storage_of_unknown_size_give_no_rate() -> None:
    """The local bytes of 1000 records, most of which are elsewhere, are not the size of a record."""
    state = a_cluster(100 * MB, {"remote.storage.enable": "true", "local.retention.ms": "3600000"})
    for remote, is_known in ((900 * MB, True), (-1, False)):
        there = state.replace(partitions=replace(state.partitions, remote_bytes=np.array([remote])))
        growth = measure_growth([past(state, HOUR_S, 500, 0)], there, NOW_S, np.array([False]))
        assert growth.is_known.tolist() == [is_known]
        assert growth.mean[0] == pytest.approx(500 * MB / HOUR_S if is_known else 0)


def test_a_steady_topic_keeps_its_size() -> None:
    """A topic written at 100 MB per hour and kept for an hour does not grow, although offsets advance."""
    state = a_cluster(105 * MB, {"retention.ms": "3600000", "segment.bytes": str(10 * MB)}, usable=1 * MB, end=1050)
    forecast = forecast_of(state, [past(state, HOUR_S, 50, 105 * MB)])
    assert forecast.replica_bytes_at(100 * HOUR_S)[0] == pytest.approx(105 * MB, rel=0.1)


def test_less_written_than_before_shrinks_over_the_retention() -> None:
    """Data written at the earlier, higher rate is deleted within retention.ms, not at once."""
    state = a_cluster(400 * MB, {"retention.ms": str(4 * 3600 * 1000), "segment.bytes": str(MB)})
    forecast = forecast_of(state, [past(state, HOUR_S, 975, 400 * MB)])
    assert forecast.replica_bytes_at(0)[0] == 400 * MB
    assert 40 * MB < forecast.replica_bytes_at(4 * HOUR_S)[0] < 45 * MB
    assert forecast.replica_bytes_at(2 * HOUR_S)[0] == pytest.approx(220 * MB, rel=0.02)


def test_a_topic_that_is_no_longer_written_to_is_empty_after_its_retention() -> None:
    """An idle topic reaches exactly zero bytes, without a rounding error, and only after its retention."""
    state = a_cluster(60_076_531, {"retention.ms": str(7 * 86_400_000)})
    retention = retention_of(state, kafka_defaults())
    growth = measure_growth([past(state, HOUR_S, 1000, 60_076_531)], state, NOW_S, retention.is_compacted)
    found = topic_growth(state, growth, retention)
    assert (found.steady_bytes.tolist(), found.steady_s.tolist()) == ([0.0], [7 * 86_400.0])
    for size in range(10**7, 10**7 + 200):
        idle = a_cluster(size, {"retention.ms": str(7 * 86_400_000)})
        assert forecast_of(idle, [past(idle, HOUR_S, 1000, size)]).steady_bytes()[0] == 0


def test_compaction_is_unknown_and_never_promises_room() -> None:
    """A compacted topic grows as its size did, and is not assumed to shrink."""
    state = a_cluster(100 * MB, {"cleanup.policy": "compact"})
    forecast = forecast_of(state, [past(state, HOUR_S, 0, 90 * MB)])
    assert forecast.full_after_s()[0] == pytest.approx(90 * HOUR_S)
    assert topic_growth(
        state,
        measure_growth([past(state, HOUR_S, 0, 90 * MB)], state, NOW_S, np.array([True])),
        retention_of(state, kafka_defaults()),
    ).limit == ("compaction",)


def test_a_topic_that_was_created_or_recreated_counts_from_then() -> None:
    """An offset that went back invalidates earlier data; a new topic started empty."""
    state = a_cluster(100 * MB, {"retention.ms": "-1"})
    points = [past(state, 3 * HOUR_S, 5000, 500 * MB), past(state, HOUR_S, 500, 50 * MB)]
    growth = measure_growth(points, state, NOW_S, np.array([False]))
    assert growth.mean[0] == pytest.approx(50 * MB / HOUR_S)
    other = a_cluster(1, {}, name="other")
    growth = measure_growth([point_of(other, NOW_S - HOUR_S)], state, NOW_S, np.array([False]))
    assert growth.mean[0] == pytest.approx(100 * MB / HOUR_S)


def test_a_topic_that_was_recreated_with_more_records_counts_from_then() -> None:
    """Its id shows that the offsets before belong to another topic, although none decreases."""
    state = a_cluster(100 * MB, {"retention.ms": "-1"})
    state = state.replace(topics=replace(state.topics, topic_id=("new",)))
    points = [past(state, hours * HOUR_S, end, 50 * MB) for hours, end in ((3, 100), (2, 200), (1, 500))]
    for ids, mb_per_hour in ((("old", "old", "new"), 50), (("old", "old", "old"), 100), (("", "", ""), 30)):
        named = [replace(point, topic_ids=(of,)) for point, of in zip(points, ids, strict=True)]
        growth = measure_growth(named, state, NOW_S, np.array([False]))
        assert growth.mean[0] == pytest.approx(mb_per_hour * MB / HOUR_S), ids


@pytest.mark.parametrize("ahead_hours", [-2.5, 0.0, 1.25, 2.5])
def test_a_point_of_a_clock_that_was_set_ahead_or_back_changes_no_rate(ahead_hours: float) -> None:
    """One record with a wrong time makes no disk look full soon; without ids a topic may have been re-created."""
    state = a_cluster(100 * MB, {"retention.ms": "-1"})
    state = state.replace(topics=replace(state.topics, topic_id=("id",)))
    recorded = [past(state, hours * HOUR_S, 1000 - 100 * hours, 0) for hours in range(6, 0, -1)]
    recorded[2] = replace(recorded[2], at_s=recorded[2].at_s + ahead_hours * HOUR_S)
    points = sorted(recorded, key=lambda point: point.at_s)
    growth = measure_growth(of_one_clock(points, state), state, NOW_S, np.array([False]))
    assert growth.mean[0] == pytest.approx(10 * MB / HOUR_S)
    unnamed = [replace(point, topic_ids=("",)) for point in points]
    assert of_one_clock(unnamed, state) == unnamed


def test_a_topic_that_was_recreated_while_its_offset_was_unknown_counts_from_then() -> None:
    """The offset before the gap belongs to another topic, although no two consecutive ones decrease."""
    state = a_cluster(100 * MB, {"retention.ms": "-1"})
    points = [past(state, hours * HOUR_S, end, 0) for hours, end in ((4, 100), (3, 5000), (2, -1), (1, 500))]
    growth = measure_growth(points, state, NOW_S, np.array([False]))
    assert growth.mean[0] == pytest.approx(50 * MB / HOUR_S)


@pytest.mark.parametrize(("before", "is_known"), [(400, False), (450, False), (390, True)])
def test_a_topic_of_unknown_offsets_is_not_expected_to_shrink(before: int, is_known: bool) -> None:
    """Its size changes little because retention deletes what is written, so that it says nothing about the rate."""
    state = a_cluster(400 * MB, {"retention.ms": str(4 * 3600 * 1000), "segment.bytes": str(MB)}, end=-1)
    point = past(state, HOUR_S, -1, before * MB)
    growth = measure_growth([point], state, NOW_S, np.array([False]))
    assert growth.is_known.tolist() == [is_known]
    assert forecast_of(state, [point]).replica_bytes_at(4 * HOUR_S)[0] == 400 * MB


def test_a_compacted_topic_that_is_cleaned_as_fast_as_it_is_written_does_not_grow() -> None:
    """Its size rises and falls by half; only what it gains over the whole window is growth."""
    for now, gained in ((100, 0), (140, 40), (60, 0)):
        state = a_cluster(now * MB, {"cleanup.policy": "compact"}, end=5000)
        sizes = [(4, 100), (3, 50), (2, 100), (1, 50)]
        points = [past(state, hours * HOUR_S, 5000 - hours * 1000, size * MB) for hours, size in sizes]
        forecast = forecast_of(state, points)
        assert forecast.replica_bytes_at(4 * HOUR_S)[0] == pytest.approx((now + gained) * MB)


def test_a_compacted_topic_that_was_recreated_counts_from_then() -> None:
    """What the deleted topic held is no loss of the new one."""
    state = a_cluster(100 * MB, {"cleanup.policy": "compact"})
    points = [past(state, 2 * HOUR_S, 5000, 900 * MB), past(state, HOUR_S, 500, 50 * MB)]
    growth = measure_growth(points, state, NOW_S, np.array([True]))
    assert growth.mean[0] == pytest.approx(50 * MB / HOUR_S)


def test_the_interval_is_as_wide_as_the_spans_differ() -> None:
    """Equal spans give no interval, unequal ones a wide one, and a single span gives no answer."""
    state = a_cluster(100 * MB, {"retention.ms": "-1"})
    retention = retention_of(state, kafka_defaults())

    def figures(records: list[int]) -> tuple[float, float, float]:
        points = [past(state, (len(records) - i) * HOUR_S, n, n * MB // 10) for i, n in enumerate(records)]
        growth = measure_growth(points, state, NOW_S, retention.is_compacted)
        found = broker_growth(state, dir_growth(state, growth, retention, points[0], NOW_S), growth)
        return float(found.low[0]), float(found.written[0]), float(found.high[0])

    low, middle, high = figures([200, 400, 600, 800])
    assert (low, high) == (pytest.approx(middle), pytest.approx(middle))
    low, middle, high = figures([200, 250, 600, 700])
    assert low < 0.7 * middle
    assert high > 1.3 * middle
    assert np.isnan(figures([200])[0])


def test_the_state_of_the_future_is_larger_and_has_less_room() -> None:
    """Replicas grow, the usable bytes of their volumes shrink as much, and unknown values stay unknown."""
    state = a_cluster(100 * MB, {"retention.ms": "-1"})
    later = forecast_of(state, [past(state, HOUR_S, 0, 0)]).state_at(3 * HOUR_S)
    assert later.replicas.size_bytes[0] == pytest.approx(400 * MB)
    assert later.log_dirs.usable_bytes[0] == pytest.approx(600 * MB)
    assert later.log_dirs.total_bytes[0] == TOTAL


@pytest.mark.parametrize("seed", range(20))
def test_when_a_disk_is_full_agrees_with_adding_up(seed: int) -> None:
    """The time found from sorted breakpoints is when the sum of all replicas reaches the room."""
    from kafkabal.history.replica_forecast import _crossing

    rng = np.random.default_rng(seed)
    slope, until = rng.normal(1, 1, 50), rng.exponential(100, 50)
    until[rng.random(50) < 0.1] = np.inf
    slope[np.isinf(until)] = np.abs(slope[np.isinf(until)])
    room = float(rng.uniform(0, 3000))
    found = _crossing(slope, until, room)

    def added(t: float) -> float:
        return float((slope * np.minimum(until, t)).sum())

    if np.isinf(found):
        assert max(added(t) for t in [*until[np.isfinite(until)], 1e6]) <= room
    else:
        assert added(found) == pytest.approx(room)
        assert all(added(t) <= room * (1 + 1e-9) for t in until[until < found])


def test_moments_to_compare_with_are_spread_over_the_window() -> None:
    """At most eight, the oldest of the window first, none from before it or after now."""
    times = [NOW_S - i * 600 for i in range(100)][::-1]
    chosen = chosen_times(times, NOW_S, 10 * HOUR_S)
    assert len(chosen) == MOST_SPANS
    assert chosen[0] == NOW_S - 10 * HOUR_S
    assert max(chosen) < NOW_S
    assert chosen_times([NOW_S, NOW_S + 5], NOW_S, HOUR_S) == []


def test_broker_defaults_apply_where_a_topic_sets_no_retention() -> None:
    """The strongest of the brokers' log.retention.* settings wins, in its own unit."""
    from kafkabal.clusters import Capability, ConfigSource, ConfigValue

    class Asked:
        capabilities = frozenset({Capability.CONFIGS})

        def configs(self, resources: list[object], keys: list[str]) -> object:
            values = {
                "log.retention.ms": None,
                "log.retention.minutes": "90",
                "log.retention.hours": "168",
                "log.segment.bytes": "1000",
                "log.roll.hours": "2",
                "log.retention.check.interval.ms": "1000",
                "log.cleanup.policy": "delete",
            }
            found = {key: ConfigValue(value, ConfigSource.STATIC) for key, value in values.items() if key in keys}
            return {resources[0]: found}, {}

    defaults = read_defaults(Asked(), (1,))  # type: ignore[arg-type]  # what is asked of a cluster
    state = a_cluster(100 * MB, {})
    retention = retention_of(state, defaults)
    assert (retention.keep_s[0], retention.segment_bytes[0], retention.segment_s[0]) == (5400, 1000, 7200)
    assert retention.check_s == 1
    assert np.isinf(retention.keep_bytes[0])


@pytest.mark.parametrize(("advanced", "is_known"), [(0, True), (400, False)])
def test_an_empty_log_grows_at_an_unknown_rate_unless_nothing_was_written(advanced: int, is_known: bool) -> None:
    """The size of a record is unknown once retention has deleted all of them; only a topic that got none is idle."""
    state = a_cluster(0, {})
    p = state.partitions
    state = state.replace(partitions=replace(p, start_offset=p.end_offset))
    growth = measure_growth([past(state, HOUR_S, 1000 - advanced, 0)], state, NOW_S, np.zeros(1, bool))
    assert (growth.is_known.tolist(), growth.mean.tolist()) == ([is_known], [0.0])


def test_the_limit_of_an_idle_topic_is_named_too() -> None:
    """A topic kept by bytes alone is limited by bytes, even if nothing is written to it."""
    state = a_cluster(100 * MB, {"retention.ms": "-1", "retention.bytes": str(200 * MB)})
    retention = retention_of(state, kafka_defaults())
    for records in (0, 1000):
        growth = measure_growth([past(state, HOUR_S, records, 0)], state, NOW_S, retention.is_compacted)
        assert topic_growth(state, growth, retention).limit == ("bytes",)


@pytest.mark.parametrize("unlimited", ["-1", str(2**63 - 1)])
def test_the_largest_numbers_are_no_limits(unlimited: str) -> None:
    """A retention of 292 million years is none; one of 30 years is."""
    state = a_cluster(100 * MB, {"retention.ms": unlimited, "retention.bytes": unlimited})
    retention = retention_of(state, kafka_defaults())
    growth = measure_growth([past(state, HOUR_S, 0, 0)], state, NOW_S, retention.is_compacted)
    found = topic_growth(state, growth, retention)
    assert (found.limit, found.steady_bytes.tolist()) == (("none",), [np.inf])
    long = a_cluster(100 * MB, {"retention.ms": str(30 * 365 * 86_400_000), "retention.bytes": unlimited})
    assert retention_of(long, kafka_defaults()).keep_s[0] == 30 * YEAR_S


def test_disks_that_report_nothing_have_no_growth_of_zero() -> None:
    """An offline log dir, before or now, and a broker without log dirs have unknown growth and steady bytes."""
    rows = brokers(2, dirs=2, dir_bytes=TOTAL)
    online = cluster(rows, [TopicRow(topic="t", partitions=[partition(0, [1, 2], 100 * MB, log_dirs=[0, 1])])])
    states = np.repeat(np.array([LogDirState.ONLINE, LogDirState.OFFLINE], np.int8), 2)
    offline = online.replace(log_dirs=replace(online.log_dirs, state=states))
    retention = retention_of(online, kafka_defaults())

    def net_and_steady(before: ClusterState, now: ClusterState) -> tuple[list[bool], list[bool], list[bool]]:
        point = point_of(before, NOW_S - HOUR_S)
        growth = measure_growth([point], now, NOW_S, retention.is_compacted)
        dirs = dir_growth(now, growth, retention, point, NOW_S)
        found = broker_growth(now, dirs, growth)
        return np.isnan(dirs.net).tolist(), np.isnan(found.net).tolist(), np.isnan(found.steady_bytes).tolist()

    assert net_and_steady(online, online) == ([False] * 4, [False] * 2, [False] * 2)
    assert net_and_steady(offline, online) == ([False, False, True, True], [False, True], [False] * 2)
    assert net_and_steady(online, offline) == ([False, False, True, True], [False, True], [False, True])
