"""What the report of a plan says in its first line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.plan.plan import PartitionChange, Placement, Plan, ScoreChange
from kafkabal.reporting.explain_report import explanation_report
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.output_formats import render
from kafkabal.reporting.plan_diff_report import plan_diff_report
from kafkabal.reporting.plan_report import plan_report


def _headline(outside: int, **options: Any) -> str:
    """The first line of an empty plan that leaves so many brokers outside their disk band."""
    figures = {"outside": outside}
    scores = {"disk": ScoreChange(before=figures, after=figures), "leaders": ScoreChange(before={}, after={})}
    return plan_report(Plan(partitions=(), options=options, scores=scores), "rebalance plan").headline


def test_an_even_cluster_has_every_score_inside_its_band() -> None:
    """Whatever was requested, there is nothing to do if nothing is outside."""
    assert _headline(0) == _headline(0, mode="leaders-only") == "nothing to do: all scores are inside their bands"


def test_an_empty_repair_answers_what_was_asked() -> None:
    """Whether the scores are inside their bands comes second."""
    assert _headline(0, mode="repair-only") == "nothing to repair"
    assert _headline(2, mode="repair-only") == "nothing to repair; outside their bands: disk"


def test_an_empty_plan_without_scores_says_nothing_about_bands() -> None:
    """An empty file of Kafka's own tool has no scores, so whether they are inside their bands is unknown."""
    headline = plan_report(Plan(partitions=(), scores={}), "rebalance show").headline
    assert headline == "nothing to do: the plan contains no partition"


def test_the_bytes_of_a_plan_of_another_tool_are_unknown() -> None:
    """A file of Kafka's own tool does not say where replicas were: its bytes are unknown, not 0."""
    change = PartitionChange(topic="t", partition=0, replicas=(2, 3), log_dirs=("any", "any"))
    report = plan_report(Plan(partitions=(change,)), "rebalance show")
    assert report.headline.startswith("1 partition changes; bytes unknown: ")
    document = json.loads(render(report, "json", OutputCapabilities()))
    assert (document["moved_bytes"], document["moves"][0]["bytes"]) == (None, None)


def test_a_plan_of_another_tool_is_not_said_to_move_fewer_bytes() -> None:
    """Its bytes are unknown, not 0, also where it is compared with a plan of ours, or explained."""
    there = Placement(replicas=(1, 2), leader=1, log_dirs=("any", "any"))
    foreign = PartitionChange(topic="t", partition=0, replicas=(2, 3), log_dirs=("any", "any"))
    ours = replace(foreign, replicas=(1, 3), previous=there, bytes=10)
    report = plan_diff_report(Plan(partitions=(ours,)), Plan(partitions=(foreign,)))
    assert report.headline == (
        "1 partition differs; bytes unknown: the plan of another tool does not say where replicas were"
    )
    document = json.loads(render(report, "json", OutputCapabilities()))
    assert (document["first_moved_bytes"], document["second_moved_bytes"]) == (10, None)
    assert (document["differences"][0]["first_bytes"], document["differences"][0]["second_bytes"]) == (10, None)
    assert explanation_report(foreign).headline == (
        "t-0 ends on brokers 2 and 3; bytes unknown: the plan of another tool does not say where replicas were. "
        "The plan gives no reason."
    )


@pytest.mark.parametrize("unknown", ["imported", "", None])
def test_a_plan_of_an_unknown_cluster_is_not_of_another_one(unknown: str | None) -> None:
    """A plan for an imported snapshot may be for the same cluster as one that has its id."""
    known = Plan(partitions=(), cluster_id="Mk")
    assert plan_diff_report(known, Plan(partitions=(), cluster_id=unknown)).notes == ()
    assert plan_diff_report(known, Plan(partitions=(), cluster_id="Xy")).notes


def test_an_empty_plan_of_a_broken_cluster_does_not_call_it_balanced() -> None:
    """What stays broken comes first: bands leave out dead brokers, so all scores may be inside them."""
    plan = Plan(partitions=(), scores={}, unrepaired=("no broker can take the replicas on dead brokers of t-0",))
    assert plan_report(plan, "rebalance plan").headline == "nothing to do: what is broken cannot be repaired now"


@pytest.mark.parametrize("options", [{"mode": "leaders-only"}, {"mode": "only-to-new"}, {"below": 0.85}])
def test_results_for_some_topics_are_not_reported_for_the_cluster(options: dict[str, Any]) -> None:
    """If the plan was not to bring all scores into their bands, remaining ones are reported as out of scope."""
    assert _headline(5, **options) == "nothing to do within the requested scope; still outside their bands: disk"


def test_unreachable_bands_are_not_reported_as_balanced() -> None:
    """An empty full plan names the scores that no change improves, and whether limits prevent more."""
    assert _headline(5, tolerance=0.09) == "nothing to do: no change improves the scores outside their bands: disk"
    assert "no change within the limits improves" in _headline(5, max_bytes=1)


def test_counts_of_a_plan_file_are_whole() -> None:
    """A plan file holds figures as floats; holders outside their band are counted as when the plan was made."""
    scores = {"disk": ScoreChange(before={"outside": 4.0, "skew": 1.0}, after={"outside": 0.0, "skew": 0.07})}
    report = plan_report(Plan(partitions=(), scores=scores), "rebalance apply")
    counts = {column.key: column.values for table in report.tables for column in table.columns}
    assert (counts["outside_before"], counts["outside_after"]) == ([4], [0])
    assert "4.00" not in render(report, "table", OutputCapabilities())
