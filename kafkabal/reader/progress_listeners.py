"""What is called every few seconds with a reader's progress: retention guard, Prometheus, a callback, a consumer
group."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Protocol

from kafkabal.errors import KafkabalError, described
from kafkabal.reader.epoch_progress import EpochProgress
from kafkabal.reader.metrics import ReaderMetrics, rack_fault, write_textfile
from kafkabal.reader.reader_options import ReaderOptions
from kafkabal.reader.reader_shard import ReaderShard
from kafkabal.reader.retention_guard import RetentionGuard


class Position(Protocol):
    """The position of a reader."""

    @property
    def progress(self) -> EpochProgress:
        """Where the epoch stood when the readers started it or resumed."""

    @property
    def taken(self) -> int:
        """Samples that this reader has yielded since."""


def progress_listeners(
    *,
    options: ReaderOptions,
    shard: ReaderShard,
    position: Callable[[], Position],
    until_epoch: int,
    metrics: ReaderMetrics,
    expires_at_s: Callable[[], float],
    at_end: ExitStack,
) -> list[Callable[[], None]]:
    """Functions to call every few seconds, and at the end of an iteration.

    Parameters
    ----------
    expires_at_s
        When retention deletes the first record, in seconds since 1970.
    at_end
        Receives what has to be closed.
    """
    samples = options.manifest.samples

    def left() -> float:
        """Samples that this reader has yet to yield."""
        epochs = max(0, until_epoch - position().progress.epoch)
        return max(0.0, epochs * samples / shard.readers - position().taken)

    def fraction_done() -> float:
        """Fraction of the epoch that is done, assuming that all readers are where this one is."""
        had = samples - position().progress.left(samples)
        return min(1.0, (had + position().taken * shard.readers) / samples)

    found: list[Callable[[], None]] = []
    if shard.reader == 0:
        guard = RetentionGuard(options.manifest.topic, expires_at_s, time.time)
        found.append(lambda: guard.check(left(), metrics.samples_per_s))
    if options.rack is not None:  # each rank has one of its own
        found.append(_rack_listener(options.rack, metrics))
    if options.metrics_file is not None:
        path, labels = options.metrics_file, {"topic": options.manifest.topic, "reader": str(shard.reader)}
        if shard.readers > 1:  # readers in other processes would replace the file
            path = path.with_stem(f"{path.stem}-{shard.reader}")
        found.append(_isolated(lambda: write_textfile(metrics, path, labels), "metrics_file"))
    if options.on_metrics is not None:
        callback = options.on_metrics
        found.append(_isolated(lambda: callback(metrics), "on_metrics"))
    if options.group is not None and shard.reader == 0:
        from kafkabal.reader.group_progress import GroupProgress

        group = GroupProgress(options.connection, options.group, options.manifest)
        at_end.callback(group.close)
        found.append(lambda: group.commit(fraction_done()))
    return found


def _rack_listener(rack: str, metrics: ReaderMetrics) -> Callable[[], None]:
    """Warns once if the rack is not one of the cluster, and costs cross-rack traffic that it was meant to avoid."""
    has_warned = False

    def call() -> None:
        nonlocal has_warned
        fault = None if has_warned else rack_fault(rack, metrics.racks)
        if fault is not None:
            has_warned = True
            warnings.warn(fault, stacklevel=2)

    return call


def _isolated(listener: Callable[[], None], name: str) -> Callable[[], None]:
    """The listener, whose failure ends no training: the first one is a warning."""
    has_failed = False

    def call() -> None:
        nonlocal has_failed
        try:
            listener()
        except Exception as error:  # noqa: BLE001 - a function of the user, or a full disk
            if not has_failed:
                has_failed = True
                why = error.message if isinstance(error, KafkabalError) else described(error)
                warnings.warn(f"{name}: {why}", stacklevel=2)

    return call
