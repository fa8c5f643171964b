"""What ``kafkabal produce`` shows while it sends."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.errors import UnreachableError
from kafkabal.producer.progress_listener import DeliveryProgress
from kafkabal.reporting.delivery_display import DeliveryDisplay
from kafkabal.reporting.transfer_textfile import TransferTextfile


def display_of(monotonic: Callable[[], float] = float) -> tuple[DeliveryDisplay, io.StringIO]:
    """A display whose lines can be read."""
    stream = io.StringIO()
    context = CommandContext(stderr=stream, environ={}, monotonic=monotonic)
    textfile = TransferTextfile(None, "produce", {"cluster": "c", "topic": "t"}, lambda: 0.0, context.warn)
    return DeliveryDisplay(context, partial(context.progress, "sending"), textfile), stream


def progress_of(sent: int, skipped: int, *, handed_over: int | None = None) -> DeliveryProgress:
    """Records of nine bytes, each with a line feed in the source, of which some already in the topic."""
    return DeliveryProgress(
        records=sent + skipped,
        bytes=10 * (sent + skipped),
        sent=sent,
        sent_bytes=9 * sent,
        handed_over=sent if handed_over is None else handed_over,
        skipped_bytes=10 * skipped,
    )


def test_the_rate_counts_sent_records_only() -> None:
    """A run that sends nothing shows no transfer; one that sends the rest shows the total at the rate of the rest."""
    seconds = [0.0]
    display, stream = display_of(lambda: seconds[0])
    with display:
        display.starts(total_bytes=1000, total_records=100)
        display.progressed(progress_of(0, 100))
    assert stream.getvalue() == ""
    seconds[0] = 1000.0
    with display:
        display.starts(total_bytes=1000, total_records=100)
        display.progressed(progress_of(0, 80, handed_over=1))
        seconds[0] += 30
        display.progressed(progress_of(15, 80))
    assert stream.getvalue().splitlines()[0] == "sending: 950 B of 1000 B, 5 B/s, 10 s left, 95 records"


def test_rows_of_standard_input_show_a_rate_and_no_end() -> None:
    """If the total is unknown, the bytes of the records sent and their rate are shown, as in the report at the end."""
    seconds = [0.0]
    display, stream = display_of(lambda: seconds[0])
    with display:
        display.starts(total_bytes=0, total_records=None)
        display.progressed(progress_of(0, 0, handed_over=1))
        seconds[0] = 30.0
        display.progressed(progress_of(60, 0))
    assert stream.getvalue().splitlines()[0] == "sending: 540 B, 18 B/s, 60 records"


def test_a_failed_check_of_the_topic_is_reported_once() -> None:
    """However often it is asked for, and whatever the reasons, it is one line."""
    display, stream = display_of()
    for number in range(3):
        display.topic_check_failed(UnreachableError(f"no answer from broker {number}"))
    assert stream.getvalue().splitlines() == [
        "kafkabal: warning: cannot verify the topic id, continuing: no answer from broker 0"
    ]


def test_a_cluster_that_cannot_be_read_is_warned_of_once() -> None:
    """The same failure every few seconds is one line, with what to do about it."""
    display, stream = display_of()
    for _ in range(3):
        display.refresh_failed(UnreachableError("no broker responded", hint="start one"))
    assert stream.getvalue() == (
        "kafkabal: warning: cannot refresh cluster metadata, routing by the last known state: "
        "no broker responded (start one)\n"
    )


def test_a_reason_why_records_wait_is_reported_once() -> None:
    """However long the wait, each reason is one line."""
    display, stream = display_of()
    for why in ("no leader: partition 2", "no leader: partition 2", "no response yet from broker 1"):
        display.waits(why)
    assert stream.getvalue().splitlines() == [
        "kafkabal: warning: no record acknowledged for 5 s: no leader: partition 2",
        "kafkabal: warning: no record acknowledged for 5 s: no response yet from broker 1",
    ]


def test_records_sent_by_this_run_are_counted() -> None:
    """Records of earlier runs are in the topic, and not this run's."""
    display, _ = display_of()
    with display:
        display.progressed(progress_of(7, 100))
    assert display.sent == 7
