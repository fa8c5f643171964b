"""The files for Prometheus, Alertmanager and Grafana are well formed, and use existing metrics."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from kafkabal.executor.run_events import Finished, PhaseEntered, RunProgress, Started
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome
from kafkabal.inspection.inspection import inspect_cluster
from kafkabal.model.cluster_rows import BrokerRow, HeaderRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.model.rows_to_state import build_cluster
from kafkabal.reporting.client_telemetry_reports import errors_report, latency_report
from kafkabal.reporting.inspection.inspection_report import inspection_report
from kafkabal.reporting.output_capabilities import PLAIN
from kafkabal.reporting.output_formats import render
from kafkabal.reporting.runs.run_textfile import RunTextfile
from kafkabal.reporting.textfile_writer import TextfileWriter
from kafkabal.reporting.transfer_textfile import TransferTextfile
from kafkabal.reporting.watch_report import WatchTextfile
from kafkabal.scoring import select_scores
from kafkabal.telemetry import TopicErrors
from kafkabal.watch import BrokerHealth, EventKind, WatchEvent
from kafkabal.watch.state_findings import NOTHING_FOUND

STARTED = Started(
    run_id="r",
    goal=Goal.APPLY,
    partitions=1,
    copy_bytes=1,
    log_dir_bytes=0,
    predicted_s=None,
    lock_scope="cluster",
    throttle_bytes_per_s=None,
    log_dir_throttle_bytes_per_s=None,
    has_cluster_record=True,
)
PROGRESS = RunProgress(
    done_bytes=0,
    total_bytes=1,
    done_partitions=0,
    total_partitions=1,
    in_flight=1,
    waiting=0,
    postponed=0,
    bytes_per_s=0.0,
    left_s=None,
    arriving_bytes={},
)
FINISHED = Finished(
    run_id="r",
    outcome=RunOutcome.COMPLETE,
    done_partitions=1,
    total_partitions=1,
    done_bytes=1,
    elapsed_s=1.0,
    problems={},
    pending=[],
)
FOLDER = Path(__file__).parents[3] / "monitoring"
DASHBOARD = FOLDER / "kafkabal.json"


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of all that ``inspect -o prometheus`` and ``rebalance --textfile`` expose."""
    dirs = [LogDirRow(path="/d", total_bytes=1000, usable_bytes=500)]
    cluster = build_cluster(
        HeaderRow(kafkabal_snapshot=1, cluster_id="c", taken_at="2026-01-01T00:00:00Z"),
        [BrokerRow(broker=1, log_dirs=dirs)],
        [TopicRow(topic="t", partitions=[PartitionRow(partition=0, leader=1, replicas=[1], sizes=[1], log_dirs=[0])])],
    )
    text = render(
        inspection_report(inspect_cluster(cluster, select_scores(cluster)), read_at_s=1.0, full_s=1.0),
        "prometheus",
        PLAIN,
    )
    written = text + _metrics_of_a_run(tmp_path_factory) + _metrics_of_a_watch(tmp_path_factory)
    written += _metrics_of_a_transfer(tmp_path_factory)
    written += render(errors_report([TopicErrors("t", 1.0, 1)], payloads=1, cluster="c"), "prometheus", PLAIN)
    written += render(latency_report({1: 0.1}, [1], payloads=1, cluster="c"), "prometheus", PLAIN)
    return {"up", *re.findall(r"^# TYPE (\w+)", written, re.MULTILINE)}


def _writer(path: Path) -> TextfileWriter:
    return TextfileWriter(path, {"cluster": "c"}, lambda: 0.0, pytest.fail)


