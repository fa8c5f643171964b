"""``kafkabal snapshot import`` and ``kafkabal inspect diff``: snapshots of other tools, and two side by side."""

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from kafkabal.atomic_files import STDOUT, check_replaceable, target_name
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import OUTPUT_SECTION, Forms, OutputOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.clusters.unknown_cluster_id import UNKNOWN_CLUSTER_ID
from kafkabal.config import Settings
from kafkabal.errors import UsageError
from kafkabal.wording import counted_noun

if TYPE_CHECKING:
    from kafkabal.inspection import Inspection


def diff(
    context: CommandContext,
    settings: Annotated[Settings, Uses("shown_scores", "shown_tolerance")],
    output: Annotated[OutputOptions, Forms("table", "json", "yaml", "csv", "markdown")],
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="Snapshot, or - for standard input.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="Another snapshot.")],
    all_rows: Annotated[
        bool,
        typer.Option("--all", help="List all topics and partitions, not only 20.", rich_help_panel=OUTPUT_SECTION),
    ] = False,
) -> None:
    """Show what differs between two snapshots.

    Compares scores, brokers, topics and partitions: what was added or removed, what moved and what grew.

    Examples:

      kafkabal inspect diff monday.jsonl tuesday.jsonl

      kafkabal inspect -b broker1:9092 --save - | kafkabal inspect diff monday.jsonl - -o json
    """
    from kafkabal.cli.framework.selected_scores import check_shown_scores
    from kafkabal.reporting.plan_moves import FIRST_MOVES
    from kafkabal.reporting.snapshot_diff_report import snapshot_diff_report

    check_shown_scores(settings)
    one, two = _inspected(first, settings), _inspected(second, settings)
    show_report(snapshot_diff_report(one, two, None if all_rows else FIRST_MOVES), output, context)


def import_snapshot(
    context: CommandContext,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            parser=check_replaceable,
            help="Write the snapshot to FILE; compressed if FILE ends in .gz; - is standard output.",
        ),
    ],
    topics: Annotated[
        Path | None, typer.Option("--topics", metavar="FILE", help="Output of 'kafka-topics --describe'.")
    ] = None,
    assignment: Annotated[
        Path | None,
        typer.Option("--assignment", metavar="FILE", help="JSON of kafka-reassign-partitions, instead of --topics."),
    ] = None,
    log_dirs: Annotated[
        Path | None, typer.Option("--log-dirs", metavar="FILE", help="Output of 'kafka-log-dirs --describe'.")
    ] = None,
    cluster_id: Annotated[
        str,
        typer.Option(
            "--cluster-id", metavar="ID", help="Cluster id, which these files do not contain; a history needs it."
        ),
    ] = UNKNOWN_CLUSTER_ID,
) -> None:
    """Import a snapshot from the output of Kafka's own tools.

    For clusters that you cannot reach yourself. Replica sizes come from kafka-log-dirs and are unknown without it. The
    output of these tools has no racks and no volume sizes; set volume sizes as 'capacity' in a profile. A file '-' is
    standard input.

    Examples:

      kafkabal snapshot import --topics topics.txt --log-dirs dirs.txt --out cluster.jsonl

      kafka-topics.sh --bootstrap-server broker1:9092 --describe | kafkabal snapshot import --topics - --out c.jsonl
    """
    from datetime import UTC, datetime

    from kafkabal.clusters.snapshot import read_kafka_text, write_snapshot

    described = topics or assignment
    if described is None or (topics and assignment):
        raise UsageError(
            "one of --topics and --assignment is required",
            hint="write the file with: kafka-topics.sh --bootstrap-server HOST:PORT --describe > topics.txt",
        )
    now = datetime.fromtimestamp(context.wall_clock(), UTC).isoformat(timespec="seconds")
    state = read_kafka_text(described, log_dirs, cluster_id=cluster_id, taken_at=now.replace("+00:00", "Z"))
    write_snapshot(state, out)
    counts = ((len(state.brokers), "broker"), (len(state.topics), "topic"), (len(state.partitions), "partition"))
    found = ", ".join(counted_noun(count, what) for count, what in counts)
    following = "" if out == STDOUT else f"; next: kafkabal inspect --snapshot {quote(str(out))}"
    context.say(f"wrote the snapshot to {target_name(out)}: {found}{following}")


def _inspected(path: Path, settings: Settings) -> "Inspection":
    from kafkabal.cli.framework.selected_scores import inspection_of
    from kafkabal.clusters.snapshot import read_snapshot

    return inspection_of(settings, read_snapshot(path))
