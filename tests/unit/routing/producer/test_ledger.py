"""The ledger: nothing that lies in the topic escapes it, however acknowledgements are interleaved and lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.routing.producer.ledger import Ledger


def test_through_stops_at_the_first_open_record() -> None:
    """Records that are done out of order count only once the gap before them is closed."""
    ledger = Ledger(0, {})
    for number in (1, 2, 4):
        ledger.acknowledge(number, 0, number)
    assert ledger.through == 0
    ledger.acknowledge(0, 1, 0)
    assert ledger.through == 3
    assert [ledger.is_done(n) for n in range(6)] == [True, True, True, False, True, False]


def test_records_found_in_the_topic_are_done_from_the_start() -> None:
    """What a read-back found needs not be sent."""
    ledger = Ledger(10, {0: 7}, done=[10, 12])
    assert ledger.through == 11
    assert [ledger.is_done(n) for n in (9, 10, 11, 12)] == [True, True, False, True]
    assert ledger.offsets == {0: 7}


def test_a_record_may_be_finished_twice() -> None:
    """A late acknowledgement of a record that was given up changes nothing."""
    ledger = Ledger(0, {})
    ledger.finish(0)
    ledger.acknowledge(0, 3, 9)
    assert ledger.through == 1


def test_offsets_move_up_once_all_before_a_mark_is_done() -> None:
    """The offsets of a mark count as soon as no record sent before it is open any more."""
    ledger = Ledger(0, {0: 100, 1: 200})
    ledger.acknowledge(1, 1, 200)
    ledger.mark(2)
    assert ledger.offsets == {0: 100, 1: 200}
    ledger.acknowledge(0, 0, 100)
    assert ledger.offsets == {0: 100, 1: 201}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(0, 2)),
        st.tuples(st.just("append"), st.integers(0, 2)),
        st.tuples(st.just("acknowledge"), st.integers(0, 2)),
        st.tuples(st.just("checkpoint"), st.just(0)),
    ),
    max_size=80,
)


@given(steps=STEPS, foreign=st.integers(0, 3))
@pytest.mark.timeout(120)
def test_after_a_crash_nothing_in_the_topic_is_unknown(steps: list[tuple[str, int]], foreign: int) -> None:
    """At any moment: below ``through`` all is in the topic, and all else in it lies behind the remembered offsets."""
    logs: list[list[int]] = [[-1] * foreign for _ in range(3)]
    on_their_way: list[list[int]] = [[], [], []]
    unacknowledged: list[list[tuple[int, int]]] = [[], [], []]
    ledger = Ledger(0, dict.fromkeys(range(3), foreign))
    remembered = (0, dict(ledger.offsets))
    sent = 0
    for step, partition in steps:
        if step == "send":
            on_their_way[partition].append(sent)
            sent += 1
        elif step == "append" and on_their_way[partition]:
            unacknowledged[partition].append((on_their_way[partition][0], len(logs[partition])))
            logs[partition].append(on_their_way[partition].pop(0))
        elif step == "acknowledge" and unacknowledged[partition]:
            number, offset = unacknowledged[partition].pop(0)
            ledger.acknowledge(number, partition, offset)
        elif step == "checkpoint":
            remembered = (ledger.through, dict(ledger.offsets))
            ledger.mark(sent)
    through, offsets = remembered
    in_topic = {number for log in logs for number in log if number >= 0}
    found = {n for p, log in enumerate(logs) for n in log[offsets[p] :] if n >= 0}
    assert set(range(through)) <= in_topic
    assert in_topic <= set(range(through)) | found
