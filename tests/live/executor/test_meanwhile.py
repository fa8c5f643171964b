"""What other people do to a run's topics during the run."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions
from msgspec.structs import replace

from kafkabal.executor.run_options import Throttle, Timeouts
from kafkabal.model.topic_partition import TopicPartition
from tests.live.executor.stage import Stage


def _replicas(stage: Stage, name: TopicPartition) -> tuple[int, ...]:
    return stage.cluster.partition_status([name.topic])[name].replicas


def test_topic_deleted(stage: Stage) -> None:
    """Partitions of a deleted topic are dropped, others reach their targets, and the run succeeds."""
    process = stage.begin(stage.slow)
    stage.until(lambda: stage.in_flight(stage.moving(0)))
    admin = AdminClient({"bootstrap.servers": stage.sandbox.bootstrap_servers})
    admin.delete_topics([stage.moves])[stage.moves].result()
    code, said = process.end()
    assert code == 0, said
    stage.forget(stage.moves)
    stage.assert_as_planned()


def test_topic_given_partitions(stage: Stage) -> None:
    """New partitions of a moving topic are ignored, and the throttle of the others is still removed."""
    process = stage.begin(stage.slow)
    stage.until(lambda: stage.in_flight(stage.moving(0)))
    admin = AdminClient({"bootstrap.servers": stage.sandbox.bootstrap_servers})
    admin.create_partitions([NewPartitions(stage.moves, 7)])[stage.moves].result()
    stage.hasten()
    code, said = process.end()
    assert code == 0, said
    stage.assert_as_planned()


def test_foreign_reassignments_are_never_overwritten(stage: Stage) -> None:
    """A partition that another tool redirects during its move, or moves first, is skipped and named."""
    process = stage.begin(stage.slow)
    stage.until(lambda: stage.in_flight(stage.moving(0)))
    theirs = {stage.moving(0): (2, 3), stage.moving(2): (3, 2)}
    assert not stage.cluster.alter_reassignments(theirs)
    stage.hasten()
    code, said = process.end()
    assert code == 1
    assert all(f"'{name}', 'moved by another tool" in said for name in theirs), said
    stage.until(lambda: not stage.in_flight())
    stage.until(lambda: {name: _replicas(stage, name) for name in theirs} == theirs)
    stage.assert_as_planned(*theirs)


def test_throttle_below_what_is_written(stage: Stage) -> None:
    """A copy that never catches up is given up in bounded time, and named with the reason; all throttles are
    restored."""
    timeouts = Timeouts(poll_s=0.25, stall_s=6.0, broker_return_s=6.0)
    options = replace(stage.slow, throttle=Throttle(bytes_per_s=300_000), timeouts=timeouts)
    busy = stage.moving(3)
    with _writing(stage, busy):
        code, said = stage.begin(options, plan=stage.plan_of(busy)).end()
    assert code == 1
    assert f"'{busy}', 'producers write faster" in said, said
    assert "all throttles restored" in said
    stage.assert_as_at_start()


@contextmanager
def _writing(stage: Stage, name: TopicPartition) -> Iterator[None]:
    """Write about 2 MB per second to a partition."""
    is_over = threading.Event()
    producer = Producer({"bootstrap.servers": stage.sandbox.bootstrap_servers, "linger.ms": 0})

    def write() -> None:
        while not is_over.wait(0.05):
            producer.produce(name.topic, bytes(100_000), partition=name.partition)
            producer.poll(0)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        assert producer.flush(30) == 0


_SAME_ON_EVERY_HOST = (
    "run_id",
    "goal",
    "phase",
    "outcome",
    "lock_holder",
    "total_bytes",
    "batches",
    "planned_partitions",
)


def _status(stage: Stage, host: str) -> dict[str, Any]:
    said = json.loads(stage.command("status", "-o", "json", host=host).stdout)
    return {key: said[key] for key in _SAME_ON_EVERY_HOST}


def _agreed_status(stage: Stage, *hosts: str) -> dict[str, Any]:
    """The status that all of these hosts agree on: between two observations a run may start another batch."""
    agreed: dict[str, Any] = {}

    def agree() -> None:
        seen = [_status(stage, host) for host in hosts]
        assert seen == [seen[0]] * len(hosts)
        assert seen[0]["batches"]
        agreed.update(seen[0])

    stage.soon(agree)
    return agreed


@pytest.mark.sweep
def test_status_is_the_same_on_every_host(stage: Stage) -> None:
    """All hosts show the same status, also after a resume by another host, including batches only journals had."""
    process = stage.begin(stage.slow)
    stage.until(lambda: stage.in_flight(stage.moving(0)))
    live = _agreed_status(stage, "one", "two")
    assert str(process.popen.pid) in live["lock_holder"]
    process.kill()
    stage.finish("resume", host="two")
    ended = _agreed_status(stage, "one", "two", "three")
    assert (ended["outcome"], ended["batches"] > live["batches"]) == ("complete", True)
    stage.assert_as_planned()
