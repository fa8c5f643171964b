"""``kafkabal inspect --by rack``: bytes across racks, their price, and hierarchical racks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MB = 10**6


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """Three brokers in two data centres; producers write 1 MB/s to broker 1, which is copied to the others."""
    lines: list[dict[str, Any]] = [
        {"kafkabal_snapshot": 1, "cluster_id": "c", "taken_at": "2026-01-01T00:00:00Z"},
        *({"broker": b, "rack": rack} for b, rack in ((1, "dc1/r1"), (2, "dc1/r2"), (3, "dc2/r1"))),
    ]
    row = {"partition": 0, "leader": 1, "replicas": [1, 2, 3], "sizes": [MB, MB, MB]}
    lines.append({"topic": "t", "partitions": [{**row, "in_bytes_per_s": MB, "out_bytes_per_s": 2 * MB}]})
    path = tmp_path / "c.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


def traffic(text: str) -> dict[str, dict[str, Any]]:
    """Rows by rack."""
    return {row["rack"]: row for row in json.loads(text)["rack_traffic"]}


def test_bytes_and_price_across_racks(run_cli: Callable[..., Any], snapshot: str) -> None:
    """2 MB/s leave the leader's rack, which is 5184 GB in 30 days."""
    words = ("inspect", "--by", "rack", "--snapshot", snapshot, "--price-per-gb", "0.02")
    shown = run_cli(*words, "-o", "json")
    assert shown.code == 0, shown.err
    row = traffic(shown.out)["dc1/r1"]
    assert row["replicated_out_bytes_per_s"] == 2 * MB
    assert row["replication_cost_per_month"] == pytest.approx(2 * MB * 30 * 86400 / 1e9 * 0.02)
    assert row["clients_across_bytes_per_s"] == pytest.approx(3 * MB * 2 / 3)
    table = run_cli(*words).out
    assert "Across racks" in table
    assert "if clients are spread evenly" in table
    assert (
        'kafkabal_rack_replicated_out_bytes_per_second{cluster="c",rack="dc1/r1"}'
        in run_cli(*words, "-o", "prometheus").out
    )


def test_an_idle_cluster_has_no_traffic_across_racks(run_cli: Callable[..., Any], snapshot: str) -> None:
    """Rates measured as zero are shown; without them the table would only list racks."""
    idle = Path(snapshot)
    idle.write_text(
        idle.read_text().replace(str(2 * MB), "0").replace(f'"in_bytes_per_s": {MB}', '"in_bytes_per_s": 0')
    )
    table = run_cli("inspect", "--by", "rack", "--snapshot", snapshot, "--price-per-gb", "0.02").out
    _, _, across = table.partition("Across racks\n")
    assert "copied out" in across.splitlines()[0]
    assert "clients* a month" in across.splitlines()[0]
    assert across.splitlines()[1].count("0 B/s") == 5


def test_a_level_groups_racks(run_cli: Callable[..., Any], snapshot: str) -> None:
    """Only bytes that leave the data centre remain, in both tables."""
    shown = run_cli("inspect", "--by", "rack", "--rack-level", "1", "--snapshot", snapshot, "-o", "json")
    assert traffic(shown.out)["dc1"]["replicated_out_bytes_per_s"] == MB
    assert {row["rack"]: row["brokers"] for row in json.loads(shown.out)["racks"]} == {"dc1": 2, "dc2": 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--rack-level", "1"], "--rack-level requires --by rack"),
        (["--price-per-gb", "1"], "--price-per-gb requires --by rack"),
        (["--by", "rack", "--price-per-gb", "-1"], "--price-per-gb must not be negative"),
        (["--by", "rack", "--rack-level", "0"], "must be"),
    ],
)
def test_options_without_effect_are_refused(
    run_cli: Callable[..., Any], snapshot: str, words: list[str], message: str
) -> None:
    """An option without effect is refused in one clear line."""
    refused = run_cli("inspect", "--snapshot", snapshot, *words)
    assert refused.code == 2
    assert message in refused.err
