"""Opens the textfile of a command that transfers records, with labels that name the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.cli.framework.cluster_access import name_in_metrics

if TYPE_CHECKING:
    from pathlib import Path

    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.clusters import Cluster
    from kafkabal.config import Settings
    from kafkabal.reporting.transfer_textfile import TransferTextfile


def open_textfile(
    path: Path | None, command: str, topic: str, cluster: Cluster, settings: Settings, context: CommandContext
) -> TransferTextfile:
    """Open the textfile, if requested; use it in a ``with`` block."""
    from kafkabal.reporting.transfer_textfile import TransferTextfile

    name = "" if path is None else name_in_metrics(cluster, settings, context)
    labels = {"cluster": name, "topic": topic}
    return TransferTextfile(path, command, labels, context.wall_clock, context.alert)
