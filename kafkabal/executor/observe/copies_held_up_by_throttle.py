"""Why copies make no progress: producers may write more to a partition than its throttle lets through.

The quota of a leader (KIP-73) counts what it sends to every listed replica, those in sync included. If that alone uses
up the quota, a new replica gets nothing at all; if a little is left, the replica makes progress but never catches up.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafkabal.clusters import Cluster, ReplicaOn
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.units import format_duration, format_rate


def stall_reasons(
    cluster: Cluster, tasks: Sequence[PartitionTask], rate: int | None, elapsed_s: float, stalled_s: float
) -> dict[PartitionTask, str]:
    """Give the reason, for each running task, why it makes no progress.

    Parameters
    ----------
    rate
        The throttle, in bytes per second per broker.
    elapsed_s
        Time since the bytes of the tasks were counted.
    stalled_s
        Time since any byte arrived.
    """
    logs, _ = cluster.replica_logs({t.leader for t in tasks if t.leader >= 0}, {t.name for t in tasks})
    why: dict[PartitionTask, str] = {}
    for task in tasks:
        log = logs.get(ReplicaOn(*task.name, task.leader))
        written = (log.size_bytes - task.target.copy_bytes) / elapsed_s if log is not None and elapsed_s > 0 else 0.0
        followers = len(task.current) - 1
        if task.arriving and rate is not None and written * followers >= rate:
            why[task] = (
                f"producers write faster ({format_rate(round(written))} to each of {followers} followers) "
                f"than its throttle of {format_rate(rate)} allows"
            )
        else:
            why[task] = f"no progress for {format_duration(stalled_s)}"
    return why
