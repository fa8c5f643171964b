"""``--prometheus`` and ``--telemetry`` of commands that read the cluster once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.prometheus_server import prometheus_server

SNAPSHOT = Path(__file__).parent / "snapshots" / "even.jsonl"
VALUES = {1: 1.0, 2: 2.0, 3: 3.0}


@pytest.fixture
def prometheus() -> Iterator[str]:
    """Address of a server that responds like Prometheus."""
    with prometheus_server({f"kafka-{b}": value for b, value in VALUES.items()}) as address:
        yield address


def test_inspect_shows_the_queried_score(run_cli: Callable[..., Any], prometheus: str) -> None:
    """The score has the value of each broker; without the options, the hint names them."""
    words = ("inspect", "--snapshot", str(SNAPSHOT), "--score", "prometheus", "-o", "json")
    refused = run_cli(*words)
    assert refused.code == 2
    assert "--prometheus" in refused.err

    shown = run_cli(*words, "--prometheus", prometheus, "--prometheus-query", "load")
    assert shown.code == 0, shown.err
    loads = {row["broker"]: row["prometheus_load"] for row in json.loads(shown.out)["brokers"]}
    assert {b: loads[b] for b in VALUES} == VALUES


def test_create_places_by_the_queried_score(run_cli: Callable[..., Any], prometheus: str) -> None:
    """The brokers with the lowest value lead the new partitions."""
    words = ("create", "fresh", "-p", "1", "-r", "1", "--dry-run", "--snapshot", str(SNAPSHOT), "-o", "json")
    placed = run_cli(*words, "--score", "prometheus", "--prometheus", prometheus, "--prometheus-query", "load")
    assert placed.code == 0, placed.err
    assert '"fresh"' in placed.out


def test_leaders_are_planned_by_the_queried_score(run_cli: Callable[..., Any], prometheus: str) -> None:
    """The broker with the lowest value gains leadership, the one with the highest gains none; no byte moves."""
    words = ("rebalance", "plan", "--leaders-only", "--score", "prometheus", "--snapshot", str(SNAPSHOT), "-o", "json")
    planned = run_cli(*words, "--prometheus", prometheus, "--prometheus-query", "load")
    assert planned.code == 0, planned.err
    document = json.loads(planned.out)
    assert document["moved_bytes"] == 0
    taken = Counter(move["leader"] for move in document["moves"])
    given = Counter(move["previous_leader"] for move in document["moves"])
    assert taken[1] > given[1] == 0
    assert taken[3] == 0

    refused = run_cli("rebalance", "plan", *words[3:], "--prometheus", prometheus, "--prometheus-query", "load")
    assert refused.code == 2
    assert "--telemetry and --prometheus require --leaders-only" in refused.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--prometheus", "http://x"), "must be given together"),
        (("--telemetry", "topic"), "--telemetry requires a score that uses it"),
        (("--prometheus", "http://x", "--prometheus-query", "q"), "--prometheus requires a score that uses it"),
        (("--telemetry", "topic", "--score", "latency"), "--telemetry requires a live cluster"),
    ],
)
def test_unmeasurable_scores_are_refused(run_cli: Callable[..., Any], words: tuple[str, ...], says: str) -> None:
    """Unmeasurable values end with one line and exit 2."""
    outcome = run_cli("inspect", "--snapshot", str(SNAPSHOT), *words)
    assert (outcome.code, says in outcome.err) == (2, True), outcome.err
