"""Experiment 4 through the reader: what an unbalanced topic costs a trainer, with and without prefetching and caching.

The brokers are throttled as in :mod:`experiments.training_time`. One rank per broker reads its share of one shuffled
order through :class:`~kafkabal.reader.TopicReader`; after each batch all ranks wait for each other and compute. Unlike
there, every rank reads from every broker, and the times of whole epochs are compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Barrier, Thread
from time import monotonic, sleep

import numpy as np

from experiments.experiment_sandbox import ExperimentSandbox
from experiments.report import Finding
from experiments.training_time import CLIENT_ID, RATE_BYTES_PER_S, limit_readers, with_first
from kafkabal.config import ConnectionSettings
from kafkabal.reader import Manifest, TopicReader, pin
from kafkabal.simulator import StorageProfile, TrainingJob, training_time

_RECORD_BYTES = 4_000
_RECORDS = 32_000
_BATCH = 80
_PARTITIONS_A_BROKER = 4
"""A reader has a block of each lane open, so the first batch waits for the first blocks of all lanes, and the last
batches are computed after the last byte has arrived: with one partition per broker, that is a quarter of the topic."""
_BATCH_BYTES = 4_096
"""Batch size of the producer: one record each. Blocks of this small topic have a third of a megabyte, and each ends
inside a batch: with batches of 16 kB, 7% more is fetched than is yielded."""
_COMPUTE_S = 0.02
_WARM_UP_S = 2.5
_WITHIN = 0.15
"""Maximum relative error of the model's seconds."""
_OVER_MEAN = {"even": 1.0, "1.5 times the mean": 1.5, "twice the mean": 2.0}


@dataclass(frozen=True, slots=True)
class _Trainer:
    """How the trainer reads a topic."""

    prefetches: bool
    caches: bool = False
    epochs: int = 1


_TRAINERS = {
    "nothing ahead": _Trainer(prefetches=False),
    "prefetch": _Trainer(prefetches=True),
    "prefetch and cache, two epochs": _Trainer(prefetches=True, caches=True, epochs=2),
}


