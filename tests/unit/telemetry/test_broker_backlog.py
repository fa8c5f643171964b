"""How long the oldest record has waited for a broker, from the records handed over and acknowledged."""

from __future__ import annotations

from collections import deque
from random import Random

import pytest

from kafkabal.telemetry.broker_backlog import Backlog


def test_a_steady_backlog_takes_its_length_over_the_rate() -> None:
    """A thousand in flight at a hundred per second wait ten seconds, once the first look is that long ago."""
    backlog = Backlog()
    waits_s = [backlog.wait_s(at_s, 1000, 100 * at_s) for at_s in range(20)]
    assert waits_s == pytest.approx([*range(10), *[10.0] * 10], abs=0.011)


def test_a_broker_that_acknowledges_nothing_is_as_slow_as_its_silence() -> None:
    """Before the first acknowledgement a broker is as slow as its records have waited, however many there are."""
    few, many = Backlog(), Backlog()
    for backlog, count in ((few, 4), (many, 4000)):
        backlog.wait_s(0.0, count, 0)
        assert backlog.wait_s(0.5, count, 0) == pytest.approx(0.5)
    assert Backlog().wait_s(0.0, 40, 0) == 0.0


def test_a_broker_that_stops_waits_longer_with_every_look() -> None:
    """A broker that stops is as slow as the time since the first record that it did not acknowledge."""
    backlog = Backlog()
    for step in range(10):
        backlog.wait_s(0.1 * step, 1, step)
    assert [backlog.wait_s(0.9 + step, 1, 9) for step in (1, 2, 3)] == pytest.approx([1.0, 2.0, 3.0])


def test_an_idle_broker_does_not_wait() -> None:
    """Without records in flight the wait is zero, whatever was acknowledged before."""
    backlog = Backlog()
    assert [backlog.wait_s(at_s, 0, 7) for at_s in (0.0, 1.0, 2.0)] == [0.0, 0.0, 0.0]


def test_a_burst_after_few_records_is_no_backlog() -> None:
    """A broker that acknowledged ten records in 50 ms because it had no more is not slow when a thousand come at
    once."""
    backlog = Backlog()
    for step in range(10):
        backlog.wait_s(0.05 * step, 10, 10 * step)
    assert backlog.wait_s(0.5, 1000, 100) <= 0.05


def test_records_that_were_given_up_are_not_waited_for() -> None:
    """If records are purged, only the looks after that count."""
    backlog = Backlog()
    backlog.wait_s(0.0, 1000, 0)
    backlog.wait_s(1.0, 1000, 0)
    assert backlog.wait_s(2.0, 5, 0) == 0.0
    assert backlog.wait_s(2.5, 5, 0) == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(20))
def test_the_wait_is_that_of_a_queue(seed: int) -> None:
    """Between looks at random moments, the wait is that of the first record in a queue, to the time between looks."""
    random, backlog = Random(seed), Backlog()
    queue: deque[float] = deque()
    done, now_s = 0, 0.0
    backlog.wait_s(0.0, 0, 0)
    for _ in range(200):
        longest_s = random.uniform(0.01, 0.2)
        queue.extend(sorted(now_s + longest_s * random.random() for _ in range(random.randrange(50))))
        now_s += longest_s
        for _ in range(random.randint(0, len(queue))):
            queue.popleft()
            done += 1
        expected_s = now_s - queue[0] if queue else 0.0
        assert backlog.wait_s(now_s, len(queue), done) == pytest.approx(expected_s, abs=0.2)
