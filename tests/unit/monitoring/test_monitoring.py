"""The files for Prometheus, Alertmanager and Grafana: well formed, and of metrics that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafkabal.inspection.inspect_cluster import inspect_cluster
from kafkabal.model.builder import build_cluster
from kafkabal.model.rows import BrokerRow, HeaderRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.reporting.drawable_area import PLAIN
from kafkabal.reporting.inspection.inspection_report import inspection_report
from kafkabal.reporting.output_formats import render

FOLDER = Path(__file__).parents[3] / "monitoring"
DASHBOARD = FOLDER / "grafana" / "kafkabal.json"


@pytest.fixture(scope="module")
def metrics() -> set[str]:
    """Names of all that ``inspect -o prometheus`` exposes."""
    dirs = [LogDirRow(path="/d", total_bytes=1000, usable_bytes=500)]
    cluster = build_cluster(
        HeaderRow(kafkabal_snapshot=1, cluster_id="c", taken_at="2026-01-01T00:00:00Z"),
        [BrokerRow(broker=1, log_dirs=dirs)],
        [TopicRow(topic="t", partitions=[PartitionRow(partition=0, leader=1, replicas=[1], sizes=[1], log_dirs=[0])])],
    )
    text = render(inspection_report(inspect_cluster(cluster, ()), read_at_s=1.0), "prometheus", PLAIN)
    return set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))


def expressions() -> list[tuple[str, str]]:
    """Every expression of an alert or a panel, with the name of what it is in."""
    rules = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [(rule["alert"], rule["expr"]) for rule in rules] + [
        (panel["title"], target["expr"]) for panel in panels for target in panel["targets"]
    ]


@pytest.mark.parametrize(("name", "expression"), expressions(), ids=[name for name, _ in expressions()])
def test_expressions_use_metrics_that_exist(metrics: set[str], name: str, expression: str) -> None:
    """An alert or panel of a metric that nobody exposes would stay silent for ever."""
    used = set(re.findall(r"\bkafkabal_\w+", expression))
    assert used
    assert used <= metrics


def test_every_alert_is_described() -> None:
    """The table of the README names exactly the alerts, and each says what to do."""
    rules: list[dict[str, Any]] = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
    described = re.findall(r"^\| `(\w+)` \|", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert described == [rule["alert"] for rule in rules]
    assert all("kafkabal" in rule["annotations"]["action"] for rule in rules)


def test_configs_refer_to_each_other() -> None:
    """Prometheus loads the alerts that are here, and Alertmanager inhibits only alerts that exist."""
    prometheus = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    assert prometheus["rule_files"] == ["alerts.yml"]
    alerts = {rule["alert"] for rule in yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]}
    inhibited = set(re.findall(r"Kafka\w+", (FOLDER / "alertmanager.yml").read_text()))
    assert inhibited <= alerts


def test_panels_do_not_overlap() -> None:
    """No panel of the dashboard lies on another."""
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken
        taken |= cells
        assert at["x"] + at["w"] <= 24
