"""What ``kafkabal produce`` shows while it sends."""

from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from kafkabal.errors import KafkabalError, one_line
from kafkabal.producer import DeliveryListener, DeliveryProgress
from kafkabal.reporting.transfer_progress import TransferProgress as Bar
from kafkabal.reporting.transfer_textfile import TransferTextfile
from kafkabal.wording import counted_noun


class Messages(Protocol):
    """Receives the lines of a command."""

    def say(self, text: str) -> None:
        """Show progress, unless quiet."""

    def detail(self, text: str) -> None:
        """Show details, if verbose."""

    def warn(self, text: str) -> None:
        """Show what the user must not miss."""


class DeliveryDisplay(DeliveryListener):
    """Progress and warnings of one delivery; used in a ``with`` block.

    Parameters
    ----------
    open_bar
        Creates a progress display for a number of bytes, None if unknown.
    textfile
        Kept up to date; opened and closed by the caller.
    """

    def __init__(self, messages: Messages, open_bar: Callable[[int | None], Bar], textfile: TransferTextfile) -> None:
        self.sent = 0
        """Records sent by this run."""
        self._messages = messages
        self._open_bar = open_bar
        self._textfile = textfile
        self._bar: Bar | None = None
        self._total_bytes = 0
        self._warned: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.__exit__(error_type, error, traceback)

    def starts(self, *, total_bytes: int, total_records: int | None) -> None:
        """Note that all checks have passed."""
        if total_records is not None:
            self._messages.detail(counted_noun(total_records, "record"))
        self._total_bytes = total_bytes

    def measures(self) -> None:
        """Explain the delay before the first record."""
        self._messages.say("validating all rows before sending")

    def reads_back(self) -> None:
        """Explain the delay before the first record."""
        self._messages.say("the previous run stopped early; looking for its records in the topic")

    def progressed(self, progress: DeliveryProgress) -> None:
        """Show progress once there is something to send; records of earlier runs do not count in the rate."""
        self.sent = progress.sent
        self._textfile.update(progress.sent, progress.sent_bytes)
        if not progress.handed_over:
            return
        bar = self._bar or self._open_bar(self._total_bytes or None)
        note = counted_noun(progress.records, "record")
        if self._total_bytes:
            bar.update(progress.bytes, skipped_bytes=progress.skipped_bytes, note=note)
        else:  # nothing to compare bytes of the source with, so count as the report does
            bar.update(progress.sent_bytes, note=note)
        if self._bar is None:
            self._bar = bar.__enter__()  # not earlier: a resumed run does not start at 0

    def waits(self, why: str) -> None:
        """Warn, but not repeatedly for the same reason."""
        text = f"no record acknowledged for 5 s: {why}"
        self._warn_once(text, text)

    def refresh_failed(self, error: Exception) -> None:
        """Warn, but not repeatedly about the same error."""
        text = f"cannot refresh cluster metadata, routing by the last known state: {one_line(error)}"
        self._warn_once(text, text)

    def topic_check_failed(self, error: KafkabalError) -> None:
        """Warn once: sending continues, and fails if the brokers reject the records."""
        doubt = "cannot verify the topic id, continuing"
        self._warn_once(doubt, f"{doubt}: {error.in_one_line}")

    def _warn_once(self, what: str, text: str) -> None:
        if what not in self._warned:
            self._warned.add(what)
            self._messages.warn(text)
