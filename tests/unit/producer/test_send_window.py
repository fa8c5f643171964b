"""How much a run may have in flight."""

from __future__ import annotations

from kafkabal.producer.send_window import SendWindow


class Clock:
    """Seconds that a test sets."""

    now_s = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now_s


def handed_over_until_full(window: SendWindow, end: int, through: int) -> int:
    """Hand over megabytes, one record each, while there is room; returns the number after the last."""
    while window.has_room(through, end - through):
        end += 1
        window.add(end, 1, 1_000_000)
    return end


def test_a_slow_cluster_keeps_no_record_waiting_for_two_minutes() -> None:
    """At 100 kB/s, no record waits for longer than a minute and a half, from the first to the last."""
    clock = Clock()
    window = SendWindow(clock)
    queued_at_s: list[float] = []
    for through in range(50):
        clock.now_s = through * 10.0
        end = handed_over_until_full(window, len(queued_at_s), through)
        queued_at_s += [clock.now_s] * (end - len(queued_at_s))
    waited_s = [(number + 1) * 10.0 - at_s for number, at_s in enumerate(queued_at_s[:50])]
    assert max(waited_s) <= 90


def test_a_fast_cluster_may_have_seconds_of_records_in_flight() -> None:
    """At 100 MB/s the window grows from its least size to more than librdkafka's queue within some seconds."""
    clock = Clock()
    window = SendWindow(clock)
    through = end = 0
    in_flight = []
    for tick in range(200):
        clock.now_s = tick / 20
        end = handed_over_until_full(window, end, through)
        in_flight.append(end - through)
        through = min(end, through + 5)
    assert in_flight[0] == 9
    assert max(in_flight) > 256


def test_a_broker_that_takes_nothing_holds_up_the_others_once_much_waits_for_it() -> None:
    """With a few records in flight to it, those to other brokers go on; with many, the rest of them waits."""
    clock = Clock()
    window = SendWindow(clock)
    window.add(1000, 1000, 1_000_000_000)
    clock.now_s = 60.0
    assert window.has_room(0, 5)
    assert not window.has_room(0, 50)


def test_the_window_shrinks_again() -> None:
    """What was taken more than ten seconds ago does not count."""
    clock = Clock()
    window = SendWindow(clock)
    window.add(100, 100, 100_000_000)
    clock.now_s = 1.0
    assert window.has_room(100, 0)
    window.add(200, 100, 100_000_000)
    assert window.has_room(100, 100)
    clock.now_s = 12.0
    assert not window.has_room(100, 100)
