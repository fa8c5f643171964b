"""Figures and verdicts of ``inspect`` against a second, plain computation from the same rows."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.cli.framework.nagios_output import performance_data
from kafkabal.errors import ConfigError, UsageError
from kafkabal.inspection.broker_condition import broker_conditions, broker_states
from kafkabal.inspection.inspection import Inspection, inspect_cluster, worst_first
from kafkabal.inspection.partition_and_holder_figures import broker_figures, partition_figures
from kafkabal.inspection.verdict import has_findings, is_broken, judge
from kafkabal.model.cluster_rows import BrokerRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.model.replica_health import offline_replicas
from kafkabal.reporting.inspection import shared_columns
from kafkabal.reporting.inspection.by_broker import broker_table
from kafkabal.reporting.inspection.by_log_dir import log_dir_table
from kafkabal.reporting.inspection.by_topic import uneven_bytes
from kafkabal.reporting.inspection.grouping import Grouping
from kafkabal.reporting.inspection.inspection_report import inspection_report
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.output_formats import render
from kafkabal.reporting.report import Tone
from kafkabal.scoring.registry import WeightedScore
from kafkabal.scoring.score_protocol import Grain, ScoreBase
from kafkabal.scoring.score_selection import SelectedScores, select_scores
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition, topic
from kafkabal.testing.strategies import ClusterRows, cluster_rows, clusters
from tests.output_schemas import check_document


def plain_bytes(part: PartitionRow) -> list[int]:
    """Bytes of each replica of a row, by the rule in words: unknown ones as the leader's, or else as the largest."""
    sizes = part.sizes or [None] * len(part.replicas)
    of_leader = sizes[part.replicas.index(part.leader)] if part.leader in part.replicas else None
    guess = of_leader if of_leader is not None else max((s for s in sizes if s is not None), default=0)
    return [guess if size is None else size for size in sizes]


@given(cluster_rows())
def test_broker_figures_add_up(rows: ClusterRows) -> None:
    """Bytes, replicas, leaders and replicas out of sync of each broker equal a count over the rows."""
    state = rows.build()
    used: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    leaders: Counter[int] = Counter()
    out_of_sync: Counter[int] = Counter()
    for part in (p for t in rows.topics for p in t.partitions):
        leaders[part.leader] += 1
        for broker, size in zip(part.replicas, plain_bytes(part), strict=True):
            used[broker] += size
            replicas[broker] += 1
            out_of_sync[broker] += part.isr is not None and broker not in part.isr
    figures = broker_figures(state)

    for b, broker in enumerate(state.brokers.id.tolist()):
        assert figures.bytes[b] == pytest.approx(used[broker], rel=1e-12)
        assert figures.replicas[b] == replicas[broker]
        assert figures.leaders[b] == leaders[broker]
        assert figures.out_of_sync[b] == out_of_sync[broker]


@given(cluster_rows())
def test_partition_figures_add_up(rows: ClusterRows) -> None:
    """Size, troubles and preferred leader of each partition follow from its row."""
    state = rows.build()
    figures = partition_figures(state)
    by_name = {f"{t.topic}-{p.partition}": p for t in rows.topics for p in t.partitions}

    for i in range(len(state.partitions)):
        part = by_name[str(state.topic_partition(i))]
        sizes = plain_bytes(part)
        assert figures.bytes[i] == sum(sizes)
        assert figures.offline[i] == (part.leader < 0)
        assert figures.under_replicated[i] == (part.isr is not None and set(part.isr) != set(part.replicas))
        assert figures.not_preferred[i] == (part.leader >= 0 and part.leader != part.replicas[0])


@given(clusters(), st.sampled_from(Grouping), st.sampled_from(["table", "yaml", "csv", "prometheus"]))
def test_every_view_of_every_cluster_can_be_written(state: ClusterState, by: Grouping, form: str) -> None:
    """No cluster, however untidy, breaks a view, and programs get the published schema, with a row for each item."""
    try:
        inspection = inspect_cluster(state)
    except ConfigError:
        return  # some capacities are known and others are not, which is refused
    report = inspection_report(inspection, by)
    document = json.loads(render(report, "json", OutputCapabilities()))
    expected = {
        Grouping.BROKER: len(state.brokers),
        Grouping.LOG_DIR: len(state.log_dirs),
        Grouping.TOPIC: len(state.topics),
        Grouping.PARTITION: len(state.partitions),
    }

    check_document(document)
    assert len(document[report.tables[0].key]) == expected.get(by, report.tables[0].n_rows)
    assert render(report, form, OutputCapabilities(width=80)).endswith("\n")


