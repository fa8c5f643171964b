"""The share formula stands in one place, and what reports a share uses it."""

import re
from pathlib import Path

import numpy as np
import pytest

import kafkabal
from kafkabal.scoring import fair_shares, shares_by_group
from kafkabal.simulator import max_over_mean

ONE_PLACE = Path("scoring/shares.py")
DIVISION_BY_FAIR = re.compile(r"^(?!\s*#).*[^/] / \(?[\w.]*(fair|due)(_(bytes|count|load))?\b(?!\[)", re.MULTILINE)


def test_share_is_load_over_due_times_mean() -> None:
    """The three ways to name what is fair give the same share."""
    load, capacity = np.array([30.0, 10.0]), np.array([40.0, 10.0])

    shares, fair = shares_by_group(load, capacity, np.ones(2, np.bool_), np.zeros(2, np.int32))

    assert shares.tolist() == [0.9375, 1.25]
    assert fair_shares(load, fair) == pytest.approx(shares)
    assert fair_shares(load, capacity, 0.8) == pytest.approx(shares)


def test_simulated_brokers_are_compared_by_capacity() -> None:
    """Where capacities differ, the fullest broker of a simulation has the share that ``disk`` gives it."""
    assert max_over_mean(np.array([30.0, 10.0]), np.array([40.0, 10.0])) == 1.25


def test_only_shares_divides_by_fair_utilisation() -> None:
    """A share that is computed anywhere else can drift from the one that ``inspect`` shows."""
    package = Path(kafkabal.__file__).parent
    found = [
        f"{path.relative_to(package)}: {match.group().strip()}"
        for path in sorted(package.rglob("*.py"))
        if path.relative_to(package) != ONE_PLACE and path.name != "score_protocol.py"
        for match in DIVISION_BY_FAIR.finditer(path.read_text())
    ]

    assert found == []
