"""Whose bytes a view shows, from views and what was sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from kafkabal.model import F64
from kafkabal.routing.own_and_others_bytes import OwnAndOthersBytes
from kafkabal.routing.routing_view import RoutingView

EVEN = np.full(4, 0.25)

View = Callable[..., RoutingView]


@pytest.fixture
def view_at(view_over: Callable[..., RoutingView]) -> View:
    """Create a view of four partitions, one of each broker, by its time and their bytes."""
    base = view_over(brokers=4)

    def make(at_s: float, of_partition: Sequence[float], **fields: object) -> RoutingView:
        return replace(base, at_s=at_s, partition_bytes=np.array(of_partition, np.float64), **fields)  # type: ignore[arg-type]

    return make


def taken(*views: RoutingView, sent: Sequence[int], balanced: F64 = EVEN) -> OwnAndOthersBytes:
    """What is known after views, the first of which came before anything was sent."""
    told_apart = OwnAndOthersBytes()
    for number, view in enumerate(views):
        told_apart.take(view, np.array(sent if number else [0] * 4, np.int64), balanced)
    return told_apart


def test_growth_is_own_as_far_as_own_records_explain_it(view_at: View) -> None:
    """What a partition got beyond what was sent there, others sent."""
    later = view_at(1, [15, 18, 13, 10], settled_bytes=np.zeros(4))
    told_apart = taken(view_at(0, [10] * 4), later, sent=[5, 5, 5, 0])
    assert told_apart.seen.tolist() == [5, 5, 3, 0]
    assert (told_apart.seen_bytes, told_apart.grown_bytes) == (13, 16)
    assert told_apart.held_before_bytes == 40


def test_what_has_settled_is_seen_even_if_a_broker_reports_less(view_at: View) -> None:
    """Others may have lost records; an acknowledged one is in the log."""
    later = view_at(1, [11, 15, 15, 15], settled_bytes=np.array([4.0, 0, 0, 0]))
    assert taken(view_at(0, [10] * 4), later, sent=[5] * 4).seen.tolist() == [4, 5, 5, 5]


@pytest.mark.parametrize(("others_bytes", "caution"), [(0, 0), (1, 0.4), (4, 1), (100, 1)])
def test_caution_grows_with_what_others_send(view_at: View, others_bytes: float, caution: float) -> None:
    """With a fifth of the growth others', it is two fifths; from half on it is whole."""
    views = view_at(0, [10] * 4), view_at(1, [14 + others_bytes, 10, 10, 10])
    assert taken(*views, sent=[4, 0, 0, 0]).caution == pytest.approx(caution)


def test_before_a_second_view_it_is_a_little_careful(view_at: View) -> None:
    """One view does not tell whether others write, and an idle topic does not either."""
    assert taken(view_at(0, [10] * 4), sent=[0] * 4).caution == 0.1
    assert taken(view_at(0, [10] * 4), view_at(1, [10] * 4), sent=[0] * 4).caution == 0.1


def test_a_revised_view_changes_nothing(view_at: View) -> None:
    """Latencies are measured again between two readings of the log dirs."""
    views = view_at(0, [10] * 4), view_at(1, [20, 10, 10, 10])
    again = taken(*views, view_at(1, [99] * 4), sent=[0] * 4)
    assert (again.grown_bytes, again.seen_bytes) == (10, 0)


def test_unseen_bytes_make_others_even_but_are_no_more_than_a_reading_may_miss(view_at: View) -> None:
    """Partition 0 was reported early: it lacks 8 of what the others got; a reading of a tenth of the time misses three
    tenths of what others sent."""
    first = view_at(0, [0] * 4)
    later = view_at(1, [2, 10, 10, 10], took_s=0.1)
    assert taken(first, later, sent=[0] * 4).others_unseen.tolist() == pytest.approx([0.3 * 32 / 4, 0, 0, 0])
    longer = replace(later, took_s=1.0)
    assert taken(first, longer, sent=[0] * 4).others_unseen.tolist() == [8, 0, 0, 0]


def test_nothing_is_unseen_if_weights_are_unknown_or_nobody_writes(view_at: View) -> None:
    """Partitions may have been added since, and a producer that is alone misses only its own."""
    views = view_at(0, [0] * 4), view_at(1, [2, 10, 10, 10], took_s=1.0)
    assert not taken(*views, sent=[0] * 4, balanced=np.full(3, 1 / 3)).others_unseen.any()
    assert not taken(*views, sent=[2, 10, 10, 10]).others_unseen.any()
