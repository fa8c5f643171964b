"""The table of client metrics stays readable whatever clients call themselves."""

from __future__ import annotations

from kafkabal.reporting.client_telemetry_reports import metrics_report
from kafkabal.reporting.output_capabilities import PLAIN, OutputCapabilities
from kafkabal.reporting.render_csv import render as render_csv
from kafkabal.reporting.render_table import render
from kafkabal.telemetry import ClientMetric

CLIENTS = [f"consumer-{'x' * 240}-{n}" for n in range(2)]
REPORT = metrics_report([ClientMetric(c, "lag", 1.0, (("client_id", c), ("node", "1"))) for c in CLIENTS], payloads=2)


def test_long_client_ids_hide_no_column_and_can_be_told_apart() -> None:
    """Ids are shortened in the middle, in the attributes too, on a terminal and in a pipe."""
    for surface in (PLAIN, OutputCapabilities(width=120)):
        rows = [line for line in render(REPORT, surface).splitlines() if line.startswith("consumer")]
        assert all(len(row) < 120 and "node 1" in row for row in rows)
        assert len({row.split()[0] for row in rows}) == len(CLIENTS)


def test_programs_get_client_ids_in_full() -> None:
    """CSV, which programs read, has client ids in full."""
    text = render_csv(REPORT, PLAIN)

    assert all(text.count(client) == 2 for client in CLIENTS)
