"""A long run needs no more memory, file handles or threads at its end than at its start."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import psutil
import pytest
from msgspec.structs import replace

from kafkabal.clusters.cluster_protocol import NewTopic
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Placement, Plan
from tests.live.executor.scenery import KB, RECORD_BYTES, fill
from tests.live.executor.stage import Stage, options

_WARM_UP_S = 4.0
_MOST_GROWTH_BYTES_PER_S = {10: 400_000, 900: 5_000}
"""By seconds: what is imported and cached early on weighs on a short run, and not on a long one."""
_IN_A_ROW = 12
"""Samples of three seconds: longer than any question to a broker takes."""
_RATES = {10: 100 * KB, 900: 10 * KB}
"""Leave moves in flight for longer than that."""
_RECORDS = {10: 10, 900: 1000}
"""Of one more partition: what else moves is there after four minutes at that rate, with what passes at once."""


@dataclass
class Sample:
    """The resources of a process at one moment."""

    at_s: float
    rss_bytes: int
    handles: int
    threads: frozenset[int]


def _sample(process: psutil.Process) -> Sample:
    with process.oneshot():
        threads = frozenset(t.id for t in process.threads())
        return Sample(time.monotonic(), process.memory_info().rss, process.num_fds(), threads)


def _lasting(samples: Sequence[Sample]) -> int:
    """Largest number of threads present in several consecutive samples.

    A request to several brokers takes a thread per broker for milliseconds, and some of these
    may fall into one sample. Permanent threads are the main one and the one that keeps the lock (``kafkabal-lock``)."""
    windows = [samples[i : i + _IN_A_ROW] for i in range(len(samples) - _IN_A_ROW + 1)]
    return max(len(frozenset[int].intersection(*(s.threads for s in window))) for window in windows)


def _longer_plan(stage: Stage, records: int) -> Plan:
    """The plan of the stage, and a partition with this many records that moves from broker 2 to 3."""
    name = TopicPartition(f"{stage.moves}-long", 0)
    assert not stage.cluster.create_topics([NewTopic(name=name.topic, assignment=((2,),))])
    stage.until(lambda: name in stage.cluster.partition_status([name.topic]))
    fill(stage.sandbox.bootstrap_servers, {name: records})
    stage.sizes[name.topic] = (records * RECORD_BYTES,)
    before = Placement(replicas=(2,), leader=2, log_dirs=(ANY_DIR,))
    change = PartitionChange(topic=name.topic, partition=0, replicas=(3,), log_dirs=(ANY_DIR,), previous=before)
    return replace(stage.plan, partitions=(*stage.plan.partitions, change))


@pytest.mark.parametrize(
    "seconds", [10, pytest.param(900, marks=[pytest.mark.sweep, pytest.mark.timeout(1200)])], ids=["short", "long"]
)
def test_memory_threads_and_descriptors_do_not_grow(stage: Stage, seconds: int) -> None:
    """Sampled four times a second, memory has no slope, and handles and threads stay below their early values."""
    process = stage.begin(options(_RATES[seconds]), plan=_longer_plan(stage, _RECORDS[seconds]))
    stage.until(stage.in_flight)
    time.sleep(_WARM_UP_S)
    watched = psutil.Process(process.popen.pid)
    samples = []
    ends_at = time.monotonic() + seconds
    while (time.monotonic() < ends_at or len(samples) <= 2 * _IN_A_ROW) and stage.in_flight():
        samples.append(_sample(watched))
        time.sleep(0.25)
    assert len(samples) > 2 * _IN_A_ROW
    lasted_s = samples[-1].at_s - samples[0].at_s
    assert lasted_s > 0.9 * seconds, "the moves ended too soon to tell"
    slope, _ = np.polyfit([s.at_s - samples[0].at_s for s in samples], [s.rss_bytes for s in samples], 1)
    early, late = np.array_split(np.array(samples, dtype=object), 2)
    assert slope < _MOST_GROWTH_BYTES_PER_S[seconds], f"memory grows by {slope:.0f} B/s"
    assert max(s.handles for s in late) <= max(s.handles for s in early) + 2
    assert _lasting(late) <= _lasting(early)
    first, last, most = samples[0], samples[-1], max(len(s.threads) for s in samples)
    sys.stdout.write(
        f"{len(samples)} samples in {lasted_s:.0f} s: "
        f"memory {first.rss_bytes / 1e6:.1f} to {last.rss_bytes / 1e6:.1f} MB "
        f"({slope:+.0f} B/s), handles {first.handles} to {last.handles}, "
        f"lasting threads {_lasting(early)} to {_lasting(late)}, at most {most} at once\n"
    )
    stage.hasten()
    assert process.end()[0] == 0
