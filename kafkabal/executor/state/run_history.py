"""All runs in this host's journals and in the cluster's record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from kafkabal.errors import InputFileError, OperationError
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.state.find_run import open_cluster_record
from kafkabal.executor.state.read_journal import read_journal
from kafkabal.executor.state.run_summary import RunSummary, summary_of


class RunHistory(NamedTuple):
    """Known runs, latest first."""

    runs: tuple[RunSummary, ...]
    why_others_unknown: str = ""
    """Why the cluster's record could not be read, so that runs of other hosts are missing; empty if it could."""


def run_history(environment: RunEnvironment, since_s: float | None = None) -> RunHistory:
    """Runs that began at or after a time; of two records of one run, the later one.

    Parameters
    ----------
    since_s
        Seconds since the epoch; may be earlier than any date.

    Raises
    ------
    UnreachableError
        If no broker responds.
    """
    folder = environment.folder(environment.cluster.cluster_id())
    latest: dict[str, RunSummary] = {}
    recorded, why_others_unknown = _recorded_runs(environment)
    for found in (*_runs_with_journals(folder), *recorded):
        known = latest.get(found.run_id)
        if known is None or found.last_at > known.last_at:
            latest[found.run_id] = found
    chosen = [run for run in latest.values() if since_s is None or _has_begun_since(run, since_s)]
    runs = tuple(sorted(chosen, key=lambda run: (run.started_at, run.run_id), reverse=True))
    return RunHistory(runs, why_others_unknown)


def _has_begun_since(run: RunSummary, since_s: float) -> bool:
    """Whether a run began at or after a time; a run whose time cannot be read is shown rather than hidden."""
    try:
        began = datetime.fromisoformat(run.started_at)
    except ValueError:
        return True
    return (began if began.tzinfo else began.replace(tzinfo=UTC)).timestamp() >= since_s


def _runs_with_journals(folder: Path) -> Iterator[RunSummary]:
    for path in sorted(folder.glob("*.jsonl")):
        try:
            content = read_journal(path)
        except InputFileError:
            continue  # a crash cut this journal off in its first line, before anything was changed
        if content.state.has_begun:
            yield summary_of(content.record, content.state)


def _recorded_runs(environment: RunEnvironment) -> tuple[Sequence[RunSummary], str]:
    """Runs in the cluster's record, and why it could not be read.

    A record that may not be read, or is damaged, must not hide this host's own journals.
    """
    record = open_cluster_record(environment.cluster)
    if record is None:
        return (), ""
    try:
        known = record.load()
        return (*record.earlier_runs(), *([summary_of(*known)] if known is not None else [])), ""
    except OperationError as error:
        return (), error.message
