"""Opens what a command needs to work on runs of a cluster: the cluster, its lock, and reports of its runs."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from kafkabal.cli.commands.rebalance.run_session import RunSession
from kafkabal.cli.framework.cluster_access import name_in_metrics, open_cluster
from kafkabal.cli.framework.command_settings import cluster_label, runs_folder
from kafkabal.cli.framework.nonblocking_lines import no_longer_written
from kafkabal.cli.framework.nonblocking_output import nonblocking_streams
from kafkabal.errors import KafkabalError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kafkabal.cli.commands.rebalance.run_command_options import RunOutput
    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.clusters import Cluster
    from kafkabal.config import Settings
    from kafkabal.executor import Event, RunEnvironment, RunListener
    from kafkabal.isolated_listeners import BackgroundListener
    from kafkabal.reporting.notifications.run_notifications import RunNotifications
    from kafkabal.reporting.runs.run_textfile import RunTextfile


@contextmanager
def open_run_session(
    name: str,
    settings: Settings,
    context: CommandContext,
    output: RunOutput | None = None,
    cluster: Cluster | None = None,
    wait_s: float | None = None,
    *,
    journal: Path | None = None,
    dry_run: bool = False,
) -> Iterator[RunSession]:
    """Connect to the cluster, and report its runs as requested, until the end of the ``with`` block.

    Parameters
    ----------
    output
        None for a command that asks about runs and works on none.
    cluster
        Connected already; None connects to the one that the settings name.
    wait_s
        How long the lock of the cluster is waited for.
    journal
        Checked here, before anything waits for the cluster or its lock.
    dry_run
        Writes no textfile, which is about runs, and does without a controller.
    """
    from dataclasses import replace

    from kafkabal.cli.commands.rebalance.run_command_options import RunFormat, RunOutput
    from kafkabal.clusters import InFlight
    from kafkabal.executor import LockAcrossRuns, check_journal, report_in_background
    from kafkabal.isolated_listeners import Reporters

    works_on_runs = output is not None
    output = output or RunOutput()
    if dry_run and output.output is RunFormat.JSONL:
        raise UsageError("--dry-run and -o jsonl cannot be combined: nothing happens", hint="use -o json")
    if journal is not None:
        check_journal(journal)
    with ExitStack() as stack:
        # ends after the lock is released, so that remaining output keeps no other command waiting
        direct = context
        context = stack.enter_context(nonblocking_streams(context)) if works_on_runs else context
        opened = stack.enter_context(cluster or open_cluster(settings, context))

        listeners = list(_reporters(output, direct, name))
        textfile = None
        if output.textfile is not None and not dry_run:
            textfile = _open_textfile(output.textfile, settings, opened, direct)
            failure = partial(_warn_of_failure, direct, str(output.textfile))
            listeners.append(report_in_background(textfile, on_failure=failure))
        if output.notify is not None:
            label = name_in_metrics(opened, settings, context)
            notifications = stack.enter_context(_notifications(output.notify, label, name, context))
            listeners.append(report_in_background(notifications))
        reporters = stack.enter_context(Reporters(listeners))
        environment = replace(
            make_environment(opened, settings, context, reporters),
            lock_wait_s=wait_s or 0.0,
            in_flight=InFlight.IF_KNOWN if dry_run else InFlight.REQUIRED,
        )
        lock = LockAcrossRuns(environment)
        stack.callback(lock.release)
        session = RunSession(name, settings, context, output, environment, reporters, lock, textfile)
        with session.failures_in_textfile():
            yield session


def make_environment(
    cluster: Cluster, settings: Settings, context: CommandContext, listener: RunListener
) -> RunEnvironment:
    """Where runs on this cluster keep their journals and lock; runs on a snapshot have their own place."""
    from kafkabal.clusters import ReadRequest
    from kafkabal.config import with_profile_disks
    from kafkabal.executor import RunEnvironment

    return RunEnvironment(
        cluster=cluster,
        state_dir=runs_folder(settings, context),
        listener=listener,
        broker_timeout_s=settings.broker_timeout_s or ReadRequest().deadline_s,
        completed=partial(with_profile_disks, settings=settings),
    )


def _open_textfile(path: Path, settings: Settings, cluster: Cluster, context: CommandContext) -> RunTextfile:
    """Keeps the textfile of ``--textfile`` current; records a failure if the cluster does not report its id.

    Raises
    ------
    KafkabalError
        If the cluster cannot be asked.
    """
    from kafkabal.reporting.runs.run_textfile import RunTextfile
    from kafkabal.reporting.textfile_writer import TextfileWriter

    def labelled(cluster_name: str) -> RunTextfile:
        return RunTextfile(TextfileWriter(path, {"cluster": cluster_name}, context.wall_clock, context.alert))

    label = cluster_label(settings, context)
    if label:
        return labelled(label)
    try:
        return labelled(cluster.cluster_id())
    except KafkabalError:
        labelled(cluster.name).end_without_run(succeeded=False, left_throttles=0)
        raise


def _reporters(output: RunOutput, context: CommandContext, command: str) -> Iterator[BackgroundListener[Event]]:
    """A background listener each, so that a blocked one does not delay the others."""
    from kafkabal.cli.commands.rebalance.run_command_options import RunFormat
    from kafkabal.executor import report_in_background
    from kafkabal.reporting.runs.events_as_json_lines import RunEventLines
    from kafkabal.reporting.runs.progress_messages import ProgressMessages

    messages = ProgressMessages(context.say, context.warn, context.progress)
    yield report_in_background(messages, at_end=messages.close)
    if output.output is RunFormat.JSONL:
        lines = RunEventLines(context.stdout, command, context.wall_clock)
        failure = partial(_warn_of_failure, context, "events")
        yield report_in_background(lines, on_failure=failure, at_end=lines.close)


def _notifications(url: str, cluster: str, command: str, context: CommandContext) -> RunNotifications:
    from kafkabal.reporting.notifications.notifier import Notifier
    from kafkabal.reporting.notifications.run_notifications import RunNotifications

    return RunNotifications(Notifier(url, cluster, context.alert), command, context.wall_clock)


def _warn_of_failure(context: CommandContext, what: str, error: Exception) -> None:
    context.alert(no_longer_written(what, "the run", error))
