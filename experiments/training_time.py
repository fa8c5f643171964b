"""Experiment 4: what an unbalanced topic costs data-parallel training, with real consumers and throttled brokers.

Kafka's quota limits what each broker sends to all clients with the same id together. The readers share one id. There is
one reader per broker; in every step each reads its part of its shard, and all wait for the slowest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Barrier, Thread
from time import monotonic, sleep

import numpy as np
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from experiments.experiment_sandbox import ExperimentSandbox
from experiments.report import Finding
from kafkabal.sandbox import Sandbox
from kafkabal.simulator import StorageProfile, TrainingJob, training_time

CLIENT_ID = "readers"
RATE_BYTES_PER_S = 4_000_000
"""The quota of each broker for all clients with that id together."""
_RECORD_BYTES = 4_000
_RECORDS = 16_000
_STEPS = 50
_COMPUTE_S = 0.005
_WARM_UP_S = 2.5
_GOAL = 0.9
_FETCH_BYTES = 128 * 1024
_NO_DATA_S = 30.0


def run(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """Fill a topic with unbalanced leaders in several ways, and train with each."""
    records = bench.extent.records(_RECORDS)
    n = len(bench.brokers)
    # enough partitions on the first broker that it holds most with the client's default
    leaders = [bench.brokers[0]] * (n + 1) + bench.brokers[1:]
    fills: dict[str, Callable[[str], None]] = {
        "all on one broker": lambda topic: _fill(
            bench, topic, broker_shares(leaders, [1.0] + [0.0] * (n - 1)), records
        ),
        "twice the mean": lambda topic: _fill(bench, topic, broker_shares(leaders, with_first(2.0, n)), records),
        "1.5 times the mean": lambda topic: _fill(bench, topic, broker_shares(leaders, with_first(1.5, n)), records),
        "even by hand": lambda topic: _fill(bench, topic, broker_shares(leaders, with_first(1.0, n)), records),
        "librdkafka default": lambda topic: _send(bench, topic, "librdkafka default", records),
        "score": lambda topic: _send(bench, topic, "score", records),
    }
    limit_readers(bench.sandbox)
    found: dict[str, tuple[float, float, float]] = {}
    for number, (name, fill) in enumerate(fills.items()):
        topic = f"training-{number}"
        bench.create(topic, [[leader] for leader in leaders])
        fill(topic)
        held = bench.bytes_by_broker(topic).astype(np.float64)
        seconds = _train(bench, topic, leaders)
        found[name] = float(held.max() / held.mean()), seconds, _model_s(held)
        bench.delete(topic)
        say(f"{name}: max/mean {found[name][0]:.2f}, {seconds:.1f} s, by the model {found[name][2]:.1f} s")
    even, extreme, own = (found[name][1] for name in ("even by hand", "all on one broker", "score"))
    twice = found["twice the mean"][1]
    avoided = (extreme - own) / (extreme - even)
    return Finding(
        key="training-time",
        title="4. Space usage against training time",
        setting=f"{n} brokers, each limited by a quota to {RATE_BYTES_PER_S / 1e6:g} MB/s for the readers, which share "
        f"a client id. {records} records of {_RECORD_BYTES} bytes in {len(leaders)} partitions, {n + 1} of them on the "
        f"first broker. {_STEPS} steps; in each, every reader reads its part of what its broker holds, then all wait "
        f"for the slowest and compute for {_COMPUTE_S * 1000:g} ms. The training model "
        "predicts the times beside the measured ones.",
        columns=["placement", "max/mean", "training, s", "by the model, s", "speed lost"],
        rows=[
            [name, f"{ratio:.2f}", f"{seconds:.2f}", f"{model:.2f}", f"{1 - even / seconds:.0%}"]
            for name, (ratio, seconds, model) in found.items()
        ],
        verdicts=[
            (f"twice the mean costs about half of the speed ({1 - even / twice:.0%})", twice >= 1.8 * even),
            (f"score avoids at least {_GOAL:.0%} of the loss at extreme imbalance ({avoided:.1%})", avoided >= _GOAL),
        ],
        bars={name: [seconds, model] for name, (_, seconds, model) in found.items()},
        bar_labels=["measured", "by the model"],
        bar_axis="training, seconds",
        data=found,
    )


def with_first(over_mean: float, n: int) -> list[float]:
    """Fraction of each broker, if the first has the given multiple of the mean."""
    return [over_mean / n] + [(1 - over_mean / n) / (n - 1)] * (n - 1)


def broker_shares(leaders: Sequence[int], of_broker: Sequence[float]) -> list[float]:
    """Fraction of each partition; those of the first broker divide its fraction."""
    on_first = leaders.count(leaders[0])
    return [of_broker[0] / on_first] * on_first + list(of_broker[1:])


def _fill(bench: ExperimentSandbox, topic: str, shares: Sequence[float], records: int) -> None:
    bench.send_by_hand(topic, [round(share * records) for share in shares], _RECORD_BYTES)


def _send(bench: ExperimentSandbox, topic: str, policy: str, records: int) -> None:
    bench.send(topic, policy, np.full(records, _RECORD_BYTES, np.int64))


def limit_readers(sandbox: Sandbox, bytes_per_s: int = RATE_BYTES_PER_S) -> None:
    """Throttle every broker for clients with the readers' id."""
    quota = f"consumer_byte_rate={bytes_per_s}"
    given = ["--alter", "--add-config", quota, "--entity-type", "clients", "--entity-name", CLIENT_ID]
    servers = ["--bootstrap-server", sandbox.bootstrap_servers]
    done = sandbox.run_main("kafka.admin.ConfigCommand", *servers, *given)
    assert done.exit_code == 0, done.stderr


