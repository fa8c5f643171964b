"""How fast a topic can be read by several readers at once, each in a process of its own as in training."""

from __future__ import annotations

import logging
import multiprocessing as mp
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from threading import BrokenBarrierError
from typing import Any

import numpy as np

from kafkabal.config import ConnectionSettings
from kafkabal.errors import KafkabalError, OperationError
from kafkabal.reader.dataset import TopicReader
from kafkabal.reader.manifest import Manifest
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reader.prefetch import DEFAULT_PREFETCH_BYTES

BATCH_SAMPLES = 32
"""A usual training batch; the time of one is what a training step waits for."""
_EPOCHS = 10**6
"""More than anybody waits for."""
_STARTING_S = 60.0
"""Importing torch in many processes takes seconds, on a loaded machine tens of them; so does connecting them."""
_LOOKED_AFTER_S = 0.5
"""A reader that the kernel killed reports nothing."""
_ENDING_S = 30.0
"""A process that was killed is gone at once, unless the kernel is writing its memory to a full disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRequest:
    """What is read, and how."""

    connection: ConnectionSettings
    manifest: Manifest
    readers: int = 1
    seconds: float = 30.0
    """One epoch after the other is read for so long, by each reader from its first sample on."""
    prefetch_bytes: int = DEFAULT_PREFETCH_BYTES
    """Of each reader."""
    cache: Path | None = None
    cache_bytes: int = 0
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderResult:
    """What one reader measured."""

    reader: int
    metrics: ReaderMetrics
    batch_s: list[float] = field(default_factory=list)
    """How long each batch of 32 samples took to come."""

    @property
    def batch_p99_s(self) -> float | None:
        """99 of 100 batches came within that; None where there was none."""
        return float(np.quantile(self.batch_s, 0.99)) if self.batch_s else None


@dataclass(frozen=True, slots=True)
class Measurement:
    """What all readers measured."""

    readers: Sequence[ReaderResult]

    @property
    def elapsed_s(self) -> float:
        """Of the reader that took longest."""
        return max(each.metrics.elapsed_s for each in self.readers)

    @property
    def samples(self) -> int:
        """Of all readers."""
        return sum(each.metrics.samples for each in self.readers)

    @property
    def size_bytes(self) -> int:
        """Of these samples."""
        return sum(each.metrics.size_bytes for each in self.readers)

    @property
    def bytes_per_s(self) -> float:
        """Of all readers together."""
        return self.size_bytes / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def waiting_fraction(self) -> float:
        """Part of their time that readers waited, mean."""
        return float(np.mean([each.metrics.waiting_fraction for each in self.readers]))

    def network_bytes(self) -> Mapping[int, int]:
        """By broker."""
        total: dict[int, int] = {}
        for each in self.readers:
            for broker, count in each.metrics.network_bytes.items():
                total[broker] = total.get(broker, 0) + count
        return dict(sorted(total.items()))

    def broker_rates(self) -> Mapping[int, float]:
        """Bytes a second that each broker delivers while it is asked.

        A broker that always had a request to answer was read as fast as it can be; one that had not is taken by the
        time that its answers took.
        """
        busy: dict[int, float] = {}
        for each in self.readers:
            for broker, seconds in each.metrics.network_s.items():
                busy[broker] = busy.get(broker, 0.0) + seconds
        return {
            broker: count / min(busy[broker], self.elapsed_s)
            for broker, count in self.network_bytes().items()
            if busy.get(broker)
        }

    @property
    def cache_faults(self) -> Sequence[str]:
        """Why readers cached no further blocks, each reason once."""
        return sorted({each.metrics.cache_fault for each in self.readers if each.metrics.cache_fault is not None})

    @property
    def racks(self) -> Mapping[int, str | None]:
        """Of the brokers."""
        return self.readers[0].metrics.racks


def measure(request: MeasureRequest) -> Measurement:
    """Read for a while with several processes.

    Raises
    ------
    KafkabalError
        What the first reader that failed met.
    """
    context = mp.get_context("spawn")
    start = context.Barrier(request.readers)
    results: Any = context.Queue()
    processes = [
        context.Process(target=_read, args=(request, reader, start, results), daemon=True)
        for reader in range(request.readers)
    ]
    try:
        for process in processes:
            process.start()
        found = _collect(results, processes, request.seconds + 2 * _STARTING_S + _ENDING_S)
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.join(_ENDING_S)
    return Measurement(sorted(found, key=lambda each: each.reader))


def training_file(measured: Measurement) -> dict[str, Any]:
    """What ``route-simulate --training`` takes: a storage profile ``measured``, the rate of each broker, the record."""
    rates = {broker: f"{round(rate)}B/s" for broker, rate in measured.broker_rates().items()}
    mean = round(np.mean(list(measured.broker_rates().values()) or [measured.bytes_per_s]))
    document: dict[str, Any] = {
        "profiles": {"measured": {"rate": f"{mean}B/s", "latency": "0ms"}},
        "job": {"record": f"{round(measured.size_bytes / max(measured.samples, 1))}B"},
    }
    if rates:
        document["read_rate"] = {"default": f"{mean}B/s", **rates}
    return document


def _collect(results: Any, processes: Sequence[Any], patience_s: float) -> list[ReaderResult]:
    """What all readers report; ends at the first that fails or dies."""
    import queue

    end_s = time.monotonic() + patience_s
    found: list[ReaderResult] = []
    while len(found) < len(processes):
        try:
            result = results.get(timeout=_LOOKED_AFTER_S)
        except queue.Empty:
            reported = {each.reader for each in found}
            for reader, process in enumerate(processes):
                if process.exitcode not in (None, 0) and reader not in reported:
                    raise OperationError(
                        f"reader {reader} died (exit code {process.exitcode})",
                        hint="out of memory? lower --prefetch or --readers",
                    ) from None
            if time.monotonic() > end_s:
                raise OperationError("a reader did not report in time") from None
            continue
        if isinstance(result, KafkabalError):
            raise result
        assert isinstance(result, ReaderResult)
        found.append(result)
    return found


def _read(request: MeasureRequest, reader: int, start: Any, results: Any) -> None:
    """Run in a process of its own."""
    # as in the process that started this one, a library's warning is not a message for a user
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        results.put(_measured(request, reader, start))
    except KafkabalError as error:
        start.abort()
        results.put(_plain(error))
    except (KeyboardInterrupt, BrokenPipeError):
        start.abort()
    except BrokenBarrierError:
        return  # another reader failed, and says why


def _plain(error: KafkabalError) -> KafkabalError:
    """The error as it can be pickled for another process."""
    picklable = OperationError(error.message, hint=error.hint)
    picklable.exit_code = error.exit_code
    return picklable


def _measured(request: MeasureRequest, reader: int, start: Any) -> ReaderResult:
    warnings.simplefilter("ignore")  # epochs without end outlast every retention
    data = TopicReader(
        request.manifest.topic,
        connection=request.connection,
        manifest=request.manifest,
        shuffle_seed=0,
        epochs=_EPOCHS,
        rank=reader,
        world_size=request.readers,
        tail="keep",
        join=False,
        prefetch=request.prefetch_bytes,
        cache=request.cache,
        cache_bytes=request.cache_bytes,
        rack=request.rack,
    )
    start.wait(_STARTING_S)
    if not len(data):
        return ReaderResult(reader=reader, metrics=data.metrics)
    with closing(iter(data)) as samples:  # what was given out is counted at the latest when it is closed
        first = next(samples)
        data.metrics.waited_s = 0.0  # for connections, which a training run opens once
        batch_s = _batch_times(chain([first], samples), request.seconds, time.monotonic)
    data.metrics.elapsed_s = sum(batch_s)
    return ReaderResult(reader=reader, metrics=data.metrics, batch_s=batch_s)


def _batch_times(samples: Iterator[Any], seconds: float, now_s: Callable[[], float]) -> list[float]:
    """How long each batch takes to come, of those that begin within so many seconds from now; the last may be short."""
    found: list[float] = []
    began_s = last_s = now_s()
    while last_s - began_s < seconds and (count := sum(1 for _ in islice(samples, BATCH_SAMPLES))):
        after_s = now_s()
        found.append(after_s - last_s)
        last_s = after_s
        if count < BATCH_SAMPLES:
            break
    return found
