"""Models how records travel from producers to brokers and back: batches, connections, queues, replicas,
acknowledgements.

A discrete-event simulation in kernels (see :mod:`kafkabal.routing.compiled_kernels`). It models:

* A producer has one open batch per partition. A batch may be sent when it is full or has lingered. A connection carries
at most ``in_flight`` batches; a batch that waits for its connection keeps growing until it is full, as in Kafka's
accumulator.
* A broker serves batches one after the other: a fixed time per request, plus its bytes at the broker's rate. Followers
receive the same bytes; their work joins their queues when the leader gets the batch.
* The acknowledgement arrives half a round trip after the leader, or with ``acks=all`` the last follower, is done.
* The memory for batches and records is bounded and shared by the producers; when it is used up they wait.

Between queue events the model is deterministic; only the workload and the policy are random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kafkabal.routing import kernel
from kafkabal.simulator.delivery_agenda import schedule_event, take_first
from kafkabal.simulator.delivery_state import (
    FREE_BATCHES,
    FREE_RECORDS,
    NONE,
    OLDEST,
    TO_COME,
    YOUNGEST,
    DeliveryState,
)


@kernel
def deliver(
    sim: DeliveryState,
    pick_kernel: Any,
    learn: Any,
    states: Any,
    turn: int,
    picks: list[int],
    size_bytes: Sequence[int],
    hashes: Sequence[Sequence[int]],
    uniforms: Sequence[Sequence[float]],
    at_s: Sequence[float],
    latency_s: list[float],
) -> int:
    """Process records in the order of their times.

    Parameters
    ----------
    states
        State of each producer's policy.
    turn
        Number of the first record; record i belongs to producer ``(turn + i) % producers``.
    picks
        Partition of each record, or -1 for ``pick_kernel`` to pick it now; its picks are written here.
    latency_s
        Filled with the latency of each record that is acknowledged meanwhile, measured from its offer.

    Returns
    -------
    int
        How many were acknowledged.
    """
    counts, now_s, leader = sim.counts, sim.now_s, sim.topic.leader
    acked = 0
    for i in range(len(size_bytes)):
        acked = advance(sim, learn, states, at_s[i], latency_s, acked)
        while counts[FREE_BATCHES] == 0 or counts[FREE_RECORDS] == 0:
            acked = advance(sim, learn, states, next_event_s(sim), latency_s, acked)
        now_s[0] = max(now_s[0], at_s[i])
        producer = (turn + i) % len(states)
        partition = picks[i]
        if partition < 0:
            partition = pick_kernel(states[producer], size_bytes[i], hashes[i], uniforms[i], now_s[0])
            picks[i] = partition
        if leader[partition] < 0:
            learn(states[producer], partition, size_bytes[i], math.nan, now_s[0])
        else:
            offer(sim, producer * len(leader) + partition, size_bytes[i], at_s[i])
    return acked


@kernel
def advance(sim: DeliveryState, learn: Any, states: Any, until_s: float, latency_s: list[float], acked: int) -> int:
    """Process all events up to a time."""
    while True:
        event_s = next_event_s(sim)
        if event_s > until_s:
            return acked
        sim.now_s[0] = max(sim.now_s[0], event_s)
        if sim.counts[TO_COME] > 0 and sim.agenda.at_s[0] <= event_s:
            acked = acknowledge(sim, learn, states, latency_s, acked)
        else:
            expired = sim.counts[OLDEST]
            stop_lingering(sim, expired)
            make_ready(sim, expired)


@kernel
def next_event_s(sim: DeliveryState) -> float:
    """Time of the next event; infinity if there is none."""
    counts = sim.counts
    event_s = sim.agenda.at_s[0] if counts[TO_COME] > 0 else math.inf
    oldest = counts[OLDEST]
    if oldest >= 0:
        event_s = min(event_s, sim.batches.opened_s[oldest] + sim.limits.linger_s[0])
    return event_s


@kernel
def offer(sim: DeliveryState, place: int, size_bytes: int, offered_s: float) -> None:
    """Append a record to the open batch of its producer and partition, or open one."""
    batches, records, most_bytes = sim.batches, sim.records, sim.limits.batch_bytes[0]
    batch = sim.open_batch[place]
    if batch >= 0 and batches.size_bytes[batch] + size_bytes > most_bytes:
        fill_up(sim, batch)
        batch = NONE
    if batch < 0:
        batch = start_batch(sim, place)
    sim.counts[FREE_RECORDS] -= 1
    record = records.spare[sim.counts[FREE_RECORDS]]
    records.following[record] = NONE
    records.at_s[record] = sim.now_s[0]
    records.offered_s[record] = offered_s
    records.size_bytes[record] = size_bytes
    if batches.first_record[batch] < 0:
        batches.first_record[batch] = record
    else:
        records.following[batches.last_record[batch]] = record
    batches.last_record[batch] = record
    batches.size_bytes[batch] += size_bytes
    if batches.size_bytes[batch] >= most_bytes:
        fill_up(sim, batch)


@kernel
def start_batch(sim: DeliveryState, place: int) -> int:
    """Allocate an empty batch; it lingers from now on."""
    sim.counts[FREE_BATCHES] -= 1
    batch = sim.batches.spare[sim.counts[FREE_BATCHES]]
    sim.batches.size_bytes[batch] = 0
    sim.batches.first_record[batch] = NONE
    sim.batches.opened_s[batch] = sim.now_s[0]
    sim.batches.place[batch] = place
    sim.batches.link[batch] = NONE
    sim.batches.earlier[batch] = sim.counts[YOUNGEST]
    sim.batches.later[batch] = NONE
    if sim.counts[YOUNGEST] >= 0:
        sim.batches.later[sim.counts[YOUNGEST]] = batch
    else:
        sim.counts[OLDEST] = batch
    sim.counts[YOUNGEST] = batch
    sim.open_batch[place] = batch
    return batch


@kernel
def stop_lingering(sim: DeliveryState, batch: int) -> None:
    """Remove a batch from the list of lingering ones."""
    earlier = sim.batches.earlier[batch]
    later = sim.batches.later[batch]
    if earlier >= 0:
        sim.batches.later[earlier] = later
    else:
        sim.counts[OLDEST] = later
    if later >= 0:
        sim.batches.earlier[later] = earlier
    else:
        sim.counts[YOUNGEST] = earlier


@kernel
def fill_up(sim: DeliveryState, batch: int) -> None:
    """Close a batch to further records; it becomes ready unless it already was."""
    sim.open_batch[sim.batches.place[batch]] = NONE
    if sim.batches.link[batch] < 0:
        stop_lingering(sim, batch)
        make_ready(sim, batch)


@kernel
def make_ready(sim: DeliveryState, batch: int) -> None:
    """Send a batch, or queue it for its connection."""
    producer = sim.batches.place[batch] // len(sim.topic.leader)
    partition = sim.batches.place[batch] % len(sim.topic.leader)
    link = producer * len(sim.servers.free_s) + max(sim.topic.leader[partition], 0)
    sim.batches.link[batch] = link
    sim.batches.behind[batch] = NONE
    if sim.links.in_flight[link] < sim.limits.in_flight[0]:
        send(sim, batch)
    elif sim.links.first[link] < 0:
        sim.links.first[link] = batch
        sim.links.last[link] = batch
    else:
        sim.batches.behind[sim.links.last[link]] = batch
        sim.links.last[link] = batch


@kernel
def send(sim: DeliveryState, batch: int) -> None:
    """Put a batch on its connection and compute when it is acknowledged."""
    place = sim.batches.place[batch]
    if sim.open_batch[place] == batch:
        sim.open_batch[place] = NONE
    link = sim.batches.link[batch]
    sim.links.in_flight[link] += 1
    partition = place % len(sim.topic.leader)
    sim.sent[partition] += 1
    sim.batches.sent_s[batch] = sim.now_s[0]
    done_s = serve(sim, link % len(sim.servers.free_s), partition, sim.batches.size_bytes[batch])
    schedule_event(sim, done_s + sim.limits.half_round_trip_s[0], batch)


@kernel
def serve(sim: DeliveryState, leader: int, partition: int, size_bytes: int) -> float:
    """When the leader, and with acks=all every follower, has written the bytes."""
    servers = sim.servers
    arrives_s = sim.now_s[0] + sim.limits.half_round_trip_s[0]
    work_s = servers.request_s[leader] + size_bytes / servers.bytes_per_s[leader]
    servers.free_s[leader] = max(arrives_s, servers.free_s[leader]) + work_s
    done_s = servers.free_s[leader]
    for at in range(sim.topic.first[partition], sim.topic.first[partition + 1]):
        follower = sim.topic.follower[at]
        if follower != leader:
            copy_s = size_bytes / servers.bytes_per_s[follower]
            servers.free_s[follower] = max(arrives_s, servers.free_s[follower]) + copy_s
            if sim.limits.acks_all[0] == 1:
                fetched_s = servers.free_s[leader] + copy_s + 2.0 * sim.limits.half_round_trip_s[0]
                done_s = max(done_s, fetched_s, servers.free_s[follower])
    return done_s


@kernel
def acknowledge(sim: DeliveryState, learn: Any, states: Any, latency_s: list[float], acked: int) -> int:
    """Free the batch that is acknowledged first, and send the next one that waits for its connection."""
    batch = take_first(sim)
    now_s = sim.now_s[0]
    link = sim.batches.link[batch]
    broker = link % len(sim.servers.free_s)
    sim.servers.latency_s[broker] += now_s - sim.batches.sent_s[batch]
    sim.servers.batches[broker] += 1
    sim.servers.acked_bytes[broker] += sim.batches.size_bytes[batch]
    producer = sim.batches.place[batch] // len(sim.topic.leader)
    partition = sim.batches.place[batch] % len(sim.topic.leader)
    counts, records = sim.counts, sim.records
    record = sim.batches.first_record[batch]
    while record >= 0:
        latency_s[acked] = now_s - records.offered_s[record]
        acked += 1
        learn(states[producer], partition, records.size_bytes[record], now_s - records.at_s[record], now_s)
        records.spare[counts[FREE_RECORDS]] = record
        counts[FREE_RECORDS] += 1
        record = records.following[record]
    sim.batches.spare[counts[FREE_BATCHES]] = batch
    counts[FREE_BATCHES] += 1
    sim.links.in_flight[link] -= 1
    waiting = sim.links.first[link]
    if waiting >= 0:
        sim.links.first[link] = sim.batches.behind[waiting]
        send(sim, waiting)
    return acked


@kernel
def pick_none(state: Any, size_bytes: int, hashes: Any, uniforms: Any, now_s: float) -> int:  # noqa: ARG001
    """Stands in for the kernel of a policy whose picks are precomputed."""
    return NONE
