"""Where a watch reports to: streams, notifications and a textfile, none of which can delay it.

Of the watches that heal, only the one that acts posts notifications and writes its textfile. One on standby only prints
events: otherwise messages would be posted twice, and two processes would write one textfile in turn.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from kafkabal.cli.commands.watch_command_options import WatchFormat, WatchOutput
from kafkabal.cli.framework.command_context import PROGRAM, CommandContext
from kafkabal.cli.framework.nonblocking_lines import NonblockingLines, no_longer_written
from kafkabal.printable import printable

if TYPE_CHECKING:
    from kafkabal.isolated_listeners import BackgroundListener
    from kafkabal.reporting.notifications.watch_notifications import WatchNotifications
    from kafkabal.reporting.watch_publisher import WatchPublisher
    from kafkabal.watch import WatchEvent, WatchListener, WatchLock, WatchSummary


class WatchReporter:
    """The outputs of a watch; none of them can delay it."""

    def __init__(self, output: WatchOutput, context: CommandContext, at_end: ExitStack, *, heals: bool) -> None:
        self._output, self._context = output, context
        self._only_prints = not heals and output.notify is None and output.textfile is None
        self._messages = at_end.enter_context(NonblockingLines(context.stderr))
        self._events = at_end.enter_context(NonblockingLines(context.stdout, self._on_lost_events))
        self._lines: WatchListener | None = None
        self._textfile: BackgroundListener[WatchEvent | WatchSummary] | None = None
        self._notifications: WatchNotifications | None = None
        self._publisher: WatchPublisher | None = None
        self._why_on_standby = ""

    @property
    def is_blocked(self) -> bool:
        """Whether a stream still waits after the end."""
        return self._events.is_blocked or self._messages.is_blocked

    def say(self, text: str) -> None:
        """Report progress, unless ``-q``."""
        if not self._context.quiet:
            self._messages.write(f"{printable(text)}\n")

    def warn(self, text: str) -> None:
        """Report a warning."""
        self._messages.write(f"{PROGRAM}: warning: {printable(text)}\n")

    def listener(self, cluster: str, at_end: ExitStack) -> "WatchListener":
        """Listener of a watch over a cluster of this name; on standby until :meth:`follow_lock`.

        Parameters
        ----------
        at_end
            Ends when this watch does. Another one may follow in this process, over another cluster.
        """
        from kafkabal.isolated_listeners import IsolatedListeners
        from kafkabal.reporting.watch_publisher import WatchPublisher

        def open_listeners(until: ExitStack) -> "list[WatchListener]":
            listeners: list[WatchListener] = []
            if self._output.notify is not None:
                listeners.append(self._posted(self._output.notify, cluster, until))
            if self._output.textfile is not None:
                listeners.append(self._written(self._output.textfile, cluster, until))
            return listeners

        self._publisher = WatchPublisher(open_listeners)
        at_end.callback(self._publisher.close)
        return IsolatedListeners([self._event_lines(), self._publisher])

    def follow_lock(self, lock: "WatchLock | None") -> None:
        """Report once why the watch only observes, and once when it acts; publish nothing while another one acts.

        Parameters
        ----------
        lock
            None for a watch that only reports: it never is on standby.
        """
        why, other = (lock.why_on_standby, lock.other) if lock is not None else ("", "")
        before, self._why_on_standby = self._why_on_standby, why
        if why and why != before:
            self.say(f"{why}; on standby until {'it ends' if other else 'that succeeds'}")
        elif before and not why:
            self.say("took the lock of watch: no longer on standby")
        if self._publisher is not None:
            self._publisher.set_active(is_active=not other)

    def _event_lines(self) -> "WatchListener":
        """The same for every watch of this process: the output has one first line."""
        from kafkabal.reporting.watch_report import EventTable, WatchEventLines

        lines = WatchEventLines if self._output.output is WatchFormat.JSONL else EventTable
        self._lines = self._lines or lines(self._events.write)
        return self._lines

    def _posted(self, url: str, cluster: str, at_end: ExitStack) -> "WatchListener":
        from kafkabal.reporting.notifications.notifier import Notifier
        from kafkabal.reporting.notifications.watch_notifications import WatchNotifications

        notifier = Notifier(url, cluster, self.warn)
        at_end.callback(notifier.close)
        self._notifications = WatchNotifications(notifier)
        at_end.callback(self._forget_notifications)
        return self._notifications

    def _written(self, path: Path, cluster: str, at_end: ExitStack) -> "BackgroundListener[WatchEvent | WatchSummary]":
        """A textfile written by a thread of its own: a folder that hangs must not delay the watch."""
        from kafkabal.isolated_listeners import BackgroundListener
        from kafkabal.reporting.textfile_writer import TextfileWriter
        from kafkabal.reporting.watch_report import WatchTextfile
        from kafkabal.watch import WatchSummary

        written: BackgroundListener[WatchEvent | WatchSummary] = BackgroundListener(
            WatchTextfile(TextfileWriter(path, {"cluster": cluster}, self._context.wall_clock, self.warn)),
            is_passing=lambda event: isinstance(event, WatchSummary),
            on_failure=lambda error: self.warn(no_longer_written(str(path), "the watch", error)),
        )
        at_end.callback(written.close)
        self._textfile = written
        at_end.callback(self._forget_textfile)
        return written

    def _forget_notifications(self) -> None:
        self._notifications = None

    def _forget_textfile(self) -> None:
        self._textfile = None

    def after_observation(self, summary: "WatchSummary") -> None:
        """Keep the textfile, and the numbers in alerts.

        Raises
        ------
        OSError or OutputError
            If a watch that only reports has nowhere to report to: a reader that has exited, a full disk, no stdout.
        """
        updated = self._publisher.update(summary.findings) if self._publisher is not None else ()
        if self._notifications is not None:
            for event in updated:
                self._notifications.update(event)
        if self._textfile is not None:
            self._textfile.on_event(summary)
        if self._only_prints:
            if self._events.failure is not None:
                raise self._events.failure
            self._context.check_stdout()

    def _on_lost_events(self, error: Exception) -> None:
        if not self._only_prints:
            self.warn(no_longer_written("events", "the watch", error))