@given(clusters(tidy=True))
def test_excess_bytes_are_those_above_the_fair_share(state: ClusterState) -> None:
    """The excess over all brokers equals the shortfall, since both are measured from the same mean."""
    uneven = uneven_bytes(state)
    total = np.zeros(len(state.topics))
    np.add.at(total, state.partitions.topic, partition_figures(state).bytes)

    assert (uneven >= 0).all()
    assert (uneven <= total * (1 + 1e-9) + 1e-6).all()


def test_a_topic_is_not_above_its_fair_share_where_racks_rule_it() -> None:
    """Brokers 1 and 4 share a rack, so each is due half of what the others hold."""
    state = cluster(brokers(4, racks=3), [topic("t", [1, 2, 3], [4, 2, 3]), topic("u", [1], [1], [2], size_bytes=GB)])

    t, u = uneven_bytes(state).tolist()
    assert t == pytest.approx(0, abs=1)
    assert u == pytest.approx(1.5 * GB)


def lopsided() -> ClusterState:
    """Three brokers; broker 1 holds twice what 2 and 3 hold."""
    return cluster(brokers(3), [topic("t", [1], [1], [2], [3])])


def names(inspection: Inspection) -> list[str]:
    """Names of the scores of an inspection."""
    return [scored.score.name for scored in inspection.scored]


def test_the_verdict_names_the_extremes_and_the_next_command() -> None:
    """The headline names the holders with the extreme shares, and the command that fixes it."""
    verdict = judge(inspect_cluster(lopsided()))

    assert verdict.sentence.startswith("Broker 1 is at 1.50x and broker 2 is at 0.75x its fair share by disk")
    assert verdict.next_command == "kafkabal rebalance --dry-run"


def test_a_balanced_cluster_needs_no_command() -> None:
    """Without an imbalance or a fault there is one sentence and no command."""
    inspection = inspect_cluster(cluster(brokers(3), [topic("t", [1], [2], [3])]))
    verdict = judge(inspection)

    assert (
        verdict.sentence
        == "Balanced: 3 brokers inside their bands by disk, replicas, leaders and topic-spread (tolerance 10%)."
    )
    assert verdict.next_command == ""
    assert not has_findings(inspection, 0.0)


def test_the_verdict_states_the_tolerance_with_all_its_digits() -> None:
    """A tolerance of 2.5% is not rounded to 2%."""
    verdict = judge(inspect_cluster(cluster(brokers(3), [topic("t", [1], [2], [3])]), tolerance=0.025))
    assert verdict.sentence.endswith("(tolerance 2.5%).")


def one_broken(**changes: Any) -> list[BrokerRow]:
    """Three brokers with one log dir each, of which broker 2 is in a given state."""
    good = brokers(3)
    reported: dict[str, Any] = {"broker": 2, "log_dirs": good[1].log_dirs, **changes}
    return [good[0], BrokerRow(**reported), good[2]]


WORKING_DIR = LogDirRow(path="/d0", total_bytes=1000 * GB, usable_bytes=1000 * GB)
SPREAD = [1, 2], [2, 3], [3, 1]


@pytest.mark.parametrize(
    ("described", "says"),
    [
        (one_broken(state="dead", log_dirs=[]), "Broker 2 is dead with 2 replicas"),
        (one_broken(log_dirs=[]), "Broker 2 did not report its log dirs"),
        (one_broken(log_dirs=[WORKING_DIR, LogDirRow(path="/d1", state="offline")]), "1 log dir offline on broker 2"),
        (one_broken(log_dirs=[LogDirRow(path="/d0", state="offline")]), "1 log dir offline on broker 2"),
    ],
)
def test_faults_are_named_specifically(described: list[BrokerRow], says: str) -> None:
    """Dead, unresponsive and with an offline dir are three different results, and each fails a check."""
    parts = [PartitionRow(partition=i, leader=r[0], replicas=list(r), isr=list(r)) for i, r in enumerate(SPREAD)]
    sized = [PartitionRow(partition=9, leader=1, replicas=[1], sizes=[GB], log_dirs=[0])]
    inspection = inspect_cluster(cluster(described, [TopicRow(topic="t", partitions=parts + sized)]))

    assert judge(inspection).sentence.startswith(says)
    assert is_broken(inspection)
    assert has_findings(inspection, 100.0)


