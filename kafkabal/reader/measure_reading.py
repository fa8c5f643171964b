"""Measures how fast several readers can read a topic at once, each in a process of its own as in training."""

from __future__ import annotations

import logging
import multiprocessing as mp
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from multiprocessing import resource_tracker
from pathlib import Path
from threading import BrokenBarrierError
from typing import Any

import numpy as np

from kafkabal.config import ConnectionSettings
from kafkabal.errors import KafkabalError, OperationError
from kafkabal.reader.dataset import TopicReader
from kafkabal.reader.end_with_parent import end_with_parent
from kafkabal.reader.manifest import Manifest
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reader.prefetch import DEFAULT_PREFETCH_BYTES

BATCH_SAMPLES = 32
"""A usual training batch; a training step waits for one of these."""
_EPOCHS = 10**6
"""More than any measurement lasts."""
_STARTING_S = 60.0
"""Importing torch in many processes takes seconds, or tens of seconds on a loaded machine; so does connecting."""
_CHECK_INTERVAL_S = 0.5
"""Interval of checks for readers that the kernel killed: those report nothing."""
_ENDING_S = 30.0
"""A killed process is gone at once, unless the kernel is writing its memory to a full disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRequest:
    """What to read, and how."""

    connection: ConnectionSettings
    manifest: Manifest
    readers: int = 1
    seconds: float = 30.0
    """Each reader reads whole epochs in a row for this long, from its first sample on."""
    prefetch_bytes: int = DEFAULT_PREFETCH_BYTES
    """Per reader."""
    cache: Path | None = None
    cache_bytes: int = 0
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderResult:
    """What one reader measured."""

    reader: int
    metrics: ReaderMetrics
    batch_s: list[float] = field(default_factory=list)
    """How long each batch of 32 samples took to arrive."""

    @property
    def batch_p99_s(self) -> float | None:
        """99th percentile of the batch times; None without batches."""
        return float(np.quantile(self.batch_s, 0.99)) if self.batch_s else None


@dataclass(frozen=True, slots=True)
class Measurement:
    """What all readers measured."""

    readers: Sequence[ReaderResult]

    @property
    def elapsed_s(self) -> float:
        """Time of the slowest reader."""
        return max(each.metrics.elapsed_s for each in self.readers)

    @property
    def samples(self) -> int:
        """Samples of all readers."""
        return sum(each.metrics.samples for each in self.readers)

    @property
    def size_bytes(self) -> int:
        """Bytes of these samples."""
        return sum(each.metrics.size_bytes for each in self.readers)

    @property
    def bytes_per_s(self) -> float:
        """Rate of all readers together."""
        return self.size_bytes / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def waiting_fraction(self) -> float:
        """Mean fraction of their time that readers waited."""
        return float(np.mean([each.metrics.waiting_fraction for each in self.readers]))

    def network_bytes(self) -> Mapping[int, int]:
        """Bytes received, by broker."""
        total: dict[int, int] = {}
        for each in self.readers:
            for broker, count in each.metrics.network_bytes.items():
                total[broker] = total.get(broker, 0) + count
        return dict(sorted(total.items()))

    def broker_rates(self) -> Mapping[int, float]:
        """Bytes per second that each broker delivers while requests to it are in flight.

        A broker that always had a request in flight was read at its full rate; for others the time that their responses
        took counts.
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
        """Why readers stopped caching blocks, each reason once."""
        return sorted({each.metrics.cache_fault for each in self.readers if each.metrics.cache_fault is not None})

    @property
    def has_damaged_samples(self) -> bool:
        """Whether any reader found a damaged sample."""
        return any(each.metrics.corrupt for each in self.readers)

    @property
    def racks(self) -> Mapping[int, str | None]:
        """Racks of the brokers."""
        return self.readers[0].metrics.racks


def measure(request: MeasureRequest) -> Measurement:
    """Read for a while with several processes.

    Raises
    ------
    KafkabalError
        The error of the first reader that failed.
    """
    context = mp.get_context("spawn")
    processes: list[Any] = []
    try:
        with _without_interrupts():
            start, results = context.Barrier(request.readers), context.Queue()
            for reader in range(request.readers):
                process = context.Process(target=_read, args=(request, reader, start, results), daemon=True)
                _start(process, reader)
                processes.append(process)
        found = _collect(results, processes, request.seconds + 2 * _STARTING_S + _ENDING_S)
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.join(_ENDING_S)
    return Measurement(sorted(found, key=lambda each: each.reader))


