"""No record in the topic is missed, however acknowledgements are interleaved and lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.producer.acknowledged_records import AcknowledgedRecords


def test_through_stops_at_the_first_open_record() -> None:
    """Records acknowledged out of order count only once the gap before them is closed."""
    records = AcknowledgedRecords(0, {})
    for number in (1, 2, 4):
        records.acknowledge_all([number], {0: number + 1})
    assert records.through == 0
    records.acknowledge_all([0], {1: 1})
    assert records.through == 3
    assert [records.is_done(n) for n in range(6)] == [True, True, True, False, True, False]


def test_records_found_in_the_topic_are_done_from_the_start() -> None:
    """A record found in the topic is done and is not sent again."""
    records = AcknowledgedRecords(10, {0: 7}, done=[10, 12])
    assert records.through == 11
    assert [records.is_done(n) for n in (9, 10, 11, 12)] == [True, True, False, True]
    assert records.offsets == {0: 7}


def test_a_record_may_be_finished_twice() -> None:
    """A late acknowledgement of a record that was given up changes nothing."""
    records = AcknowledgedRecords(0, {})
    records.finish_all([0])
    records.acknowledge_all([0], {3: 10})
    assert records.through == 1


def test_offsets_move_up_once_all_before_a_mark_is_done() -> None:
    """The offsets of a mark count as soon as all records sent before it are done."""
    records = AcknowledgedRecords(0, {0: 100, 1: 200})
    records.acknowledge_all([1], {1: 201})
    records.mark(2)
    assert records.offsets == {0: 100, 1: 200}
    records.acknowledge_all([0], {0: 101})
    assert records.offsets == {0: 100, 1: 201}


def test_a_gap_is_reported() -> None:
    """A gap is reported, since storing ``through`` alone would lose the records behind it."""
    records = AcknowledgedRecords(0, {}, done=[2])
    assert records.has_gaps
    records.finish_all([0])
    assert records.has_gaps
    records.finish_all([1])
    assert not records.has_gaps


def test_offsets_do_not_pass_records_that_were_found_behind_a_gap() -> None:
    """A record that an earlier run left behind a gap is searched for until the gap is closed."""
    records = AcknowledgedRecords(0, {0: 10}, done=[4])
    records.acknowledge_all([0], {0: 13})
    records.mark(1)
    records.acknowledge_all([1], {0: 14})
    assert (records.through, records.offsets) == (2, {0: 10})
    for number in (2, 3):
        records.acknowledge_all([number], {0: 13 + number})
    assert (records.through, records.offsets) == (5, {0: 13})


class World:
    """Three partitions, a run that sends to them, and what it has saved."""

    def __init__(self, foreign: int) -> None:
        self.logs: list[list[int]] = [[-1] * foreign for _ in range(3)]
        self.saved = (0, dict.fromkeys(range(3), foreign))
        self.is_clean = True
        self.start()

    def start(self) -> None:
        """Start a run, as after a crash: everything outside the logs is lost."""
        through, offsets = self.saved
        self.records = AcknowledgedRecords(through, offsets, set() if self.is_clean else self.found())
        self.on_their_way: list[list[int]] = [[], [], []]
        self.unacknowledged: list[list[tuple[int, int]]] = [[], [], []]
        self.given = through
        self.is_clean = False

    def found(self) -> set[int]:
        """What a read-back finds."""
        through, offsets = self.saved
        return {n for p, log in enumerate(self.logs) for n in log[offsets[p] :] if n >= through}

    def send(self, partition: int) -> None:
        """Send the next record that is not done."""
        while self.records.is_done(self.given):
            self.given += 1
        self.on_their_way[partition].append(self.given)
        self.given += 1

    def append(self, partition: int) -> None:
        """Append a record to its log."""
        if self.on_their_way[partition]:
            number = self.on_their_way[partition].pop(0)
            self.unacknowledged[partition].append((number, len(self.logs[partition])))
            self.logs[partition].append(number)

    def acknowledge(self, partition: int) -> None:
        """Deliver the acknowledgement of a record to the producer."""
        if self.unacknowledged[partition]:
            number, offset = self.unacknowledged[partition].pop(0)
            self.records.acknowledge_all([number], {partition: offset + 1})

    def checkpoint(self, _: int) -> None:
        """Save the progress."""
        self.saved = (self.records.through, dict(self.records.offsets))
        self.records.mark(self.given)

    def crash(self, _: int) -> None:
        """Kill the process, and start another one."""
        self.start()

    def stop(self, _: int) -> None:
        """Wait for records in flight, end cleanly, and start another process."""
        for partition in range(3):
            while self.on_their_way[partition]:
                self.append(partition)
            while self.unacknowledged[partition]:
                self.acknowledge(partition)
        self.checkpoint(0)
        self.is_clean = not self.records.has_gaps
        self.start()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["send", "send", "append", "append", "acknowledge", "checkpoint", "crash", "stop"]),
        st.integers(0, 2),
    ),
    max_size=80,
)


@given(steps=STEPS, foreign=st.integers(0, 3))
@pytest.mark.timeout(120)
def test_after_a_crash_all_records_in_the_topic_are_known(steps: list[tuple[str, int]], foreign: int) -> None:
    """At any time: all records below ``through`` are in the topic, all others in it are after the offsets, none is
    there twice."""
    world = World(foreign)
    for step, partition in steps:
        getattr(world, step)(partition)
    in_topic = [number for log in world.logs for number in log if number >= 0]
    through, _ = world.saved
    assert set(range(through)) <= set(in_topic)
    assert set(in_topic) <= set(range(through)) | world.found()
    assert len(in_topic) == len(set(in_topic))