def test_a_partition_without_leader_comes_first() -> None:
    """Lost availability comes first."""
    state = cluster(brokers(2), [TopicRow(topic="t", partitions=[partition(0, [1], leader=-1)])])

    assert judge(inspect_cluster(state)).sentence.startswith("1 partition without a leader")


def test_unknown_capacities_are_reported_in_the_headline() -> None:
    """If no broker reports the size of its volumes, equal ones are assumed, and a note says so."""
    silent_sizes = [BrokerRow(broker=b, log_dirs=[LogDirRow(path="/d0")]) for b in (1, 2)]
    verdict = judge(inspect_cluster(cluster(silent_sizes, [topic("t", [1], [1], [2])])))

    assert "disk sizes unknown, assumed equal" in verdict.sentence


@pytest.mark.parametrize(
    ("unknown", "remark"),
    [
        (0, ""),
        (1, ""),  # up to a tenth of the replicas
        (3, " (sizes of 3 replicas unknown, counted as 0)"),
        (10, " (sizes of all replicas unknown, counted as 0)"),
    ],
)
def test_unknown_sizes_are_reported_in_the_headline(unknown: int, remark: str) -> None:
    """A verdict by bytes says how many it does not know, unless they are too few to change it."""
    rows = [partition(n, [1 + n % 2]) for n in range(10)]
    rows[:unknown] = [msgspec.structs.replace(row, sizes=[None]) for row in rows[:unknown]]
    sentence = judge(inspect_cluster(cluster(brokers(2), [TopicRow(topic="t", partitions=rows)]))).sentence
    assert sentence.endswith(f"{remark}.")
    assert ("unknown" in sentence) == bool(remark)


def test_a_score_without_data_is_omitted_with_a_note_or_refused() -> None:
    """By default it is noted; requested by name it is an error."""
    state = cluster(
        [BrokerRow(broker=b) for b in (1, 2)],
        [TopicRow(topic="t", partitions=[PartitionRow(partition=0, replicas=[1])])],
    )
    inspection = inspect_cluster(state)

    assert "disk" not in names(inspection)
    assert any("'disk' needs log-dirs" in note for note in inspection.unavailable)
    with pytest.raises(UsageError, match="needs log-dirs"):
        select_scores(state, ["disk"])


def test_named_scores_are_those_shown_in_their_order() -> None:
    """The first score named is the one that rows are sorted by."""
    inspection = inspect_cluster(lopsided(), select_scores(lopsided(), ["leaders", "disk=3"]))

    assert names(inspection) == ["leaders", "disk"]


@pytest.mark.parametrize(("tolerance", "found"), [(0.49, True), (0.51, False)])
def test_a_check_asks_of_the_band_of_its_tolerance(tolerance: float, found: bool) -> None:
    """The same cluster passes or fails by the tolerance alone."""
    assert has_findings(inspect_cluster(lopsided(), select_scores(lopsided(), ["disk"])), tolerance) is found


def test_performance_data_have_thresholds_of_shares_only() -> None:
    """Two replicas on one broker and one on each other cannot be more balanced, so no threshold is below that skew."""
    state = cluster(brokers(3), [topic("t", [1], [2], [3], [1])])
    inspection = inspect_cluster(state, select_scores(state, ["disk", "replicas", "topic-spread"]))

    assert "'o''b x replicas skew'=" in performance_data(inspection, 0.1, 0.25, prefix="o'b x ")
    assert performance_data(inspection, 0.1, 0.25) == (
        "'disk skew'=0.5;0.1;0.25;0 'replicas skew'=0.5;;;0 'topic-spread skew'=0.5;;;0"
    )


