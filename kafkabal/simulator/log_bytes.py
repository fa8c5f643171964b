"""Bytes in the logs of a topic's partitions: the records themselves, and what batches and records add."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I32, I64
from kafkabal.routing import RecordBatch
from kafkabal.simulator.batch_estimate import records_until_closed, records_until_full
from kafkabal.simulator.record_batch_format import BATCH_HEADER_BYTES, mean_varint_bytes, record_bytes
from kafkabal.simulator.workload import Workload

# sizes that represent those of a chunk: lengths of lengths hardly differ, so their mean is exact to 0.1 bytes
_SAMPLE = 256
# one byte for a short time delta, one for a short offset delta
_SHORT_DELTAS = 2


class LogBytes:
    """One replica of each partition's log, as it grows.

    Sums over a chunk are enough: every record has its own bytes, a mean for its length fields, and the deltas of a
    batch of its partition's mean length; every batch adds its header. Batches are estimated as records arrive, so that
    what policies see does not depend on whether delivery is simulated. If it is, its count replaces the estimate in the
    end.
    """

    def __init__(self, workload: Workload, n_partitions: int) -> None:
        transport = workload.transport
        self._producers = workload.producers
        self._batch_bytes = transport.batch_bytes
        self._linger_s = transport.linger_s
        self._records_per_s = workload.bytes_per_s / workload.sizes.mean_bytes
        self._header_bytes = workload.header_bytes
        self._compression = workload.log.compression
        self._records = np.zeros(n_partitions, np.int64)
        self._until_now_batches = np.zeros(n_partitions)

    def append(self, records: RecordBatch, picks: I32, counts: I64) -> F64:
        """Append records to the logs of the partitions that have a leader.

        Parameters
        ----------
        records
            Of all producers in turn, at least one.
        picks
            int32, shape (n,): partition of each.
        counts
            int64, shape (n_partitions,): records per partition, 0 if it has no leader.

        Returns
        -------
        float64, shape (n_partitions,)
            Growth of each log in bytes.
        """
        if not counts.any():
            return np.zeros(len(counts))
        payload_bytes = np.where(counts > 0, np.bincount(picks, records.size_bytes, len(counts)), 0.0)
        sample = records.size_bytes[:: (len(records) // _SAMPLE) | 1]
        before = self._batches
        self._records += counts
        self._until_now_batches += self._new_batches(picks, counts, sample)
        around = float((record_bytes(sample, _SHORT_DELTAS, self._header_bytes) - sample).mean()) - _SHORT_DELTAS
        in_batches = payload_bytes + counts * (around + self._delta_bytes())
        return self._compression * in_batches + BATCH_HEADER_BYTES * (self._batches - before)

    def correction(self, sent_batches: I64) -> F64:
        """float64, shape (n_partitions,): how much longer (or shorter) than estimated logs are with this number of
        batches."""
        return BATCH_HEADER_BYTES * (sent_batches - self._batches)

    @property
    def _batches(self) -> F64:
        """Estimated batches so far; a log with records has at least one."""
        return np.maximum(self._until_now_batches, self._records > 0)

    def _new_batches(self, picks: I32, counts: I64, sample: I64) -> F64:
        return counts / records_until_closed(
            counts / counts.sum(),
            _staying(picks, self._producers),
            self._records_per_s / self._producers * self._linger_s,
            records_until_full(sample, self._batch_bytes),
        )

    def _delta_bytes(self) -> F64:
        """Bytes of the time and offset deltas of a record of each partition; a batch lasts at most the linger time."""
        records = self._records / np.maximum(self._batches, 1)
        fraction = self._records / max(int(self._records.sum()), 1)
        lasts_s = np.maximum(records - 1, 0) / np.maximum(self._records_per_s / self._producers * fraction, 1e-9)
        return mean_varint_bytes(records) + mean_varint_bytes(1000 * np.minimum(lasts_s, self._linger_s))


def _staying(picks: I32, producers: int) -> float | None:
    """Fraction of records that go where the producer's previous record went; None if there is no previous one."""
    if len(picks) <= producers:
        return None
    return float(np.count_nonzero(picks[producers:] == picks[:-producers]) / (len(picks) - producers))
