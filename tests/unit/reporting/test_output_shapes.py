"""Documents of commands that need live brokers, with and without anything found, against the published schemas."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import ValidationError

from kafkabal.executor.run_result import RunResult
from kafkabal.executor.safety.stop_request import StopReason
from kafkabal.executor.state.run_states import Goal, RunOutcome
from kafkabal.reporting.client_telemetry_reports import (
    errors_report,
    latency_report,
    metrics_report,
    subscriptions_report,
)
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.output_formats import render
from kafkabal.reporting.report import Report
from kafkabal.reporting.runs.result_report import nothing_report, result_report
from kafkabal.reporting.runs.status_report import status_report as run_status_report
from kafkabal.reporting.sandbox_report import sandbox_report
from kafkabal.telemetry.client_metrics import ClientMetric
from kafkabal.telemetry.produce_errors import TopicErrors
from kafkabal.telemetry.subscriptions import Subscription
from tests.output_schemas import SCHEMAS, check_csv, check_document
from tools.reference.json_schemas import value_schema

RESULT = RunResult(
    run_id="r",
    goal=Goal.ROLL_BACK,
    outcome=RunOutcome.PARTIAL,
    stop_reason=StopReason.MAX_RUNTIME,
    done=1,
    deleted=0,
    total=2,
    copied_bytes=3,
    elapsed_s=4.5,
    problems={"t-0": "why"},
    skipped=0,
    pending=["throttle"],
    journal=Path("/j"),
)
REPORTS = [
    result_report(RESULT, "rebalance rollback"),
    *(result_report(replace(RESULT, stop_reason=reason), "rebalance resume") for reason in StopReason),
    nothing_report("rebalance"),
    nothing_report("rebalance apply"),
    run_status_report(None),
    sandbox_report("sandbox status", ()),
    subscriptions_report([]),
    subscriptions_report([Subscription(name="s", metrics=("a.",), match={"client_id": "x"})]),
    latency_report({}, [], payloads=0, cluster="prod"),
    metrics_report((), payloads=0),
    metrics_report([ClientMetric("c", "m", float("nan"), (("node", "1"),))], payloads=1),
    latency_report({1: 0.25}, [1, 2], payloads=9, cluster="prod"),
    errors_report([], payloads=0, cluster="prod"),
    errors_report([TopicErrors("images", 1200.0, 2)], payloads=9, cluster="prod"),
]


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.command)
def test_a_document_has_the_shape_that_is_published(report: Report) -> None:
    """JSON has every key of the schema and no other, and CSV its columns, whether or not there is a row."""
    check_document(json.loads(render(report, "json", OutputCapabilities())))
    check_csv(render(report, "csv", OutputCapabilities()), report.command)


def test_extra_and_missing_keys_are_noticed() -> None:
    """The schemas are strict: a forgotten key and an unknown one both fail."""
    document = json.loads(render(nothing_report("rebalance"), "json", OutputCapabilities()))
    with pytest.raises(ValidationError, match="extra"):
        check_document({**document, "extra": 1})
    del document["problems"]
    with pytest.raises(ValidationError, match="problems"):
        check_document(document)


def test_every_command_that_writes_json_has_a_schema() -> None:
    """The commands that offer -o json are those with a schema, views by an option and the events of a run apart."""
    from kafkabal.cli.framework.completion.command_pages import pages

    offering = {
        "-".join(page.path[1:])
        for page in pages()
        for option in page.options
        if {"--output", "--format"} & {*option.flags} and {"table", "json"} <= {*option.values.words}
    }
    published = {path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.json")}
    views = {
        "rebalance-plan-frontier",
        "rebalance-explain-why-not",
        "rebalance-check",
        "rebalance-dry-run",
        "rebalance-rollback-dry-run",
        "rebalance-adopt-finish",
        "rebalance-adopt-cancel",
    }
    views |= {"read-to", "inspect-all-profiles", "inspect-topics", "inspect-growth"}
    assert published - views - {"rebalance-events", "read-follow", "weights-record"} == offering


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("integer", {"type": "integer"}),
        ("number?", {"type": ["number", "null"]}),
        ("[string]", {"type": "array", "items": {"type": "string"}}),
        ("a|b?", {"enum": ["a", "b", None]}),
        ("map<integer>?", {"type": ["object", "null"], "additionalProperties": {"type": "integer"}}),
    ],
)
def test_a_type_is_written_in_short(text: str, schema: dict[str, object]) -> None:
    """Each form of the shapes file becomes the schema that it stands for."""
    assert value_schema(text) == schema
