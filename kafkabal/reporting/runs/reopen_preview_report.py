"""What rolling back a run would move, as a report."""

from __future__ import annotations

from kafkabal.executor import FoundRun, Goal, ReopenPreview
from kafkabal.reporting.plan_moves import FIRST_MOVES
from kafkabal.reporting.report import Column, Fact, Report, Table, ValueKind
from kafkabal.reporting.runs.reopen_preview_lines import preview_headline


def reopen_preview_report(found: FoundRun, goal: Goal, preview: ReopenPreview, command: str) -> Report:
    """Every partition that would move, and those that stay because others have moved them."""
    moves = preview.moves
    return Report(
        command=command,
        headline=preview_headline(found, goal, preview),
        facts=(
            Fact(key="run_id", value=found.record.run_id),
            Fact(key="partitions", value=len(moves)),
            Fact(key="moved_bytes", value=preview.copy_bytes),
            Fact(key="log_dir_bytes", value=preview.log_dir_bytes),
        ),
        tables=(
            Table(
                key="moves",
                title="moves",
                shown_rows=FIRST_MOVES,
                columns=(
                    Column(key="partition", title="partition", values=[move.name for move in moves], label=True),
                    Column(key="replicas", title="from", values=[list(move.found) for move in moves]),
                    Column(key="target_replicas", title="to", values=[list(move.target) for move in moves]),
                    Column(
                        key="bytes",
                        title="bytes",
                        kind=ValueKind.BYTES,
                        values=[move.copy_bytes for move in moves],
                    ),
                    Column(
                        key="log_dir_bytes",
                        title="between log dirs" if preview.log_dir_bytes else "",
                        kind=ValueKind.BYTES,
                        values=[move.log_dir_bytes for move in moves],
                    ),
                ),
            ),
            Table(
                key="skipped",
                title="skipped, moved by another run or tool since",
                shown_rows=FIRST_MOVES,
                columns=(Column(key="partition", title="partition", values=list(preview.skipped), label=True),),
            ),
        ),
    )
