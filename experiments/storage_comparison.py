"""Measures training on three kinds of storage: files on a plain disk, over a network, and in stripes.

The files are real; waiting limits a device to its rate and adds the latency of a request. A plain disk is one device.
NFS is the same disk behind a network, which delays each file. Lustre has as many devices as a file has stripes, and
reads them in parallel. The trainer reads a batch, or prefetches the next one meanwhile, and computes. The model is
given only the nominal rates and latencies of the devices, no measurement.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from time import monotonic, sleep

import numpy as np

from experiments.experiment_sandbox import ExperimentSandbox
from experiments.report import Finding
from kafkabal.chunks import chunked
from kafkabal.simulator import StorageProfile, TrainingJob, training_time

_FILES = 24
_FILE_BYTES = 10_000_000
"""Takes 250 ms to read; on a busy machine one wait in ten ends 24 ms late."""
_BATCH = 2
_EPOCHS = 2
_COMPUTE_S = 0.2
"""Computing time per file: about as long as reading one, so that prefetching shows."""
_DISK_BYTES_PER_S = 40e6
_STRIPES = 4
_WITHIN = 0.15
"""Maximum relative error of the model's seconds."""


@dataclass(slots=True)
class _Device:
    """A folder whose files are read one after the other, at a given rate."""

    folder: Path
    lock: Lock = field(default_factory=Lock)
    free_s: float = 0.0
    """When it will have sent everything requested so far."""

    def read(self, name: str) -> bytes:
        asked_s = monotonic()
        found = (self.folder / name).read_bytes()
        with self.lock:
            self.free_s = max(self.free_s, asked_s) + len(found) / _DISK_BYTES_PER_S
            until_s = self.free_s
        sleep(max(0.0, until_s - monotonic()))
        return found


@dataclass(frozen=True, slots=True)
class _Store:
    """Files in as many stripes as there are devices."""

    devices: Sequence[_Device]
    latency_s: float
    threads: ThreadPoolExecutor

    def read(self, name: str) -> bytes:
        """Read one file."""
        sleep(self.latency_s)
        return self.stripes(name)

    def stripes(self, name: str) -> bytes:
        """Receive a file that was requested before."""
        return b"".join(self.threads.map(lambda device: device.read(name), self.devices))

    @property
    def profile(self) -> StorageProfile:
        """The rates and latencies given to the model."""
        return StorageProfile(bytes_per_s=_DISK_BYTES_PER_S * len(self.devices), latency_s=self.latency_s)


_KINDS = {"plain disk": (1, 0.0), "NFS: the disk and 100 ms a file": (1, 0.1), "Lustre: 4 stripes": (_STRIPES, 0.02)}


def run(bench: ExperimentSandbox, say: Callable[[str], None]) -> Finding:
    """Train from each kind of store, with and without prefetching."""
    names = [str(number) for number in range(bench.extent.records(_FILES))]
    found: dict[str, list[tuple[float, float]]] = {}
    for kind, (stripes, latency_s) in _KINDS.items():
        with _store(names, stripes, latency_s) as store:
            rows = [(_load_s(store, names), len(names) * _FILE_BYTES / store.profile.bytes_per_s)]
            rows += [
                (_train_s(store, names, reads_ahead=ahead), _model_s(store, len(names), reads_ahead=ahead))
                for ahead in (False, True)
            ]
        found[kind] = rows
        say(f"{kind}: " + ", ".join(f"{seconds:.2f} s, by the model {model:.2f} s" for seconds, model in rows))
    off = max(abs(seconds / model - 1) for rows in found.values() for seconds, model in rows)
    compute_s = _EPOCHS * len(names) * _COMPUTE_S
    columns = ["load, s", "train, nothing ahead, s", "train, reading ahead, s"]
    return Finding(
        key="storage-comparison",
        title="4, storage. A disk, NFS and stripes compared by measurement",
        setting=f"{len(names)} files of {_FILE_BYTES / 1e6:g} MB on disk, on devices limited to "
        f"{_DISK_BYTES_PER_S / 1e6:g} MB/s each by waiting; {_EPOCHS} shuffled epochs in batches of {_BATCH}, "
        f"{_COMPUTE_S * 1000:g} ms of computing per file. The training model predicts the times from rates and "
        "latencies alone. Waiting is the fraction of training with reading ahead in which nothing is computed.",
        columns=[
            "storage",
            *(f"{name} {which}" for name in columns for which in ("measured", "by the model")),
            "waiting",
        ],
        rows=[
            [
                kind,
                *(f"{value:.2f}" for pair in rows for value in pair),
                f"{max(0.0, 1 - compute_s / rows[-1][0]):.0%}",
            ]
            for kind, rows in found.items()
        ],
        verdicts=[(f"every time is within {_WITHIN:.0%} of the model (furthest: {off:.0%})", off <= _WITHIN)],
        bars={kind: [value for pair in rows[1:] for value in pair] for kind, rows in found.items()},
        bar_labels=[f"{how}, {which}" for how in ("nothing ahead", "reading ahead") for which in ("measured", "model")],
        bar_axis="training, seconds",
        data=found,
    )


@contextmanager
def _store(names: Sequence[str], stripes: int, latency_s: float) -> Iterator[_Store]:
    randomness = random.Random(1)
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(stripes) as threads:
        devices = [_Device(Path(home) / str(number)) for number in range(stripes)]
        for device in devices:
            device.folder.mkdir()
            for name in names:
                (device.folder / name).write_bytes(randomness.randbytes(_FILE_BYTES // stripes))
        yield _Store(devices, latency_s, threads)


def _load_s(store: _Store, names: Sequence[str]) -> float:
    """One sequential sweep, in which latency does not count: the next file is requested while one is being sent."""
    begun_s = monotonic()
    for name in names:
        store.stripes(name)
    return monotonic() - begun_s


def _train_s(store: _Store, names: Sequence[str], *, reads_ahead: bool) -> float:
    begun_s = monotonic()
    batches = (
        batch for epoch in range(_EPOCHS) for batch in chunked(random.Random(epoch).sample(names, len(names)), _BATCH)
    )
    read = partial(_read, store)
    for files in _one_ahead(read, batches) if reads_ahead else map(read, batches):
        sleep(_COMPUTE_S * len(files))
    return monotonic() - begun_s


def _read(store: _Store, batch: Sequence[str]) -> list[bytes]:
    return [store.read(name) for name in batch]


def _one_ahead(read: Callable[[Sequence[str]], list[bytes]], batches: Iterator[Sequence[str]]) -> Iterator[list[bytes]]:
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(read, next(batches))
        for batch in batches:
            files = coming.result()
            coming = thread.submit(read, batch)
            yield files
        yield coming.result()


def _model_s(store: _Store, files: int, *, reads_ahead: bool) -> float:
    job = TrainingJob(
        epochs=_EPOCHS,
        compute_s=_COMPUTE_S,
        record_bytes=_FILE_BYTES,
        batch_records=_BATCH,
        prefetch_batches=int(reads_ahead),
    )
    return training_time(np.array([files * float(_FILE_BYTES)]), job, store.profile).train_s
