"""Properties of every policy: single records, batches, and machine code give the same partitions."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from kafkabal.errors import OperationError
from kafkabal.routing.compiled_kernels import as_arrays, compiled, is_available, write_back
from kafkabal.routing.key_hashes import KeyTable
from kafkabal.routing.per_record_policy import PerRecordPolicy
from kafkabal.routing.policy_protocol import Context, Feedback, Input, Policy, RecordBatch
from kafkabal.routing.registry import load_policy, policy_names
from kafkabal.routing.routing_view import RoutingView

VARIANTS = (
    *policy_names(),
    "round-robin:over=brokers",
    "least-loaded:own=true",
    "power-of-d:d=1",
    "power-of-d:d=4",
    "default:sticky-linger-ms=0",
    "smooth-weighted:weight=free",
    "astraea:cost=size,t-score=false",
    "rack-local:rack=rack-1",
    "adaptive:availability-timeout-ms=1",
    "prequal:quantile=0",
)


class Clock:
    """Shows the time of the record that is being routed."""

    now_s = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now_s


def make(text: str, clock: Clock | None = None, *, compiled: bool = False) -> Policy:
    """A policy with a fixed seed."""
    return load_policy(text).create(Context(seed=3, clock=clock or Clock(), compiled=compiled))


def one_by_one(policy: Policy, records: RecordBatch, clock: Clock) -> list[int]:
    """Route records as a live producer does."""
    assert records.at_s is not None
    assert records.key is not None
    assert records.keys is not None
    picks = []
    for size, row, at_s in zip(records.size_bytes.tolist(), records.key.tolist(), records.at_s.tolist(), strict=True):
        clock.now_s = at_s
        picks.append(policy.pick(None if row < 0 else records.keys[row], size))
    return picks


def in_batches(policy: Policy, records: RecordBatch, cuts: tuple[int, ...]) -> list[int]:
    """Route records as the simulator does, cut in places."""
    out = np.empty(len(records), np.int32)
    bounds = (0, *cuts, len(records))
    for start, end in pairwise(bounds):
        policy.pick_batch(records[start:end], out[start:end])
    return out.tolist()


@pytest.mark.parametrize("text", VARIANTS)
def test_batches_equal_single_picks(text: str, uneven_view: RoutingView, mixed_records: RecordBatch) -> None:
    """The live producer and the simulator decide alike, wherever batches are cut, also across a new view."""
    clock = Clock()
    single, batched = make(text, clock), make(text, clock)
    half, later = 1700, replace(uneven_view, at_s=9.0, used_bytes=uneven_view.used_bytes[::-1].copy())
    picks: list[list[int]] = [[], []]
    for view, records in ((uneven_view, mixed_records[:half]), (later, mixed_records[half:])):
        clock.now_s = view.at_s
        single.refresh(view)
        batched.refresh(view)
        picks[0] += one_by_one(single, records, clock)
        picks[1] += in_batches(batched, records, (1, 640))

    assert picks[0] == picks[1]


@pytest.mark.parametrize("text", VARIANTS)
def test_an_empty_key_is_the_same_in_batches(text: str, uneven_view: RoutingView, mixed_records: RecordBatch) -> None:
    """Whether an empty key is hashed or counts as none, it is the same singly and in batches."""
    clock = Clock()
    single, batched = make(text, clock), make(text, clock)
    records = replace(mixed_records[:500], keys=KeyTable.of([b"" if i == 3 else b"%d" % i for i in range(200)]))
    single.refresh(uneven_view)
    batched.refresh(uneven_view)

    assert one_by_one(single, records, clock) == in_batches(batched, records, (77,))


@pytest.mark.parametrize("text", VARIANTS)
def test_a_table_without_keys_serves_records_without_keys(
    text: str, uneven_view: RoutingView, mixed_records: RecordBatch
) -> None:
    """Where no record has a key, it does not matter whether there is a table that holds none."""
    tables = (None, KeyTable.of([]), KeyTable.numbered(0))
    picks = []
    for keys in tables:
        policy = make(text)
        policy.refresh(uneven_view)
        picks.append(in_batches(policy, replace(mixed_records[:50], key=np.full(50, -1, np.int32), keys=keys), ()))

    assert picks[0] == picks[1] == picks[2]


@pytest.mark.skipif(not is_available(), reason="numba is not installed")
@pytest.mark.parametrize("text", [text for text in VARIANTS if issubclass(load_policy(text).make, PerRecordPolicy)])
def test_machine_code_equals_python(text: str, uneven_view: RoutingView, mixed_records: RecordBatch) -> None:
    """Compiled kernels give the same partitions and leave the same state behind."""
    plain, fast = make(text), make(text, compiled=True)
    plain.refresh(uneven_view)
    fast.refresh(uneven_view)

    assert in_batches(plain, mixed_records, (2000,)) == in_batches(fast, mixed_records, (2000,))
    assert plain.state == fast.state  # type: ignore[attr-defined]


def acknowledge(learn: Any, state: Any, picks: list[int], records: RecordBatch) -> None:
    """Acknowledge every other record to a kernel, with times by the partition's number; each tenth has failed."""
    assert records.at_s is not None
    for i in range(0, len(picks), 2):
        latency_s = math.nan if i % 20 == 0 else 0.002 * (1 + picks[i])
        learn(state, picks[i], int(records.size_bytes[i]), latency_s, float(records.at_s[i]) + 0.01)


