"""Where a watch reports to: streams, notifications and a textfile, none of which can delay it."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from kafkabal.cli.commands.watch_command_options import WatchFormat, WatchOutput
from kafkabal.cli.framework.command_context import PROGRAM, CommandContext
from kafkabal.cli.framework.nonblocking_lines import NonblockingLines
from kafkabal.printable import printable

if TYPE_CHECKING:
    from kafkabal.isolated_listeners import BackgroundListener
    from kafkabal.watch import WatchEvent, WatchListener, WatchSummary


class WatchReporter:
    """The outputs of a watch; none of them can delay it."""

    def __init__(
        self, output: WatchOutput, context: CommandContext, name: str, at_end: ExitStack, *, heals: bool
    ) -> None:
        self._output, self._context, self._heals = output, context, heals
        self._events = at_end.enter_context(NonblockingLines(context.stdout))
        self._messages = at_end.enter_context(NonblockingLines(context.stderr))
        self._at_end = at_end
        self._textfile: BackgroundListener[WatchEvent | WatchSummary] | None = None
        self._others: list[WatchListener] = []
        if output.notify is not None:
            from kafkabal.reporting.notifications.notifier import Notifier
            from kafkabal.reporting.notifications.watch_notifications import WatchNotifications

            notifier = Notifier(output.notify, name, self.warn)
            at_end.callback(notifier.close)
            self._others.append(WatchNotifications(notifier))

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

    def listener(self, cluster: str) -> "WatchListener":
        """Listener of a watch over a cluster of this name."""
        from kafkabal.isolated_listeners import IsolatedListeners
        from kafkabal.reporting.watch_report import EventTable, WatchEventLines

        lines = WatchEventLines if self._output.output is WatchFormat.JSONL else EventTable
        listeners: list[WatchListener] = [lines(self._events.write), *self._others]
        if self._output.textfile is not None:
            self._textfile = self._written(self._output.textfile, cluster)
            listeners.append(self._textfile)
        return IsolatedListeners(listeners)

    def _written(self, path: Path, cluster: str) -> "BackgroundListener[WatchEvent | WatchSummary]":
        """A textfile written by a thread of its own: a folder that hangs must not delay the watch."""
        from kafkabal.isolated_listeners import BackgroundListener
        from kafkabal.reporting.textfile_writer import TextfileWriter
        from kafkabal.reporting.watch_report import WatchTextfile
        from kafkabal.watch import WatchSummary

        written: BackgroundListener[WatchEvent | WatchSummary] = BackgroundListener(
            WatchTextfile(TextfileWriter(path, {"cluster": cluster}, self._context.wall_clock, self.warn)),
            is_passing=lambda event: isinstance(event, WatchSummary),
            on_failure=lambda error: self.warn(f"{path}: no longer written: {error}"),
        )
        self._at_end.callback(written.close)
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
        elif self._events.is_gone and not self._others and not self._heals:
            raise BrokenPipeError