def _model_s(held_bytes: np.ndarray) -> float:
    total = float(held_bytes.sum())
    job = TrainingJob(
        epochs=1,
        # all readers compute at the same time after each step
        compute_s=_COMPUTE_S * _STEPS * len(held_bytes) / (total / _RECORD_BYTES),
        record_bytes=_RECORD_BYTES,
        batch_records=int(total / _RECORD_BYTES / _STEPS),
    )
    return training_time(held_bytes, job, StorageProfile(bytes_per_s=RATE_BYTES_PER_S)).train_s


def _train(bench: ExperimentSandbox, topic: str, leaders: Sequence[int]) -> float:
    """Seconds of all steps."""
    readers = [
        _Reader(bench, topic, [p for p, leader in enumerate(leaders) if leader == broker]) for broker in bench.brokers
    ]
    start = Barrier(len(readers) + 1)
    step = Barrier(len(readers))
    threads = [Thread(target=reader.run, args=(start, step), daemon=True) for reader in readers]
    for thread in threads:
        thread.start()
    start.wait()
    begun_s = monotonic()
    for thread in threads:
        thread.join()
    assert all(reader.done for reader in readers), "a reader gave up"
    return monotonic() - begun_s


class _Reader:
    """Reads the partitions that one broker leads."""

    def __init__(self, bench: ExperimentSandbox, topic: str, partitions: Sequence[int]) -> None:
        self.done = False
        self._parts = [TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions]
        self._consumer = Consumer(
            {
                "bootstrap.servers": bench.sandbox.bootstrap_servers,
                "client.id": CLIENT_ID,
                "group.id": topic,
                "enable.auto.commit": False,
                # little prefetching, so that readers feel the rate in every step
                "fetch.max.bytes": _FETCH_BYTES,
                "message.max.bytes": _FETCH_BYTES,
                "fetch.message.max.bytes": _FETCH_BYTES // len(partitions),
                "queued.max.messages.kbytes": 512,
                "fetch.queue.backoff.ms": 2,
                "log_level": 2,
            }
        )
        ends = [self._consumer.get_watermark_offsets(part, timeout=10)[1] for part in self._parts]
        self._records = sum(ends)

    def run(self, start: Barrier, step: Barrier) -> None:
        """Use up the quota's initial burst, restart, and read through the shard step by step."""
        self._consumer.assign(self._parts)
        self._warm_up()
        start.wait()
        read = 0
        for number in range(1, _STEPS + 1):
            self._read(self._records * number // _STEPS - read)
            read = self._records * number // _STEPS
            step.wait()
            sleep(_COMPUTE_S)
        self._consumer.close()
        self.done = True

    def _warm_up(self) -> None:
        end_s = monotonic() + _WARM_UP_S
        while monotonic() < end_s:
            if self._records and not self._consumer.consume(100, 0.1):
                self._rewind()
        self._rewind()

    def _rewind(self) -> None:
        self._consumer.assign(self._parts)

    def _read(self, count: int) -> None:
        end_s = monotonic() + _NO_DATA_S
        while count > 0:
            found = self._consumer.consume(count, 0.1)
            count -= sum(message.error() is None for message in found)
            assert found or monotonic() < end_s, "no records came"