def training_file(measured: Measurement) -> dict[str, Any]:
    """The file for ``route-simulate --training``: a storage profile ``measured``, the rate of each broker, and the
    result."""
    rates = {broker: f"{round(rate)}B/s" for broker, rate in measured.broker_rates().items()}
    mean = round(np.mean(list(measured.broker_rates().values()) or [measured.bytes_per_s]))
    document: dict[str, Any] = {
        "profiles": {"measured": {"rate": f"{mean}B/s", "latency": "0ms"}},
        "job": {"record": f"{round(measured.size_bytes / max(measured.samples, 1))}B"},
    }
    if rates:
        document["read_rate"] = {"default": f"{mean}B/s", **rates}
    return document


def _start(process: Any, reader: int) -> None:
    try:
        process.start()
    except OSError as error:
        raise OperationError(
            f"cannot start reader {reader}: {error.strerror or error}", hint="lower --readers, or raise 'ulimit -n'"
        ) from error


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Processes started inside are never interrupted by Ctrl-C or the end of the terminal: they would print where they
    are, even while they still import their modules, and this process ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
    try:
        # a process of Python's own, which ignores the other signals, and whose start unblocks them here
        resource_tracker.ensure_running()
        # raises the KeyboardInterrupt of an earlier Ctrl-C when it has blocked the next
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _collect(results: Any, processes: Sequence[Any], timeout_s: float) -> list[ReaderResult]:
    """The results of all readers; ends with the first that fails or dies, or once none is left to report."""
    import queue

    end_s = time.monotonic() + timeout_s
    found: list[ReaderResult] = []
    while len(found) < len(processes):
        have_all_ended = all(process.exitcode is not None for process in processes)
        try:
            result = results.get(timeout=_CHECK_INTERVAL_S)
        except queue.Empty:
            reported = {each.reader for each in found}
            for reader, process in enumerate(processes):
                if process.exitcode not in (None, 0) and reader not in reported:
                    raise OperationError(
                        f"reader {reader} died (exit code {process.exitcode})",
                        hint="out of memory? lower --prefetch or --readers",
                    ) from None
            if have_all_ended:  # even before the queue was found empty
                raise OperationError(
                    f"not all {len(processes)} readers started within {_STARTING_S:.0f} s", hint="lower --readers"
                ) from None
            if time.monotonic() > end_s:
                raise OperationError(
                    "a reader did not report in time", hint="throttled by a quota? raise --for, which extends the wait"
                ) from None
            continue
        if isinstance(result, KafkabalError):
            raise result
        assert isinstance(result, ReaderResult)
        found.append(result)
    return found


def _read(request: MeasureRequest, reader: int, start: Any, results: Any) -> None:
    """Main function of a reader process."""
    # as in the parent process: warnings of libraries are not messages for users
    logging.getLogger().addHandler(logging.NullHandler())
    end_with_parent()
    try:
        results.put(_measure_reader(request, reader, start))
    except KafkabalError as error:
        start.abort()
        results.put(error)
    except BrokenPipeError:
        start.abort()
    except BrokenBarrierError:
        return  # another reader failed and reports why, or has not started in time, which the parent process notices


def _measure_reader(request: MeasureRequest, reader: int, start: Any) -> ReaderResult:
    warnings.simplefilter("ignore")  # a measurement without end would always exceed retention
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
        on_error="count",  # they take as long as others
        prefetch=request.prefetch_bytes,
        cache=request.cache,
        cache_bytes=request.cache_bytes,
        rack=request.rack,
    )
    start.wait(_STARTING_S)
    if not len(data):
        return ReaderResult(reader=reader, metrics=data.metrics)
    with closing(iter(data)) as samples:  # samples yielded are counted on close at the latest
        first = next(samples)
        data.metrics.waited_s = 0.0  # subtracts the time for connections, which training opens only once
        batch_s = _batch_times(chain([first], samples), request.seconds, time.monotonic)
    data.metrics.elapsed_s = sum(batch_s)
    return ReaderResult(reader=reader, metrics=data.metrics, batch_s=batch_s)


def _batch_times(samples: Iterator[Any], seconds: float, now_s: Callable[[], float]) -> list[float]:
    """How long each batch takes to arrive, of those that start within this many seconds; the last may be short."""
    found: list[float] = []
    began_s = last_s = now_s()
    while last_s - began_s < seconds and (count := sum(1 for _ in islice(samples, BATCH_SAMPLES))):
        after_s = now_s()
        found.append(after_s - last_s)
        last_s = after_s
        if count < BATCH_SAMPLES:
            break
    return found
