"""Which partition and which broker consecutive records go to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise, repeat, starmap
from math import inf

import numpy as np
import pytest

from kafkabal.model import F64
from kafkabal.routing.byte_stride import MOST_SLOTS, ByteStride

BATCH_BYTES, RECORD_BYTES = 1000, 10
LEADERS = np.array([0, 1, 0, 1, 0, 1, 0, 1], np.int32)
"""Two brokers lead four partitions each."""


def picked(records: int) -> list[int]:
    """Partitions of equal records, whose brokers get ahead by half a hundredth."""
    stride = ByteStride(BATCH_BYTES, 0.0, lambda: None)
    stride.set_slot_bytes(BATCH_BYTES, 1 / 100, stay_bytes=BATCH_BYTES)
    stride.set_weights(np.full(8, 1 / 8), 1e9, LEADERS)
    return [stride.pick(None, RECORD_BYTES) for _ in range(records)]


def test_short_slots_fill_a_batch_of_one_partition_of_each_broker() -> None:
    """Brokers take turns, each with the same partition until that got a batch; otherwise every partition would have a
    batch of its own open."""
    partitions = picked(5000)

    for broker in (0, 1):
        stays = [len(list(run)) for _, run in groupby(p for p in partitions if LEADERS[p] == broker)]
        assert stays[0] * RECORD_BYTES < BATCH_BYTES + 5 * RECORD_BYTES
        assert min(stays[:-1]) * RECORD_BYTES >= BATCH_BYTES
    assert sum(a != b for a, b in pairwise(partitions)) > 5000 / 50, "slots are short"


def fullest_at_end(records: int, expected_bytes: float) -> float:
    """Bytes of the fuller broker over the mean, after so many records at speed."""
    stride = ByteStride(BATCH_BYTES, 0.0, lambda: None, lambda: expected_bytes)
    stride.set_slot_bytes(100 * BATCH_BYTES, 1 / 40)
    stride.set_weights(np.full(8, 1 / 8), 1e9, LEADERS)
    counts = np.bincount(LEADERS[[stride.pick(None, RECORD_BYTES) for _ in range(records)]])
    return float(counts.max() / counts.mean())


def test_brokers_end_even_if_the_end_is_known() -> None:
    """Within an eighth of a percent and a record, even if headers add a tenth; if twice as much was expected, as
    without."""
    counts = range(2000, 2600, 50)
    assert max(fullest_at_end(n, inf) for n in counts) > 1.01
    for n in counts:
        for expected_records in (n, n / 1.1):
            assert fullest_at_end(n, expected_records * RECORD_BYTES) <= 1 + 1 / 800 + 2 / n
        assert fullest_at_end(n, 2 * n * RECORD_BYTES) <= 1 + 1 / 80 + 2 / n


def most_ahead(partitions: Sequence[int], weights: F64) -> F64:
    """After each record: bytes that the fullest of two brokers is ahead of its weight, over half a hundredth of what it
    should have and a record."""
    of_partition = np.cumsum(np.array(partitions)[:, None] == np.arange(8), axis=0) * RECORD_BYTES
    of_broker = np.stack([of_partition[:, broker == LEADERS].sum(axis=1) for broker in (0, 1)], axis=1)
    due = of_broker.sum(axis=1, keepdims=True) * np.bincount(LEADERS, weights)
    ahead: F64 = ((of_broker - due) / (due / 200 + RECORD_BYTES)).max(axis=1)
    return ahead


def test_no_broker_is_further_ahead_than_half_a_hundredth_and_no_partition_than_a_batch() -> None:
    """At any moment, whatever partition a broker stays with."""
    partitions = picked(5000)
    of_partition = np.cumsum(np.array(partitions)[:, None] == np.arange(8), axis=0) * RECORD_BYTES

    assert most_ahead(partitions, np.full(8, 1 / 8)).max() <= 1
    # a stay ends with the slot that reaches the batch; a broker is behind by as much as the other is ahead
    slot_bytes = np.maximum(of_partition.sum(axis=1) / 100, RECORD_BYTES)
    assert (np.ptp(of_partition, axis=1) <= BATCH_BYTES + slot_bytes + RECORD_BYTES).all()


def test_a_slot_ends_when_its_broker_is_half_a_hundredth_ahead() -> None:
    """Of two brokers, each is behind by what the other is ahead of its own weight: slots make up for both."""
    weights = np.array([1, 3] * 4) / 16
    stride = ByteStride(10**9, 0.0, lambda: None)
    stride.set_slot_bytes(10**9, 1 / 100)
    stride.set_weights(weights, 1e9, LEADERS)
    partitions = [stride.pick(None, RECORD_BYTES) for _ in range(50_000)]
    lengths: dict[int, list[int]] = {0: [], 1: []}
    for broker, run in groupby(LEADERS[partitions].tolist()):
        lengths[broker].append(len(list(run)))

    assert most_ahead(partitions, weights).max() <= 1
    # during a slot its broker's share of all records grows by its weight
    assert lengths[0][-2] == pytest.approx(50_000 / 200 / (3 / 4), rel=0.1)
    assert lengths[1][-2] == pytest.approx(50_000 / 200 / (1 / 4), rel=0.1)


def test_spare_bytes_make_slots_longer_by_weight() -> None:
    """At any moment, a broker is ahead by no more than half a hundredth, and by half of its weight of the spare
    bytes."""
    weights, spare_bytes = np.array([1, 3] * 4) / 16, 40_000
    stride = ByteStride(10**9, 0.0, lambda: None)
    stride.set_slot_bytes(10**9, 1 / 100, spare_bytes=spare_bytes)
    stride.set_weights(weights, 1e9, LEADERS)
    partitions = [stride.pick(None, RECORD_BYTES) for _ in range(50_000)]
    of_broker = np.cumsum(LEADERS[partitions][:, None] == np.arange(2), axis=0) * RECORD_BYTES
    due = of_broker.sum(axis=1, keepdims=True) * np.bincount(LEADERS, weights)
    ahead = of_broker - due - due / 200

    assert (ahead <= np.bincount(LEADERS, weights) * spare_bytes / 2 + RECORD_BYTES).all()
    assert (ahead.max(axis=0) >= 0.95 * np.bincount(LEADERS, weights) * spare_bytes / 2).all()


def planned(stride: ByteStride, sizes: list[int]) -> list[int]:
    """Partitions of records that are sent by planned slots, each asked for when the ones before are used up."""
    partitions: list[int] = []
    slots: list[tuple[int, int]] = []
    overruns: list[tuple[int, int]] = []
    left = 0
    for size in sizes:
        if left <= 0:
            if not slots:
                slots, overruns = stride.plan_slots(size, overruns, 200_000), []
            partition, left = slots.pop(0)
        partitions.append(partition)
        left -= size
        if left < 0:
            overruns.append((partition, -left))
    return partitions


def test_planned_slots_keep_brokers_even_at_any_moment() -> None:
    """As even as slots that are chosen one by one, for equal records, although many slots are planned at once."""
    stride = ByteStride(BATCH_BYTES, 0.0, lambda: None)
    stride.set_slot_bytes(BATCH_BYTES, 1 / 100, stay_bytes=BATCH_BYTES)
    stride.set_weights(np.full(8, 1 / 8), 1e9, LEADERS)

    assert most_ahead(planned(stride, [RECORD_BYTES] * 5000), np.full(8, 1 / 8)).max() <= 1


@pytest.mark.parametrize(("keeps_stays", "partitions"), [(True, 2), (False, 8)])
def test_a_partition_keeps_its_stay_if_asked_to(keeps_stays: bool, partitions: int) -> None:
    """New weights after each slot leave every broker with its partition, or take another one each time."""
    stride = ByteStride(BATCH_BYTES, 0.0, lambda: None)
    stride.set_slot_bytes(BATCH_BYTES, 1 / 100, stay_bytes=100 * BATCH_BYTES, keeps_stays=keeps_stays)
    used = set()
    for n in range(8):
        stride.set_weights(np.full(8, 1 / 8), 1e9, LEADERS)
        for _ in range(5 + n):
            used.add(stride.pick(None, BATCH_BYTES))

    assert len(used) == partitions


def test_a_stay_that_became_too_long_ends() -> None:
    """A partition that was to get a hundred batches makes room once one is enough."""
    stride = ByteStride(BATCH_BYTES, 0.0, lambda: None)
    stride.set_slot_bytes(BATCH_BYTES, 1 / 100, stay_bytes=100 * BATCH_BYTES, keeps_stays=True)
    stride.set_weights(np.full(8, 1 / 8), 1e9, LEADERS)
    used = {stride.pick(None, BATCH_BYTES) for _ in range(8)}
    assert len(used) == 2

    stride.set_stay_bytes(BATCH_BYTES)
    assert len(used | {stride.pick(None, BATCH_BYTES) for _ in range(12)}) == 8


def plan_most(stride: ByteStride) -> None:
    """Plan slots until as many are planned at once as there may be."""
    while len(stride.plan_slots(10, [], 10**9)) < MOST_SLOTS:
        pass


def test_at_first_no_more_slots_are_planned_than_there_were() -> None:
    """Until then little is known of the lengths of records."""
    stride = ByteStride(200_000, 0.0, lambda: None)
    stride.set_slot_bytes(200_000, inf)
    stride.set_weights(np.full(8, 1 / 8), 1e9, LEADERS)
    assert [len(stride.plan_slots(10, [], 10**9)) for _ in range(6)] == [1, 1, 2, 4, 8, 16]


@pytest.mark.parametrize(("ahead_bytes", "count"), [(0, 1), (1, 1), (200_001, 2), (1_000_000, 5), (10**8, MOST_SLOTS)])
def test_slots_are_planned_for_all_bytes_ahead(ahead_bytes: int, count: int) -> None:
    """As many slots as these bytes fill, but at most as many as there may be."""
    stride = ByteStride(200_000, 0.0, lambda: None)
    stride.set_slot_bytes(200_000, inf)
    stride.set_weights(np.full(8, 1 / 8), 1e9, LEADERS)
    plan_most(stride)
    before = stride.sent_bytes.sum()
    slots = stride.plan_slots(10, [], ahead_bytes)
    assert [n_bytes for _, n_bytes in slots] == [200_000] * count
    assert stride.sent_bytes.sum() == before + 200_000 * count


def test_weights_are_recomputed_between_slots_that_are_planned_at_once() -> None:
    """At the same byte as if each slot were planned on its own."""

    def renewals(ahead_bytes: int) -> list[int]:
        found: list[int] = []
        stride = ByteStride(1000, 0.0, lambda: found.append(stride.total_bytes))
        stride.set_slot_bytes(1000, inf)
        stride.set_weights(np.ones(1), 10_050)
        while stride.total_bytes < 100_000:
            stride.plan_slots(10, [], ahead_bytes)
        return found[:9]

    assert renewals(10**9) == renewals(1) == list(range(11_000, 100_000, 11_000))


def test_long_overruns_end_planning_ahead() -> None:
    """Bytes by which records overran slots are counted at once; then each slot is planned on its own."""
    stride = ByteStride(1000, 0.0, lambda: None)
    stride.set_weights(np.full(8, 1 / 8), 1e9, LEADERS)
    plan_most(stride)
    before = stride.sent_bytes.sum()
    first = stride.plan_slots(10, [], 10**9)
    second = stride.plan_slots(10, [(partition, 500) for partition, _ in first], 10**9)

    assert len(first) == MOST_SLOTS
    assert len(second) == 1
    assert stride.sent_bytes.sum() == before + sum(n for _, n in first + second) + 500 * MOST_SLOTS


def test_what_slots_are_overrun_by_is_made_up_for() -> None:
    """Brokers end within a slot and a record of each other, whatever the lengths of records."""
    sizes = (np.random.default_rng(1).pareto(1.2, 4000) * 500 + 1).astype(int)
    stride = ByteStride(16384, 0.3, lambda: None)
    stride.set_weights(np.full(8, 1 / 8), 1e9, LEADERS)
    partitions = planned(stride, sizes.tolist())

    of_broker = np.bincount(LEADERS[partitions], sizes)
    assert np.ptp(of_broker) <= 16384 + sizes.max()


@pytest.mark.parametrize("calls", range(8))
def test_new_weights_are_taken_whole_after_an_interruption(calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal's handler may raise while some partitions have new weights and others none."""
    stride = ByteStride(BATCH_BYTES, 0.0, lambda: None)
    stride.set_weights(np.full(8, 1 / 8), 1e9, LEADERS)
    for _ in range(500):
        stride.pick(None, RECORD_BYTES)
    entry, left = stride._partition_entry, iter(range(calls, -1, -1))

    def interrupted(partition: int) -> tuple[float, float, int]:
        if next(left, 1) == 0:
            raise InterruptedError
        return entry(partition)

    stride.slot.left_bytes = 0
    stride._book()
    monkeypatch.setattr(stride, "_partition_entry", interrupted)
    stride.set_weights(np.array([0, 0, 1, 1, 1, 1, 0, 0]) / 4, 1e9, LEADERS)
    with pytest.raises(InterruptedError):
        list(starmap(stride.pick, repeat((None, RECORD_BYTES), 500)))
    before = stride.sent_bytes
    for _ in range(4000):
        stride.pick(None, RECORD_BYTES)
    sent = stride.sent_bytes - before
    assert not sent[[0, 1, 6, 7]].any()
    assert np.ptp(sent[2:6]) <= 2 * BATCH_BYTES
