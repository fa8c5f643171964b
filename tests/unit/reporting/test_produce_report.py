"""The reports of ``produce`` and ``telemetry``: headlines, brokers, and what is not known."""

from __future__ import annotations

from collections import Counter

import pytest

from kafkabal.model.cluster_rows import BrokerRow, HeaderRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.model.rows_to_state import build_cluster
from kafkabal.producer.unsent_records import SendOutcome
from kafkabal.reporting.client_telemetry_reports import latency_report, subscriptions_report
from kafkabal.reporting.output_capabilities import PLAIN
from kafkabal.reporting.output_formats import render
from kafkabal.reporting.produce_report import production_report
from kafkabal.routing.routing_view import RoutingView, view_of
from kafkabal.telemetry.subscriptions import Subscription


def three_brokers() -> RoutingView:
    """Brokers 1 and 2 lead partitions of the topic, broker 3 none; one partition has no leader."""
    dirs = [LogDirRow(path="/d", total_bytes=10_000, usable_bytes=5_000)]
    leaders = [1, 2, 1, -1]
    partitions = [
        PartitionRow(partition=p, leader=leader, replicas=[max(leader, 1)], sizes=[100], log_dirs=[0])
        for p, leader in enumerate(leaders)
    ]
    return view_of(
        build_cluster(
            HeaderRow(kafkabal_snapshot=1, cluster_id="c", taken_at="2026-01-01T00:00:00Z"),
            [BrokerRow(broker=b, log_dirs=dirs) for b in (1, 2, 3)],
            [TopicRow(topic="t", partitions=partitions)],
        ),
        "t",
    )


def test_bytes_are_summed_by_the_brokers_that_lead() -> None:
    """Only brokers that lead partitions have a row; their share is over an even one among them."""
    outcome = SendOutcome(sent=6, already_there=2, bytes_by_partition=Counter({0: 100, 1: 100, 2: 200}))
    report = production_report(outcome, three_brokers())
    assert report.headline == "6 records sent to topic t, 400 B, 2 already in the topic"
    (table,) = report.tables
    assert {column.key: list(column.values) for column in table.columns} == {
        "broker": [1, 2],
        "sent_bytes": [300.0, 100.0],
        "sent_share": [1.5, 0.5],
        "used_bytes": [300.0, 100.0],
    }
    assert render(report, "csv", PLAIN).splitlines()[1:] == ["1,300,1.5,300", "2,100,0.5,100"]


def test_nothing_to_send() -> None:
    """A repeated run says so, shows no table of nothing, and is no error where CSV was asked for."""
    report = production_report(SendOutcome(already_there=9), three_brokers())
    assert render(report, "table", PLAIN) == "nothing to send to topic t, 9 already in the topic\n"
    assert render(report, "csv", PLAIN) == "broker,sent_bytes,sent_share,used_bytes\n"


@pytest.mark.parametrize(
    "left", [SendOutcome(unfinished="a.csv, line 2"), SendOutcome(failures=[("f", "no")]), SendOutcome(changed=["f"])]
)
def test_what_could_not_be_sent_is_not_nothing(left: SendOutcome) -> None:
    """A run that sent none of its records does not claim that there were none."""
    assert production_report(left, three_brokers()).headline == "0 records sent to topic t, 0 B"


def test_partitions_that_have_no_row_any_more_are_no_fault() -> None:
    """Bytes of a partition that lost its leader, or that came after the view, belong to no broker."""
    outcome = SendOutcome(sent=3, bytes_by_partition=Counter({0: 10, 3: 10, 9: 10}))
    (table,) = production_report(outcome, three_brokers()).tables
    assert list(table.columns[1].values) == [10.0, 0.0]


def test_unmeasured_brokers_come_last_and_are_unknown() -> None:
    """The slowest broker is first; one without a figure has none, not zero."""
    report = latency_report({2: 0.5, 1: 0.1}, [1, 2, 3], payloads=7, cluster="c")
    assert report.headline == "2 of 3 brokers measured, from 7 client pushes"
    (table,) = report.tables
    assert [list(column.values) for column in table.columns] == [[2, 1, 3], [0.5, 0.1, None]]
    assert latency_report({}, [1], payloads=0, cluster="c").headline == "no broker measured (0 client pushes)"


def test_subscriptions() -> None:
    """A row a subscription; without any, clients push nothing."""
    report = subscriptions_report([Subscription(name="s", metrics=("a.",), match={"client_id": "x"})])
    assert report.headline == "1 subscription"
    assert [list(column.values) for column in report.tables[0].columns] == [
        ["s"],
        [["a."]],
        [10.0],
        [["client_id=x"]],
        [["client_id=x"]],
    ]
    assert subscriptions_report([]).headline == "no telemetry subscriptions"
