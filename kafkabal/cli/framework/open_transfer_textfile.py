"""Opens the textfile of a command that transfers records, with labels that name the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.cli.framework.cluster_access import open_cluster
from kafkabal.cli.framework.command_settings import cluster_label
from kafkabal.errors import KafkabalError

if TYPE_CHECKING:
    from pathlib import Path

    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.config import Settings
    from kafkabal.reporting.transfer_textfile import TransferTextfile


def open_textfile(
    path: Path | None, command: str, topic: str, settings: Settings, context: CommandContext
) -> TransferTextfile:
    """Open the textfile, if requested; use it in a ``with`` block."""
    from kafkabal.reporting.transfer_textfile import TransferTextfile

    cluster = "" if path is None else cluster_label(settings, context) or _cluster_id(settings, context)
    labels = {"cluster": cluster, "topic": topic}
    return TransferTextfile(path, command, labels, context.wall_clock, context.alert)


def _cluster_id(settings: Settings, context: CommandContext) -> str:
    """Id of the cluster, as in all other metrics; its bootstrap servers if it does not respond."""
    try:
        with open_cluster(settings, context) as cluster:
            return cluster.cluster_id()
    except KafkabalError:
        return ",".join(settings.bootstrap_servers)