@pytest.mark.skipif(not is_available(), reason="numba is not installed")
@pytest.mark.parametrize("text", [text for text in VARIANTS if load_policy(text).about.feedback is Feedback.ACKS])
def test_machine_code_learns_as_python_does(text: str, uneven_view: RoutingView, mixed_records: RecordBatch) -> None:
    """With acknowledgements in between, compiled kernels go on giving the same partitions, to the last bit of state."""
    plain, fast = make(text), make(text, compiled=True)
    assert isinstance(plain, PerRecordPolicy)
    assert isinstance(fast, PerRecordPolicy)
    for policy in (plain, fast):
        policy.refresh(uneven_view)
    for start in range(0, 1500, 300):
        records = mixed_records[start : start + 300]
        picks = in_batches(plain, records, ())

        assert in_batches(fast, records, ()) == picks

        acknowledge(plain.learn, plain.state, picks, records)
        arrays = as_arrays(fast.state)
        acknowledge(compiled(fast.learn), arrays, picks, records)
        write_back(arrays, fast.state)

        assert plain.state == fast.state


@pytest.mark.parametrize("text", VARIANTS)
def test_records_without_keys_need_a_leader(text: str, uneven_view: RoutingView, mixed_records: RecordBatch) -> None:
    """A partition without a leader gets no records without keys."""
    leader = uneven_view.leader.copy()
    leader[[2, 5]] = -1
    policy = make(text)
    policy.refresh(replace(uneven_view, leader=leader))
    keyless = replace(mixed_records, key=None, keys=None)

    picks = in_batches(policy, keyless, ())

    assert not {2, 5} & set(picks)
    assert set(picks) <= set(range(8))


@pytest.mark.parametrize("text", VARIANTS)
def test_topic_without_any_leader_is_refused(text: str, uneven_view: RoutingView) -> None:
    """Where no partition has a leader, the topic is named."""
    with pytest.raises(OperationError, match="no partition of topic simulated has a leader"):
        make(text).refresh(replace(uneven_view, leader=np.full(8, -1, np.int32)))


@pytest.mark.parametrize("name", [name for name in policy_names() if load_policy(name).about.keeps_key_order])
def test_order_keepers_give_a_key_one_partition(
    name: str, uneven_view: RoutingView, mixed_records: RecordBatch
) -> None:
    """A policy that says it keeps the order of a key sends all of its records to one partition."""
    policy = make(name)
    policy.refresh(uneven_view)
    picks = np.array(in_batches(policy, mixed_records, (123,)))

    assert mixed_records.key is not None
    for key in np.unique(mixed_records.key[mixed_records.key >= 0]):
        assert len(set(picks[mixed_records.key == key])) == 1


@pytest.mark.parametrize("name", [name for name in policy_names() if not load_policy(name).about.keeps_key_order])
def test_others_do_not(name: str, uneven_view: RoutingView, mixed_records: RecordBatch) -> None:
    """A policy that does not say so splits some key, or it would have to say so."""
    policy = make(name)
    policy.refresh(uneven_view)
    first = in_batches(policy, mixed_records[:2000], ())
    policy.refresh(replace(uneven_view, at_s=9.0, used_bytes=uneven_view.used_bytes * np.arange(6, 0, -1)))
    picks = np.array(first + in_batches(policy, mixed_records[2000:], ()))

    assert mixed_records.key is not None
    assert any(len(set(picks[mixed_records.key == key])) > 1 for key in range(200))


@pytest.mark.parametrize("name", policy_names())
def test_latencies_matter_where_a_policy_says_so(
    name: str, uneven_view: RoutingView, mixed_records: RecordBatch
) -> None:
    """Latencies measured by others are refused beside a policy for which they change nothing, and only there."""
    rising = np.arange(1.0, len(uneven_view.latency_s) + 1) / 100
    picks = []
    for latency_s in (rising, rising[::-1].copy()):
        policy = make(name)
        policy.refresh(replace(uneven_view, latency_s=latency_s))
        picks.append(in_batches(policy, mixed_records[:500], ()))

    assert (picks[0] != picks[1]) == load_policy(name).may_use(Input.LATENCY)
