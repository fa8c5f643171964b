"""Plans for several tolerances, where a search may find a cheaper plan for a narrower one."""

import pytest

from kafkabal.model import ClusterState
from kafkabal.plan import PartitionChange, Plan, ScoreChange
from kafkabal.planner import tolerance_frontier
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.tolerance_frontier import FrontierPoint, frontier
from kafkabal.testing.cluster_builders import brokers, cluster

FOUND = tuple[int, int, int | None]
"""Bytes that a plan moves, what it leaves outside, and its bound."""


def shown(monkeypatch: pytest.MonkeyPatch, found: dict[float, FOUND]) -> list[FrontierPoint]:
    """The points of a planner that finds these plans, by tolerance."""

    def make_plan(state: ClusterState, options: PlanOptions) -> Plan:
        moved, outside, bound = found[options.tolerance]
        change = PartitionChange(topic="t", partition=0, replicas=(1,), log_dirs=("any",), bytes=moved)
        disk = ScoreChange(before={}, after={"skew": options.tolerance, "outside": outside})
        return Plan(partitions=(change,), options=options.as_json(), bound_bytes=bound, scores={"disk": disk})

    monkeypatch.setattr(tolerance_frontier, "make_plan", make_plan)
    return list(frontier(cluster(brokers(1), []), PlanOptions(), tolerances=tuple(reversed(found))))


def test_a_cheaper_plan_for_a_narrower_tolerance_is_used_for_wider_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is inside their bands too; once a wider tolerance has a cheaper one, that is used."""
    points = shown(monkeypatch, {0.02: (100, 0, 90), 0.05: (120, 0, 80), 0.09: (110, 0, 105), 0.2: (50, 0, 40)})

    assert [p.tolerance for p in points] == [0.02, 0.05, 0.09, 0.2]
    assert [p.plan_tolerance for p in points] == [0.02, 0.02, 0.02, 0.2]
    assert [p.moved_bytes for p in points] == [100, 100, 100, 50]
    assert [p.disk_skew for p in points] == [0.02, 0.02, 0.02, 0.2]


def test_a_bound_of_a_wider_tolerance_holds_for_narrower_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bound is below that of a wider tolerance, nor above the bytes that move."""
    points = shown(monkeypatch, {0.02: (100, 0, 70), 0.05: (120, 0, 80), 0.09: (110, 0, 105), 0.2: (50, 0, 40)})

    assert [p.bound_bytes for p in points] == [100, 100, 100, 40]


def test_a_plan_that_stays_outside_its_bands_is_not_used_for_wider_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """How much of it is outside wider bands is unknown; one that is inside replaces a wider one that is not."""
    points = shown(monkeypatch, {0.02: (10, 3, None), 0.05: (120, 0, 80), 0.09: (110, 1, None)})

    assert [p.plan_tolerance for p in points] == [0.02, 0.05, 0.05]
    assert [p.outside for p in points] == [3, 0, 0]
    assert [p.bound_bytes for p in points] == [None, 80, None]