def _metrics_of_a_run(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What ``rebalance --textfile`` exposes at the end."""
    path = tmp_path_factory.mktemp("textfile") / "run.prom"
    textfile = RunTextfile(_writer(path))
    for event in (STARTED, PROGRESS, FINISHED):
        textfile.on_event(event)
    return path.read_text()


def _metrics_of_a_transfer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What ``produce --textfile`` exposes at the end."""
    path = tmp_path_factory.mktemp("textfile") / "produce.prom"
    with TransferTextfile(path, "produce", {"cluster": "c", "topic": "t"}, lambda: 0.0, pytest.fail):
        pass
    return path.read_text()


def _metrics_of_a_watch(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What ``watch --textfile`` exposes."""
    path = tmp_path_factory.mktemp("textfile") / "watch.prom"
    summary: Any = SimpleNamespace(
        health={1: BrokerHealth.WELL},
        findings=replace(NOTHING_FOUND, under_min_isr=0),
        read_at_s=0.0,
        responses_s={1: 0.002},
    )
    textfile = WatchTextfile(_writer(path))
    textfile.on_event(WatchEvent(at="1970-01-01T00:01:00.000+00:00", event=EventKind.HEALING_FAILED, message=""))
    textfile.on_event(summary)
    text = path.read_text()
    # the library's own counters add a time of creation, which would be that of the last write
    assert "kafkabal_watch_events_total" in text
    assert "_created" not in text
    at = [line for line in text.splitlines() if line.startswith("kafkabal_watch_last_event_timestamp_seconds")]
    assert at == ['kafkabal_watch_last_event_timestamp_seconds{cluster="c",event="healing-failed"} 60.0']
    assert 'kafkabal_watch_broker_response_seconds{broker="1",cluster="c"} 0.002' in text
    return text


def test_a_watch_that_has_never_read_its_cluster_says_so(tmp_path: Path) -> None:
    """The time of its last reading is 0, not missing: an alert on a missing time would stay silent."""
    summary: Any = SimpleNamespace(
        health={},
        findings=NOTHING_FOUND,
        read_at_s=None,
        responses_s={},
    )
    WatchTextfile(_writer(tmp_path / "watch.prom")).on_event(summary)
    text = (tmp_path / "watch.prom").read_text()
    assert 'kafkabal_watch_last_success_timestamp_seconds{cluster="c"} 0.0\n' in text
    assert "min_isr" not in text  # unknown is not 0


def test_a_run_outside_its_window_is_not_reported_as_stuck(tmp_path: Path) -> None:
    """The textfile says so at once, and no longer once the run moves or has ended."""
    path = tmp_path / "run.prom"
    textfile = RunTextfile(_writer(path))
    paused, moving = PhaseEntered(phase=Phase.PAUSED, opens_in_s=60.0), PhaseEntered(phase=Phase.MOVING)
    reported = []
    for event in (STARTED, paused, moving, paused, FINISHED):
        textfile.on_event(event)
        reported.append(path.exists() and 'kafkabal_rebalance_paused{cluster="c"} 1.0' in path.read_text())
    assert reported == [False, True, False, True, False]


def expressions() -> list[tuple[str, str]]:
    """Every expression of an alert or a panel, with the name of what it is in."""
    rules = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [(rule["alert"], rule["expr"]) for rule in rules] + [
        (panel["title"], target["expr"]) for panel in panels for target in panel["targets"]
    ]


@pytest.mark.parametrize(("name", "expression"), expressions(), ids=[name for name, _ in expressions()])
def test_expressions_use_metrics_that_exist(metrics: set[str], name: str, expression: str) -> None:
    """An alert or panel on a metric that no command writes would stay silent forever."""
    used = set(re.findall(r"\b(?:kafkabal_\w+|up)\b", expression))
    assert used
    assert used <= metrics


def test_every_metric_is_described(metrics: set[str]) -> None:
    """The page of metrics names all of them, and none that nothing exposes; those of other rows only as examples."""
    page = (FOLDER.parent / "docs" / "metrics.md").read_text()
    rows = "\n".join(line.split("|")[1] for line in page.splitlines() if line.startswith("|"))
    described = set(re.findall(r"`(kafkabal_\w+)`", rows))
    assert described == metrics - {"up"}


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
    """No panel of the dashboard overlaps another."""
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken
        taken |= cells
        assert at["x"] + at["w"] <= 24


def test_lines_of_two_clusters_are_told_apart() -> None:
    """The legend of every line names its cluster: a broker 1 is in each of them."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    lines = [target for panel in panels if panel["type"] == "timeseries" for target in panel["targets"]]
    assert lines
    assert all(line["legendFormat"].startswith("{{cluster}}") for line in lines)


def test_the_dashboard_has_all_fields_that_grafana_requires() -> None:
    """Its annotations, and for a multi-value variable the initial choice: all clusters."""
    dashboard = json.loads(DASHBOARD.read_text())
    (cluster,) = [variable for variable in dashboard["templating"]["list"] if variable.get("multi")]
    assert cluster["current"] == {"text": ["All"], "value": ["$__all"]}
    assert dashboard["annotations"] == {"list": []}


def test_every_metric_names_its_cluster(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Files of two clusters in one folder have no series in common, also those of runs."""
    rows = HeaderRow(kafkabal_snapshot=1, cluster_id="id", taken_at="2026-01-01T00:00:00Z")
    dirs = [LogDirRow(path="/d", total_bytes=1000, usable_bytes=500)]
    inspection = inspect_cluster(build_cluster(rows, [BrokerRow(broker=1, log_dirs=dirs)], []), ())

    def series(cluster: str) -> set[str]:
        text = render(inspection_report(inspection, read_at_s=1.0, cluster_label=cluster), "prometheus", PLAIN)
        return {line.split(" ")[0] for line in text.splitlines() if not line.startswith("#")}

    assert series("a")
    assert not series("a") & series("b")
    assert all('cluster="id"' in line for line in series(""))
    of_run = [line for line in _metrics_of_a_run(tmp_path_factory).splitlines() if not line.startswith("#")]
    assert all('{cluster="c"}' in line for line in of_run)


def test_every_alert_is_tested_firing_and_not_firing() -> None:
    """The cases for promtool hold, for each alert, one that fires and one that does not."""
    cases = yaml.safe_load((FOLDER / "tests" / "alerts_test.yml").read_text())["tests"]
    played = {(test["alertname"], bool(test["exp_alerts"])) for case in cases for test in case["alert_rule_test"]}
    rules = yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"][0]["rules"]
    assert played == {(rule["alert"], fires) for rule in rules for fires in (True, False)}


@pytest.mark.parametrize(
    "words",
    [
        ["promtool", "check", "rules", "alerts.yml"],
        ["promtool", "test", "rules", "tests/alerts_test.yml"],
        ["promtool", "check", "config", "prometheus.yml"],
        ["amtool", "check-config", "alertmanager.yml"],
    ],
    ids=" ".join,
)
def test_prometheus_itself_agrees(words: list[str]) -> None:
    """Prometheus' and Alertmanager's own tools load the files, and the alerts fire as in the test cases."""
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    done = subprocess.run(words, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
