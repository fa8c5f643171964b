"""``kafkabal rebalance simulate``: its output, and the case files that it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.errors import ExitCode
from kafkabal.testing.cluster_builders import brokers, cluster, topic

CASE = """\
kafkabal_case: 1
step: 12h
growth: {noise: 30%}
faults: [{broker: 4, at: 1d, for: 3h}]
watch: {heal: all, throttle: none}
"""


@pytest.fixture
def simulated(run_cli: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Simulate a case on four brokers."""
    rows = [(b % 4 + 1, (b + 1) % 4 + 1) for b in range(16)]
    snapshot, case = tmp_path / "c.jsonl", tmp_path / "case.yaml"
    write_snapshot(cluster(brokers(4), [topic("t", *rows)]), snapshot)

    def run(text: str, *words: str) -> Any:
        case.write_text(text)
        return run_cli("rebalance", "simulate", "--case", str(case), "--snapshot", str(snapshot), *words)

    return run


def test_a_broker_that_dies_is_repaired_and_filled(simulated: Callable[..., Any]) -> None:
    """The death, the repair and the filling are shown, every promise is kept, and programs get the same data."""
    found = simulated(CASE, "--days", "3", "--check", "-o", "json")

    document = json.loads(found.out)
    assert found.code == ExitCode.DONE
    assert [row["healing"] for row in document["healings"] if row["moved_bytes"]] == ["repair", "fill"]
    assert "broker-dead" in {row["event"] for row in document["events"]}
    assert all(row["kept"] for row in document["promises"])
    assert [row["limit"] for row in document["promises"]] == ["none", "none", "at least 99%", "at most 1.10"]


def test_people_get_a_line_and_tables(simulated: Callable[..., Any]) -> None:
    """The first line has the result."""
    found = simulated(CASE, "--days", "2")

    assert found.out.startswith("2 days, ")
    assert "every promise kept" in found.out.splitlines()[0]


def test_what_comes_after_the_simulated_days_is_named(simulated: Callable[..., Any]) -> None:
    """A fault that the days do not reach is not left out silently."""
    found = simulated(CASE, "--days", "1")

    assert found.out.startswith("1 day, ")
    assert found.err.endswith("case.yaml: not simulated, after 1 day: 1 event\n")


def test_a_broken_promise_is_marked_no(simulated: Callable[..., Any]) -> None:
    """A window that never opens keeps the cluster outside its bands: the table and the exit code say so."""
    found = simulated(CASE.replace("throttle: none", 'throttle: none, window: "01:00-01:01"'), "--days", "2", "--check")

    assert found.code == ExitCode.FINDINGS
    row = next(line for line in found.out.splitlines() if line.startswith("time inside the outer band"))
    assert row.split()[-1] == "no"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "case.yaml: is empty"),
        ("seed: 1\n", "no kafkabal_case"),
        ("kafkabal_case: 2\n", "version 2 is later than 1"),
        ("kafkabal_case: 0\n", "must be above 0"),
        ("kafkabal_case: 1\nfault: []\n", "unknown key in a case: 'fault'"),
        ("kafkabal_case: 1\nstep: 1s\n", "step must be 1 min to 1 d, not 1s"),
        ("kafkabal_case: 1\ngrowth: {per_day: 2000%}\n", "per_day must be -100% to 1000%, not 2000%"),
        ("kafkabal_case: 1\ngrowth: {per_day: 99999%}\n", "per_day must be"),
        ("kafkabal_case: 1\nfaults: [{broker: 4, at: 1d}]\n", "a fault without for"),
        ("kafkabal_case: 1\nfaults: {broker: 4}\n", "expected a list"),
        ("kafkabal_case: 1\nfaults: [{broker: 9, at: 1d, for: 1h}]\n", "unknown broker in a fault: 9"),
        ("kafkabal_case: 1\nnew_brokers: [{broker: 4, at: 1d, like: 1}]\n", "already in the cluster"),
        ("kafkabal_case: 1\nnew_brokers: [{broker: 9, at: 1d, like: 8}]\n", "unknown broker in 'like': 8"),
        (
            "kafkabal_case: 1\nrandom_faults: {every: 1s, for: 1s}\n",
            "random_faults: 86,400 in 1 day exceed the limit of 10,000",
        ),
        ("kafkabal_case: 1\nwatch: {rebalance_above: 5%}\n", "rebalance_above must exceed tolerance"),
        ("kafkabal_case: 1\nseed: 99999999999999999999999\n", "number too large"),
        ("&a [*a]", "line 1"),
        ("\x00", "line 1"),
    ],
)
def test_an_invalid_case_is_refused(simulated: Callable[..., Any], tmp_path: Path, text: str, why: str) -> None:
    """An invalid case ends with exit 2 and one line that names the file and the fault."""
    found = simulated(text, "--days", "1")

    assert found.code == ExitCode.USAGE, found.err
    assert f"error: {tmp_path / 'case.yaml'}" in found.err
    assert why in found.err
    assert "Traceback" not in found.err
