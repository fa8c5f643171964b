"""Frames of the live view: as large as the terminal, whatever there is to show."""

from __future__ import annotations

from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.clusters import ReplicaOn
from kafkabal.inspection import inspect_cluster
from kafkabal.model import TopicPartition
from kafkabal.reporting.inspection.grouping import Grouping
from kafkabal.reporting.live_frame import LiveFrames, shared_lines
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world
from kafkabal.watch import LiveEvent, LiveReading, MoveInFlight, MovesInFlight


@given(st.lists(st.integers(0, 300), min_size=3, max_size=3), st.integers(0, 100))
def test_lines_are_shared(wanted: list[int], lines: int) -> None:
    """No section gets more than it wants, all together no more than there is; nothing is left where more is wanted."""
    given_lines = shared_lines(wanted, lines)

    assert all(0 <= got <= want for got, want in zip(given_lines, wanted, strict=True))
    assert sum(given_lines) == min(lines, sum(wanted))


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (20, 5), (300, 90), (1, 1)])
def test_a_frame_is_as_large_as_the_terminal(columns: int, lines: int, encoding: str) -> None:
    """With 200 brokers, 300 moves and long events, on any terminal; control characters are shown as escapes."""
    inspection = inspect_cluster(make_world(SyntheticWorld(brokers=200, racks=4, topics=60)))
    moves = [
        MoveInFlight(replica=ReplicaOn(f"t{n}", 0, 7), copied_bytes=n, total_bytes=n * n, bytes_per_s=float(n))
        for n in range(300)
    ]
    reading = LiveReading(
        inspection=inspection,
        moves=MovesInFlight(frozenset(TopicPartition(*m.replica[:2]) for m in moves), tuple(moves)),
        events=tuple(LiveEvent(float(n), f"event {n} \x1b[2J" + "x" * 200, None) for n in range(100)),
        problem="the cluster cannot be read: no broker responds",
    )
    surface = OutputCapabilities(animated=True, encoding=encoding)
    frame = LiveFrames("c", Grouping.BROKER, surface).frame(reading, columns, lines)

    assert len(frame) == lines
    assert max(map(len, frame)) <= columns
    assert "\x1b" not in "".join(frame)
    if lines >= 24:
        assert "event 99" in "".join(frame)


def test_rows_that_do_not_fit_are_counted() -> None:
    """With those that are shown they are all brokers; where all fit, nothing is said."""
    inspection = inspect_cluster(make_world(SyntheticWorld(brokers=30, racks=3, topics=6)))
    frames = LiveFrames("c", Grouping.BROKER, OutputCapabilities())
    reading = LiveReading(inspection=inspection)

    low, high = frames.frame(reading, 120, 15), frames.frame(reading, 120, 60)

    (more,) = [line for line in low if line.endswith(" more")]
    assert sum(line[:1].isdigit() for line in low) + int(more.split()[1]) == 30
    assert sum(line[:1].isdigit() for line in high) == 30
    assert not [line for line in high if line.endswith(" more")]


def test_the_headline_shows_the_time_of_the_reading() -> None:
    """Not the time of drawing: a frame redrawn while a broker hangs would present old moves as new ones."""
    frames = LiveFrames("c", Grouping.BROKER, OutputCapabilities(animated=True), UTC)
    reading = LiveReading(at_s=15.0, registered=frozenset({1}))

    assert frames.frame(reading, 60, 5)[0] == "c  00:00:15  1 registered broker"
    assert frames.frame(LiveReading(), 60, 5)[:2] == ["c", "reading the cluster"]
