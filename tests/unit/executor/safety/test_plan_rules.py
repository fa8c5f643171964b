"""Rules of the planner, applied to plans from files."""

from __future__ import annotations

import numpy as np
import pytest

from kafkabal.executor.safety.plan_rules import PlannedRows
from kafkabal.plan import PartitionChange, Plan
from kafkabal.testing import SyntheticWorld, make_world


@pytest.mark.parametrize("seed", range(6))
def test_a_narrower_spread_is_found_as_by_sets(seed: int) -> None:
    """For random replicas and factors: fewer racks than before are reported if the replicas could span more."""
    state = make_world(SyntheticWorld(seed=seed, brokers=7, racks=seed % 4, topics=20, dead=seed % 3, rack_blind=True))
    rng = np.random.default_rng(seed)
    ids = state.brokers.id.tolist()
    rack = {b: int(r) if r >= 0 else -b - 1 for b, r in zip(ids, state.brokers.rack.tolist(), strict=True)}
    live = {b for b, is_live in zip(ids, state.brokers.is_live.tolist(), strict=True) if is_live}
    changes, narrower = [], []
    for row, (topic, number) in enumerate(
        zip(state.partitions.topic.tolist(), state.partitions.number.tolist(), strict=True)
    ):
        first, end = state.partitions.first[row : row + 2].tolist()
        held = [ids[b] for b in state.replicas.broker[first:end].tolist()]
        chosen = tuple(rng.choice(ids, int(rng.integers(1, 6)), replace=False).tolist())
        change = PartitionChange(
            topic=state.topics.name[topic], partition=number, replicas=chosen, log_dirs=("any",) * len(chosen)
        )
        changes.append(change)
        before, after = len({rack[b] for b in held if b in live}), len({rack[b] for b in chosen})
        if after < min(before, len(chosen)):
            narrower.append(f"{change.name} from {before} to {after}")
    # without racks each broker is one, and in a single rack nothing becomes narrower
    assert bool(narrower) == (seed % 4 > 1)
    assert sorted(PlannedRows(Plan(partitions=tuple(changes)), state, ()).fewer_racks()) == sorted(narrower)
    assert not list(PlannedRows(Plan(partitions=()), state, ()).fewer_racks())
