"""How long slots are, by what is known of the records, the topic and the scores."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from kafkabal.routing.slot_lengths import SlotLengths, Turns

BATCH_BYTES = 16_384
FOUR = Turns(number=4, are_groups=False, leaders=4, copies=1.0)
FAST = SlotLengths(
    batch_bytes=BATCH_BYTES,
    linger_s=0.005,
    turns=FOUR,
    scores_bytes=True,
    balances_bytes=True,
    follows_traffic=False,
    bytes_per_s=40e6,
    burst_bytes_per_s=40e6,
    mean_bytes_per_s=40e6,
    record_bytes=1000,
    waiting_records=0,
    acknowledged_bytes=inf,
    held_before_bytes=0.0,
    horizon_bytes=1e9,
    most_at_once=1 / 4,
    is_balanced=True,
    is_fine_grained=True,
)
"""40 MB/s of 1 kB to four balanced brokers."""


@pytest.mark.parametrize(
    ("changes", "expected_bytes"),
    [
        ({}, 800_000),
        ({"follows_traffic": True}, 400_000),
        ({"bytes_per_s": 400e6}, 8_000_000),
        ({"bytes_per_s": 400e6, "most_at_once": 1 / 40}, 800_000),
        ({"bytes_per_s": 8e6}, 16 * BATCH_BYTES),
        ({"bytes_per_s": 8e6, "is_fine_grained": False}, 160_000),
        ({"bytes_per_s": 8e6, "waiting_records": 2000}, 500_000),
        ({"bytes_per_s": 8e6, "waiting_records": 9000}, 988_142),
        ({"bytes_per_s": 8e6, "waiting_records": 9000, "scores_bytes": False}, 1_976_284),
        ({"acknowledged_bytes": 300_000.0}, 300_000),
        ({"is_balanced": False, "horizon_bytes": 4e6}, 250_000),
        ({"is_balanced": False, "horizon_bytes": 1.0}, BATCH_BYTES),
        ({"bytes_per_s": 1e6}, 16_000),
        ({"bytes_per_s": 3e6}, 16_000),
        ({"bytes_per_s": 0.0, "record_bytes": 0, "is_fine_grained": False}, BATCH_BYTES),
    ],
)
def test_slot(changes: dict[str, Any], expected_bytes: int) -> None:
    """What comes in 20 ms or is queued, within what a request and the horizon hold; whole linger times at a low rate,
    and one record more."""
    assert replace(FAST, **changes).slot_bytes == expected_bytes


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 1 / 60),
        ({"bytes_per_s": 0.0}, 1 / 100),
        ({"bytes_per_s": 1e6}, 1 / 40),
        ({"balances_bytes": False}, inf),
    ],
)
def test_part_of_what_brokers_got(changes: dict[str, Any], expected: float) -> None:
    """Slots may be longer at speed and if linger closes batches, and as long as they like if bytes do not matter."""
    assert replace(FAST, **changes).part_of_sent == expected


def test_a_partition_stays_for_a_slot_unless_followers_fill_other_brokers() -> None:
    """One of many interchangeable partitions stays until what comes in 0.1 s, a request at most, is sent to it."""
    groups = Turns(number=12, are_groups=True, leaders=4, copies=3.0)
    assert FAST.stay_bytes == FAST.slot_bytes
    assert replace(FAST, turns=replace(FOUR, copies=3.0)).stay_bytes == 0
    assert replace(FAST, turns=groups, most_at_once=1 / 12, burst_bytes_per_s=9e6).stay_bytes == 900_000
    assert replace(FAST, turns=groups, most_at_once=1 / 12, burst_bytes_per_s=90e6).stay_bytes == 1_000_000


def test_replicas_make_slots_longer_but_not_rounds() -> None:
    """Three replicas of four partitions store three times what is led; of sixty, a round would be too long."""
    assert replace(FAST, turns=replace(FOUR, copies=3.0)).stored_per_led == 3.0
    assert replace(FAST, turns=Turns(60, are_groups=False, leaders=6, copies=3.0)).stored_per_led == 1.0
    assert replace(FAST, turns=replace(FOUR, copies=3.0), scores_bytes=False).stored_per_led == 1.0


def test_a_topic_that_holds_data_has_longer_slots() -> None:
    """A four-hundredth of what it held; with followers, for all partitions of a leader together."""
    held = replace(FAST, held_before_bytes=4e6)
    assert FAST.spare_bytes == 0
    assert held.spare_bytes == 10_000
    assert replace(held, turns=Turns(8, are_groups=False, leaders=4, copies=2.0)).spare_bytes == 5_000


def test_turns_of_a_topic(view_over: Any) -> None:
    """Partitions take turns, or the groups of them; one without a leader has no broker."""
    view = view_over(brokers=4, partitions=8, replication_factor=3)
    leaderless = replace(view, leader=np.where(view.leader == 3, -1, view.leader).astype(np.int32))
    assert Turns.of(view, None) == Turns(number=8, are_groups=False, leaders=4, copies=3.0)
    assert Turns.of(leaderless, np.arange(8, dtype=np.int32) // 4) == Turns(
        number=2, are_groups=True, leaders=3, copies=3.0
    )