def run(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """Fill a topic unevenly in several ways, and train with each in several ways."""
    records = bench.extent.records(_RECORDS)
    n = len(bench.brokers)
    shares = {name: with_first(times, n) for name, times in _OVER_MEAN.items()}
    shares["all on one broker"] = [1.0] + [0.0] * (n - 1)
    limit_readers(bench.sandbox)
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for number, (placement, of_broker) in enumerate(shares.items()):
        topic = f"reading-{number}"
        bench.create(topic, [[broker] for broker in bench.brokers * _PARTITIONS_A_BROKER])
        counts = [round(part * records / _PARTITIONS_A_BROKER) for part in of_broker * _PARTITIONS_A_BROKER]
        bench.send_by_hand(topic, counts, _RECORD_BYTES, **{"batch.size": _BATCH_BYTES})
        held = bench.bytes_by_broker(topic).astype(np.float64)
        found[placement] = {}
        if number == 0:
            _train(bench, topic, _TRAINERS["prefetch"])  # new brokers take a while to reach full speed
        for name, trainer in _TRAINERS.items():
            (seconds, fetched), model = _train(bench, topic, trainer), _model_s(held, trainer)
            found[placement][name] = seconds, model
            times = fetched / (trainer.epochs * held.sum())
            say(f"{placement}, {name}: {seconds:.1f} s, by the model {model:.1f} s; fetched {times:.2f} x")
        bench.delete(topic)
    ahead = {placement: found[placement]["prefetch"] for placement in found}
    off = {placement: abs(seconds / model - 1) for placement, (seconds, model) in ahead.items()}
    return Finding(
        key="training-through-reader",
        title="4 through the reader. Uneven topics, prefetch and cache",
        setting=f"{n} brokers, each limited by a quota to {RATE_BYTES_PER_S / 1e6:g} MB/s for the readers, which share "
        f"a client id. {records} records of {_RECORD_BYTES} bytes, {_PARTITIONS_A_BROKER} "
        f"partitions for each broker. {n} ranks read one "
        f"shuffled order through `TopicReader`, {_BATCH} records a batch; after each batch they wait for the slowest, "
        f"and compute for {_COMPUTE_S * 1000:g} ms. The training model predicts the times beside the measured ones.",
        columns=["placement", *(f"{name}, s {which}" for name in _TRAINERS for which in ("measured", "by the model"))],
        rows=[
            [placement, *(f"{value:.2f}" for pair in of.values() for value in pair)] for placement, of in found.items()
        ],
        verdicts=[
            (
                f"with prefetch every epoch is within {_WITHIN:.0%} of the model (furthest: {max(off.values()):.0%})",
                max(off.values()) <= _WITHIN,
            ),
            (
                "the placement does not slow an epoch from the cache",
                all(of["prefetch and cache, two epochs"][0] < 1.5 * of["prefetch"][0] for of in found.values()),
            ),
        ],
        bars={placement: list(pair) for placement, pair in ahead.items()},
        bar_labels=["measured", "by the model"],
        bar_axis="an epoch with prefetch, seconds",
        data=found,
    )


def _train(bench: ExperimentSandbox, topic: str, trainer: _Trainer) -> tuple[float, int]:
    """Seconds of all epochs, and bytes fetched from the brokers."""
    ranks = len(bench.brokers)
    servers = tuple(bench.sandbox.bootstrap_servers.split(","))
    connection = ConnectionSettings(bootstrap_servers=servers, client_id=CLIENT_ID)
    manifest = pin(topic, connection, readers=ranks)
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) if trainer.caches else None
        readers = [_reader(connection, manifest, rank, ranks, trainer, cache) for rank in range(ranks)]
        _spend_the_burst(connection, manifest)
        step = Barrier(ranks)
        threads = [Thread(target=_compute, args=(reader, step), daemon=True) for reader in readers]
        begun_s = monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        elapsed_s = monotonic() - begun_s
    assert not step.broken, "a reader gave up"
    return elapsed_s, sum(sum(reader.metrics.network_bytes.values()) for reader in readers)


def _reader(
    connection: ConnectionSettings, manifest: Manifest, rank: int, ranks: int, trainer: _Trainer, cache: Path | None
) -> TopicReader:
    return TopicReader(
        manifest.topic,
        connection=connection,
        manifest=manifest,
        shuffle_seed=1,
        epochs=trainer.epochs,
        rank=rank,
        world_size=ranks,
        prefetch="64MiB" if trainer.prefetches else 1,
        cache=cache,
    )


def _compute(reader: TopicReader, step: Barrier) -> None:
    try:
        for _ in reader.batches(_BATCH):
            step.wait()
            sleep(_COMPUTE_S)
    except BaseException:
        step.abort()
        raise


def _spend_the_burst(connection: ConnectionSettings, manifest: Manifest) -> None:
    """Read from all brokers for a while, until no quota has any unused burst left."""
    end_s = monotonic() + _WARM_UP_S
    while monotonic() < end_s:
        samples = iter(TopicReader(manifest.topic, connection=connection, manifest=manifest, shuffle_seed=2))
        while monotonic() < end_s and next(islice(samples, 16, None), None) is not None:
            pass


def _model_s(held_bytes: np.ndarray, trainer: _Trainer) -> float:
    ranks = len(held_bytes)
    job = TrainingJob(
        epochs=trainer.epochs,
        compute_s=_COMPUTE_S / _BATCH,
        record_bytes=_RECORD_BYTES,
        batch_records=_BATCH * ranks,
        prefetch_batches=int(trainer.prefetches),
        cache_bytes=np.inf if trainer.caches else 0.0,
    )
    return training_time(held_bytes, job, StorageProfile(bytes_per_s=RATE_BYTES_PER_S)).train_s
