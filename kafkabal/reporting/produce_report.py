"""The report of ``produce``: what was sent, and where it is stored."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64
from kafkabal.producer import SendOutcome
from kafkabal.reporting.report import Column, Fact, Report, Table, ValueKind
from kafkabal.routing import RoutingView
from kafkabal.scoring import shares_by_group
from kafkabal.units import format_bytes
from kafkabal.wording import counted_noun


def production_report(outcome: SendOutcome, view: RoutingView) -> Report:
    """The final report of ``produce``."""
    sent_bytes = sum(outcome.bytes_by_partition.values())
    there = f", {outcome.already_there:,} already in the topic" if outcome.already_there else ""
    if outcome.sent or not outcome.is_complete:
        sent = counted_noun(outcome.sent, "record")
        headline = f"{sent} sent to topic {view.topic}, {format_bytes(sent_bytes)}{there}"
    else:
        headline = f"nothing to send to topic {view.topic}{there}"
    return Report(
        command="produce",
        headline=headline,
        facts=(
            Fact(key="topic", value=view.topic),
            Fact(key="records_sent", value=outcome.sent),
            Fact(key="records_already_there", value=outcome.already_there),
            Fact(key="sent_bytes", value=sent_bytes),
            Fact(key="failed", value=[name for name, _ in outcome.failures]),
            Fact(key="changed", value=outcome.changed),
        ),
        tables=(_broker_table(outcome, view),),
    )


def _broker_table(outcome: SendOutcome, view: RoutingView) -> Table:
    """Brokers that lead partitions of the topic, with sent and total bytes; no rows if nothing was sent."""
    sent = _sent_bytes(outcome, view)
    leads = np.flatnonzero(np.bincount(view.leader[view.leader >= 0], minlength=view.n_brokers))
    if not outcome.sent:
        leads = leads[:0]
    is_leading = np.isin(np.arange(view.n_brokers), leads)
    share, _ = shares_by_group(sent, np.ones(view.n_brokers), is_leading, np.zeros(view.n_brokers, np.int32))
    return Table(
        key="brokers",
        columns=(
            Column(key="broker", title="broker", values=view.broker_id[leads].tolist(), label=True),
            Column(key="sent_bytes", title="sent", kind=ValueKind.BYTES, values=_whole(sent[leads])),
            Column(key="sent_share", title="vs mean", kind=ValueKind.FAIR, values=share[leads].tolist()),
            Column(key="used_bytes", title="holds", kind=ValueKind.BYTES, values=_whole(view.used_bytes[leads])),
        ),
    )


def _whole(size_bytes: F64) -> list[int]:
    """Bytes without a fraction, as other reports have them."""
    return [round(size) for size in size_bytes.tolist()]


def _sent_bytes(outcome: SendOutcome, view: RoutingView) -> F64:
    """float64, shape (n_brokers,): bytes sent to the partitions that each broker leads now."""
    sent = np.zeros(view.n_brokers)
    for partition, count in outcome.bytes_by_partition.items():
        if partition < view.n_partitions and view.leader[partition] >= 0:
            sent[view.leader[partition]] += count
    return sent
