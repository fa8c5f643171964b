"""Figures that look contradictory explain each other."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given

from kafkabal.clusters.snapshot.snapshot_reader import read_snapshot
from kafkabal.errors import ConfigError
from kafkabal.inspection.inspection import inspect_cluster
from kafkabal.inspection.verdict import judge
from kafkabal.inspection.worst_group_of_score import worst_group
from kafkabal.model.cluster_state import ClusterState
from kafkabal.reporting.inspection.inspection_report import inspection_report
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.output_formats import render
from kafkabal.reporting.tolerance_notes import TWO_TOLERANCES, rounding_note
from kafkabal.scoring.score_selection import select_scores
from kafkabal.testing.cluster_builders import brokers, cluster, topic
from kafkabal.testing.strategies import clusters

LOPSIDED = Path(__file__).parents[2] / "cli" / "snapshots" / "lopsided.jsonl"


@given(clusters())
def test_skew_follows_from_the_highest_and_lowest_share(state: ClusterState) -> None:
    """Of a grouped score, the shares of its worst group give the skew, which they did not as worst of all groups."""
    try:
        inspection = inspect_cluster(state)
    except ConfigError:
        return
    for scored in inspection.scored:
        group = worst_group(scored, state)
        if group is not None:
            assert abs(max(group.max_share - 1, 1 - group.min_share) - scored.evaluation.skew) < 1e-9


def test_the_topic_behind_a_skew_is_named() -> None:
    """In the table, for programs, and in the headline where that score is the first outside its band."""
    state = read_snapshot(LOPSIDED)
    inspection = inspect_cluster(state)
    rows = {
        row["score"]: row
        for row in json.loads(render(inspection_report(inspection), "json", OutputCapabilities()))["scores"]
    }
    alone = inspect_cluster(state, select_scores(state, ("topic-spread",)))

    assert rows["topic-spread"]["worst_topic"] == "labels"
    assert rows["disk"]["worst_topic"] is None
    assert judge(alone).sentence.startswith("Topic labels is spread from 0.00x to 3.00x its fair share")


def test_a_topic_inside_its_band_is_not_blamed() -> None:
    """One of fewer replicas than brokers is at 0.00x on some, and as even as it can be: the one outside is named."""
    big = topic("big", *[[1, 2]] * 6, *[[3, 4]] * 2, *[[1, 3], [2, 4]] * 2)
    state = cluster(brokers(4), [topic("a-small", [1]), big, topic("small", [3])])
    alone = inspect_cluster(state, select_scores(state, ("topic-spread",)))

    assert judge(alone).sentence.startswith("Topic big is spread from 0.67x to 1.33x its fair share by topic-spread")


def test_two_tolerances_are_explained_where_a_plan_is_suggested() -> None:
    """With the default of inspect, and not where the user chose another."""
    state = read_snapshot(LOPSIDED)

    assert TWO_TOLERANCES in inspection_report(inspect_cluster(state)).notes
    assert TWO_TOLERANCES not in inspection_report(inspect_cluster(state, tolerance=0.2)).notes
    assert "10%" in TWO_TOLERANCES
    assert "9%" in TWO_TOLERANCES


def test_rounding_is_explained_where_it_matters() -> None:
    """The scores are named; without any there is no note."""
    assert rounding_note((), 0.1) == ()
    (note,) = rounding_note(("replicas", "leaders"), 0.1)
    assert note.startswith("replicas, leaders: shares outside 10%")
    assert "shares outside 0.1%" in rounding_note(("replicas",), 0.001)[0]
