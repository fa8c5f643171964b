"""The reports of ``read``: rates of readers and brokers, and restored files."""

from __future__ import annotations

from pathlib import Path

from kafkabal.reader import Manifest, Measurement, RestoreResult
from kafkabal.reporting.report import Column, Fact, Report, Table, ValueKind
from kafkabal.units import format_bytes, format_duration, format_percent, format_rate
from kafkabal.wording import counted_noun


def measurement_report(topic: str, manifest: Manifest, measured: Measurement) -> Report:
    """The measured rates of reading a topic."""
    count = len(measured.readers)
    return Report(
        command="read",
        headline=(
            f"{counted_noun(count, 'reader')} read {format_rate(measured.bytes_per_s)} of topic {topic} for "
            f"{format_duration(measured.elapsed_s)}, {format_percent(measured.waiting_fraction)} of the time waiting"
        ),
        facts=(
            Fact(key="topic", value=topic),
            Fact(key="identity", value=manifest.identity),
            Fact(key="elapsed_s", value=measured.elapsed_s),
            Fact(key="samples", value=measured.samples),
            Fact(key="read_bytes", value=measured.size_bytes),
            Fact(key="bytes_per_s", value=measured.bytes_per_s),
            Fact(key="waiting_fraction", value=measured.waiting_fraction),
        ),
        tables=(_reader_table(measured), _broker_table(measured)),
    )


def restore_report(topic: str, folder: Path, restored: RestoreResult) -> Report:
    """The files that were written."""
    there = f", {restored.already_there:,} already there" if restored.already_there else ""
    return Report(
        command="read --to",
        headline=(
            f"{counted_noun(restored.written, 'file')} of topic {topic} written to {folder}{there}, "
            f"{format_bytes(restored.size_bytes)} in all"
        ),
        facts=(
            Fact(key="topic", value=topic),
            Fact(key="folder", value=str(folder)),
            Fact(key="files_written", value=restored.written),
            Fact(key="files_already_there", value=restored.already_there),
            Fact(key="restored_bytes", value=restored.size_bytes),
            Fact(key="refused_records", value=restored.refused_records),
        ),
        tables=(
            Table(
                key="failures",
                columns=(
                    Column(
                        key="path", title="not restored", values=[path for path, _ in restored.failures], label=True
                    ),
                    Column(key="reason", title="because", values=[reason for _, reason in restored.failures]),
                ),
            ),
        ),
    )


def _reader_table(measured: Measurement) -> Table:
    readers = measured.readers
    return Table(
        key="readers",
        columns=(
            Column(key="reader", title="reader", values=[r.reader for r in readers], label=True),
            Column(
                key="bytes_per_s", title="rate", kind=ValueKind.RATE, values=[r.metrics.bytes_per_s for r in readers]
            ),
            Column(key="samples", title="samples", kind=ValueKind.NUMBER, values=[r.metrics.samples for r in readers]),
            Column(
                key="waiting_fraction",
                title="waiting",
                kind=ValueKind.PERCENT,
                values=[r.metrics.waiting_fraction for r in readers],
            ),
            Column(
                key="batch_p99_s",
                title="p99 of a batch",
                kind=ValueKind.DURATION,
                values=[r.batch_p99_s for r in readers],
            ),
            Column(
                key="cached_fraction",
                title="from cache",
                kind=ValueKind.PERCENT,
                values=[r.metrics.blocks_from_cache / max(1, r.metrics.blocks) for r in readers],
                quiet=True,
            ),
            Column(
                key="cross_rack_bytes",
                title="across racks",
                kind=ValueKind.BYTES,
                values=[r.metrics.cross_rack_bytes for r in readers],
                quiet=True,
            ),
        ),
    )


def _broker_table(measured: Measurement) -> Table:
    network, rates = measured.network_bytes(), measured.broker_rates()
    total = sum(network.values()) or 1
    return Table(
        key="brokers",
        title="brokers",
        columns=(
            Column(key="broker", title="broker", values=list(network), label=True),
            Column(key="rack", title="rack", values=[measured.racks.get(b) for b in network], quiet=True),
            Column(key="fetched_bytes", title="fetched", kind=ValueKind.BYTES, values=list(network.values())),
            Column(
                key="fetched_fraction",
                title="share",
                kind=ValueKind.PERCENT,
                values=[c / total for c in network.values()],
            ),
            Column(
                key="bytes_per_s", title="rate while busy", kind=ValueKind.RATE, values=[rates.get(b) for b in network]
            ),
        ),
    )
