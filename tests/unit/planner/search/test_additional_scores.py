"""Additional scores: rates and custom scores are planned for, not only reported."""

from dataclasses import replace

import numpy as np
import pytest

from kafkabal.model.cluster_state import F64, ClusterState
from kafkabal.plan.planned_state import apply_plan
from kafkabal.planner.plan_options import Mode, PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.scoring.bands import RelativeBand
from kafkabal.scoring.evaluation import evaluate
from kafkabal.scoring.registry import WeightedScore, default_scores, load_scores
from kafkabal.scoring.score_protocol import ScoreBase
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world

TOLERANCE = 0.1
USUAL = default_scores(several_log_dirs=False)


class Heat(ScoreBase):
    """A load that every replica brings, whichever leads."""

    name = "heat"
    unit = "degrees"
    meaning = "warmth of the replicas on a broker"
    band = RelativeBand()

    def replica_load(self, cluster: ClusterState) -> F64:
        """Some partitions are hot, whatever their size."""
        return np.where(cluster.replicas.partition % 7 == 0, 10.0, 1.0)


def rated(seed: int, replication_factor: int = 3) -> ClusterState:
    """An uneven cluster whose producers and consumers are uneven in another way."""
    state = make_world(SyntheticWorld(seed=seed, replication_factor=replication_factor))
    rng = np.random.default_rng(seed)
    rate = rng.exponential(1e5, len(state.partitions))
    return replace(state, partitions=replace(state.partitions, in_bytes_per_s=rate, out_bytes_per_s=rate * 2))


def outside(state: ClusterState, scores: tuple[WeightedScore, ...]) -> dict[str, int]:
    """How many brokers are outside the band of each score, computed by the scores themselves."""
    return {w.score.name: int(evaluate(w.score, state, tolerance=TOLERANCE).outside.sum()) for w in scores}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("additional", [["leader-bytes-in"], ["leader-bytes-in", "bytes-out"]], ids=len)
def test_rates_come_inside_their_bands_by_leadership_alone(seed: int, additional: list[str]) -> None:
    """Every chosen score ends inside its band, for as many bytes as the default ones; a second plan is empty."""
    state, scores = rated(seed), (*USUAL, *load_scores(additional))
    usual, plan = (make_plan(state, PlanOptions(scores=s, tolerance=TOLERANCE)) for s in (USUAL, scores))
    after = apply_plan(state, plan)

    assert outside(state, scores)["leader-bytes-in"] > 0
    assert set(outside(after, scores).values()) == {0}
    assert plan.moved_bytes == usual.moved_bytes
    assert make_plan(after, PlanOptions(scores=scores, tolerance=TOLERANCE)).partitions == ()


@pytest.mark.parametrize("seed", range(3))
def test_replicas_are_exchanged_where_leadership_cannot_help(seed: int) -> None:
    """A load that followers carry too is balanced by moves, and bytes and counts stay inside their bands."""
    state, scores = rated(seed, replication_factor=2), (*USUAL, WeightedScore(Heat()))
    after = apply_plan(state, make_plan(state, PlanOptions(scores=scores, tolerance=TOLERANCE)))

    assert outside(state, scores)["heat"] > 0
    assert set(outside(after, scores).values()) == {0}


def test_single_copies_are_exchanged_with_their_leadership() -> None:
    """With one replica per partition, a rate can only be balanced by moving replicas."""
    state, scores = rated(5, replication_factor=1), (*USUAL, *load_scores(["leader-bytes-in"]))
    after = apply_plan(state, make_plan(state, PlanOptions(scores=scores, tolerance=TOLERANCE)))

    assert set(outside(after, scores).values()) == {0}


def test_leaders_only_balances_rates_without_moving_bytes() -> None:
    """Changing leaders alone brings the rates closer to balance."""
    state, scores = rated(1), (*USUAL, *load_scores(["leader-bytes-in"]))
    plan = make_plan(state, PlanOptions(scores=scores, tolerance=TOLERANCE, mode=Mode.LEADERS_ONLY))

    assert plan.moved_bytes == 0
    assert plan.scores["leader-bytes-in"].after["skew"] < plan.scores["leader-bytes-in"].before["skew"]


def test_no_more_leaders_change_than_allowed() -> None:
    """The limit on leadership changes binds the rates too."""
    state, scores = rated(1), (*USUAL, *load_scores(["leader-bytes-in"]))
    options = PlanOptions(scores=scores, tolerance=TOLERANCE, mode=Mode.LEADERS_ONLY, max_leader_changes=5)

    assert 0 < len(make_plan(state, options).partitions) <= 5


def test_a_partition_heavier_than_the_band_is_reported() -> None:
    """A partition that alone exceeds the band is named with its broker, and the rest is still planned."""
    state = rated(2)
    rate = state.partitions.in_bytes_per_s.copy()
    rate[0] = rate.sum()
    state = replace(state, partitions=replace(state.partitions, in_bytes_per_s=rate))
    plan = make_plan(state, PlanOptions(scores=(*USUAL, *load_scores(["leader-bytes-in"])), tolerance=TOLERANCE))

    assert any("its fair share by leader-bytes-in" in warning for warning in plan.warnings)
    assert {plan.scores[w.score.name].after["outside"] for w in USUAL} == {0}