def test_performance_data_have_no_rounding_errors() -> None:
    """A balanced cluster has a skew of 0, not of 5e-13, the rounding error of a division."""
    state = cluster(brokers(3), [topic("t", [1], [2], [3])])
    (scored,) = (whole := inspect_cluster(state, select_scores(state, ["replicas"]))).scored
    noisy = replace(scored, evaluation=replace(scored.evaluation, skew=5e-13))

    assert performance_data(replace(whole, scored=(noisy,)), 0.1, 0.25) == "'replicas skew'=0;;;0"


@pytest.mark.parametrize(
    ("skew", "warning", "figures"),
    [
        (0.000012, 0.00001, "0.000012;0.00001;0.25;0"),
        (0.1000004, 0.1, "0.1000004;0.1;0.25;0"),
        (12345.678, 0.333333333, "12345.678;0.333333333;0.25;0"),
        (float("nan"), 0.1, "U;0.1;0.25;0"),
    ],
)
def test_performance_data_are_plain_numbers_on_their_side_of_the_threshold(
    skew: float, warning: float, figures: str
) -> None:
    """There is no exponent, and rounding hides no excess over a threshold."""
    state = cluster(brokers(3), [topic("t", [1], [1], [2])])
    whole = inspect_cluster(state, select_scores(state, ["disk"]))
    (scored,) = whole.scored
    other = replace(scored, evaluation=replace(scored.evaluation, skew=skew))

    assert performance_data(replace(whole, scored=(other,)), warning, 0.25) == f"'disk skew'={figures}"


def test_a_nearly_empty_disk_has_no_threshold_in_performance_data() -> None:
    """A difference that never counts is not shown above a threshold while the status is OK."""
    state = cluster(brokers(3), [topic("t", [1], [1], [2], size_bytes=100)])
    inspection = inspect_cluster(state, select_scores(state, ["disk"]))

    assert performance_data(inspection, 0.1, 0.25) == "'disk skew'=1;;;0"


@given(clusters(), st.sampled_from([0.0, 0.05, 0.1, 0.25, 1.0]))
def test_a_threshold_in_performance_data_is_the_one_that_is_judged_by(state: ClusterState, tolerance: float) -> None:
    """If a skew has a threshold, it exceeds it exactly when the score is outside its band."""
    try:
        inspection = inspect_cluster(state)
    except ConfigError:
        return
    outside = {scored.score.name for scored, _ in inspection.outside(tolerance)}
    figures = performance_data(inspection, 7, 8)

    for scored in inspection.scored:
        name, skew = scored.score.name, scored.evaluation.skew
        if f"'{name} skew'={skew:.9f}".rstrip("0").rstrip(".") + ";7;8;0" in figures and abs(skew - tolerance) > 1e-6:
            assert (skew > tolerance) is (name in outside)


def test_rows_are_sorted_by_severity_then_distance_from_the_fair_share() -> None:
    """An empty holder is as bad as one with double the load, and unknown shares come last among equals."""
    order = worst_first(np.array([0, 0, 3, 0, 0]), np.array([1.2, 0.1, np.nan, np.nan, 2.5]))

    assert order.tolist() == [2, 4, 1, 0, 3]


def test_replicas_in_an_offline_dir_are_found_without_being_reported() -> None:
    """A broker with an offline dir does not report its replicas there; those that it reports are not lost."""
    dirs = [LogDirRow(path="/d0", total_bytes=GB, usable_bytes=GB), LogDirRow(path="/d1", state="offline")]
    parts = [
        PartitionRow(partition=0, leader=1, replicas=[1], sizes=[5], log_dirs=[0]),
        PartitionRow(partition=1, leader=1, replicas=[1], sizes=[None], log_dirs=[None]),
    ]
    state = cluster([BrokerRow(broker=1, log_dirs=dirs)], [TopicRow(topic="t", partitions=parts)])

    assert offline_replicas(state).tolist() == [False, True]


def test_bytes_of_unknown_sizes_are_marked_as_estimates() -> None:
    """Counted as 0, they are no fact, neither of a broker nor of a topic."""
    unknown = msgspec.structs.replace(partition(0, [1]), sizes=[None])
    state = cluster(brokers(2), [TopicRow(topic="t", partitions=[unknown])])
    assert broker_figures(state).estimated.tolist() == [True, False]
    assert partition_figures(state).estimated.tolist() == [True]


