"""Some of the random runs; ``python -m tools.seeds`` runs as many as there is time for."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkabal.executor.throttle import run_throttles
from kafkabal.executor.throttle.throttle_rules import NOTHING
from tools.seeds.drawn_run import FIRST_WITH_LATE_REQUESTS, drawn_run

SEEDS = (199, 386, 857, 931, 1097, 1657, 1735, 41334, 46413, 1022169)
"""Those that have failed before."""


@pytest.mark.parametrize("seed", SEEDS)
def test_seed_that_has_failed(seed: int, tmp_path: Path) -> None:
    """Seeds that once failed pass."""
    assert drawn_run(seed, tmp_path) == ""


def test_first_seeds(tmp_path: Path) -> None:
    """Whatever is drawn, the plan is executed or rolled back, and nothing is left behind."""
    assert [fault for seed in range(1, 61) if (fault := drawn_run(seed, tmp_path))] == []


def test_seeds_with_late_requests(tmp_path: Path) -> None:
    """The same if a suspended process sends a request late, or another host rolls its run back meanwhile."""
    seeds = range(FIRST_WITH_LATE_REQUESTS, FIRST_WITH_LATE_REQUESTS + 40)
    assert [fault for seed in seeds if (fault := drawn_run(seed, tmp_path))] == []


def test_fault_is_reported_with_its_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing run reports its seed and its events."""
    monkeypatch.setattr(run_throttles, "restore_rate", lambda *_: NOTHING)
    faults = [fault for seed in range(1, 30) if (fault := drawn_run(seed, tmp_path))]
    assert faults
    assert faults[0].startswith("seed ")
    assert "not as operators have set them" in faults[0]
