"""Where a watch reports to: streams, notifications and a textfile, none of which can delay it."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from kafkabal.cli.commands.watch_command_options import WatchFormat, WatchOutput
from kafkabal.cli.framework.command_context import PROGRAM, CommandContext
from kafkabal.cli.framework.nonblocking_lines import NonblockingLines, no_longer_written
from kafkabal.printable import printable

if TYPE_CHECKING:
    from kafkabal.isolated_listeners import BackgroundListener
    from kafkabal.watch import WatchEvent, WatchListener, WatchSummary


class WatchReporter:
    """The outputs of a watch; none of them can delay it."""

    def __init__(self, output: WatchOutput, context: CommandContext, at_end: ExitStack, *, heals: bool) -> None:
        self._output, self._context = output, context
        self._only_prints = not heals and output.notify is None and output.textfile is None
        self._messages = at_end.enter_context(NonblockingLines(context.stderr))
        self._events = at_end.enter_context(NonblockingLines(context.stdout, self._on_lost_events))
        self._lines: WatchListener | None = None
        self._textfile: BackgroundListener[WatchEvent | WatchSummary] | None = None

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
        """Listener of a watch over a cluster of this name.

        Parameters
        ----------
        at_end
            Ends when this watch does. Another one may follow in this process, once the one that took over has ended:
            until then nothing is posted or written, or alerts of this one would fire without end.
        """
        from kafkabal.isolated_listeners import IsolatedListeners

        listeners = [self._event_lines()]
        if self._output.notify is not None:
            listeners.append(self._posted(self._output.notify, cluster, at_end))
        if self._output.textfile is not None:
            self._textfile = self._written(self._output.textfile, cluster, at_end)
            listeners.append(self._textfile)
        return IsolatedListeners(listeners)

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
        return WatchNotifications(notifier)

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
        return written

    def after_observation(self, summary: "WatchSummary") -> None:
        """Keep the textfile.

        Raises
        ------
        BrokenPipeError
            If a watch that only reports has nowhere to report to any more.
        """
        if self._textfile is not None:
            self._textfile.on_event(summary)
        if self._only_prints:
            if self._events.is_gone:
                raise BrokenPipeError
            self._context.check_stdout()

    def _on_lost_events(self, error: Exception) -> None:
        if not self._only_prints:
            self.warn(no_longer_written("events", "the watch", error))