def test_brokers_that_cannot_be_reached_are_marked_as_bad() -> None:
    """A dead broker, one that did not respond and one with an offline log dir stand out; an online one does not."""
    online, offline = LogDirRow(path="/d"), LogDirRow(path="/d", state="offline")
    rows = [
        BrokerRow(broker=1, log_dirs=[online]),
        BrokerRow(broker=2, state="dead"),
        BrokerRow(broker=3),
        BrokerRow(broker=4, log_dirs=[offline]),
    ]
    state = cluster(rows, [])

    _, shown = shared_columns.state(broker_states(state), broker_conditions(state), np.arange(4))

    assert shown.tones == [Tone.FAINT, Tone.BAD, Tone.BAD, Tone.BAD]


class DirReplicas(ScoreBase):
    """A custom score of log dirs."""

    name = "dir-replicas"
    unit = "replicas"
    grain = Grain.LOG_DIR

    def replica_load(self, cluster: ClusterState) -> Any:
        """One each."""
        return np.ones(len(cluster.replicas))


def test_log_dirs_are_shown_by_the_selected_score() -> None:
    """A named score of log dirs makes the column of ``--by log-dir``; without one that is ``log-dir``."""
    state = cluster(brokers(2, dirs=2), [topic("t", [1, 2], [2, 1], [1, 2])])
    own = SelectedScores((WeightedScore(DirReplicas()),))

    titles = [
        [column.title for column in log_dir_table(inspection).columns if column.key == "share"]
        for inspection in (inspect_cluster(state, own), inspect_cluster(state, select_scores(state, ["disk"])))
    ]

    assert titles == [["dir-replicas"], ["log-dir"]]


def test_log_dirs_of_one_volume_are_equally_full() -> None:
    """Each dir is as full as the volume, and shows all that other programs have on it, whichever is listed first."""
    dirs = [LogDirRow(path=f"/d{i}", total_bytes=100, usable_bytes=40, volume="a") for i in range(2)]
    rows = [PartitionRow(partition=i, leader=1, replicas=[1], sizes=[10], log_dirs=[i]) for i in range(2)]
    state = cluster([BrokerRow(broker=1, log_dirs=dirs)], [TopicRow(topic="t", partitions=rows)])
    table = log_dir_table(inspect_cluster(state))
    shown = {column.key: column.values for column in table.columns}
    assert (shown["full"], shown["other_bytes"]) == ([0.6, 0.6], [40, 40])


def test_a_broker_is_as_full_as_its_fullest_volume() -> None:
    """Alerts see one full volume beside an empty one; neither an offline log dir nor a dead broker has a value."""
    dirs = [LogDirRow(path=f"/d{i}", total_bytes=100, usable_bytes=free) for i, free in enumerate((5, 90))]
    there = [
        BrokerRow(broker=1, log_dirs=[*dirs, LogDirRow(path="/d2", state="offline")]),
        BrokerRow(broker=2, state="dead"),
    ]
    state = cluster(there, [TopicRow(topic="t", partitions=[partition(0, [1, 2], 10, log_dirs=[1, None])])])
    shown = {column.key: column.values for column in broker_table(inspect_cluster(state)).columns}
    assert dict(zip(shown["broker"], shown["fullest_volume"], strict=True)) == {1: 0.95, 2: None}


@pytest.mark.parametrize(("free", "is_named"), [(14, True), (15, False)])
def test_a_balanced_cluster_names_full_log_dirs(free: int, is_named: bool) -> None:
    """Disks may be evenly full; the limit is that of a run, 85%, and an offline log dir is not full."""
    there = [
        BrokerRow(
            broker=b,
            log_dirs=[LogDirRow(path="/d", total_bytes=100, usable_bytes=free), LogDirRow(path="/e", state="offline")],
        )
        for b in (1, 2)
    ]
    state = cluster(there, [TopicRow(topic="t", partitions=[partition(0, [1, 2], 60, log_dirs=[0, 0])])])
    notes = [note for note in inspection_report(inspect_cluster(state), Grouping.BROKER).notes if "full" in note]
    line = (
        "log dirs more than 85% full: /d of broker 1, /d of broker 2; "
        "no replica is moved there, see 'kafkabal help full-disk'"
    )
    assert notes == ([line] if is_named else [])
