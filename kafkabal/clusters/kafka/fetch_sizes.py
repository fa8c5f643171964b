"""How many bytes a fetch requests, from the sizes of earlier responses and the quota of this client."""

from __future__ import annotations

from collections.abc import Sequence

from kafkabal.clusters.kafka.fetch_response import PartitionResponse

# fraction of the expected bytes: records of a block may be a little larger than the mean
_SPARE_FRACTION = 0.02
_MOST_BYTES = 2**31 - 1
"""The largest value of the request's field."""
_LEAST_BYTES = 65_536
"""Size of the first fetch, before the size of batches is known; a broker sends one whole batch in any case."""
_LEAST_THROTTLED_BYTES = 256 * 1024
"""Size limit of a response under a quota: of 4 MB/s, with a window of 1 to 2 s, less than a tenth stays unused."""
_GROWTH = 1.25
"""Growth of that limit with each response that is not throttled: back to 8 MiB after sixteen."""
_MUCH_LESS = 0.5
"""Below this fraction of the expected bytes, a log with compressed batches is taken for one whose expected bytes are
uncompressed; above it, for one whose records are shorter than the mean."""


class FetchSizes:
    """Sizes of the fetches of one topic."""

    def __init__(self) -> None:
        self.batch_bytes = 0
        """Size of the largest batch so far."""
        self._log_fraction = 1.0
        """Bytes of the last response, relative to the expected size of its range: below 1 if that is the size of its
        records uncompressed. Without it, a topic compressed to a thirtieth was fetched 25 times."""
        self._log_fractions: dict[int, float] = {}
        """The same by partition: producers may compress differently."""
        self._most_bytes = _MOST_BYTES
        """Size limit of a response. A broker whose remaining quota is smaller than a response sends an empty one, and
        ignores the connection for a while: with blocks of 2.7 MB, a quota of 4 MB/s yielded 2.9 MB/s."""

    def note_batch(self, size_bytes: int) -> None:
        """Record the size of a batch."""
        self.batch_bytes = max(self.batch_bytes, size_bytes)

    def note_fraction(self, partition: int, fraction: float, *, is_packed: bool) -> None:
        """Record the bytes of a response, relative to those expected, and whether it had compressed batches."""
        self._log_fraction = fraction if fraction < _MUCH_LESS and is_packed else 1.0
        self._log_fractions[partition] = self._log_fraction

    def expected_bytes(self, partition: int, size_bytes: float) -> int:
        """Size in the log of records of this size, which may be that of them uncompressed."""
        return int(size_bytes * self._log_fractions.get(partition, self._log_fraction))

    @property
    def least_bytes(self) -> int:
        """Size of the smallest fetch: none once the size of batches is known."""
        return 0 if self.batch_bytes else _LEAST_BYTES

    def sizes_together(self, ranges: Sequence[tuple[int, int]]) -> tuple[list[int], int]:
        """Sizes to request for ranges of several partitions, given as partition and size, and the limit for all."""
        expected = [self.expected_bytes(partition, size) for partition, size in ranges]
        sizes = [max(self.least_bytes, size + self.batch_bytes) for size in expected]
        # the topic may have grown: then each partition could fill its limit with records that are not wanted
        return sizes, min(sum(sizes), 2 * sum(expected) + max(_LEAST_BYTES, 2 * self.batch_bytes))

    def fit_quota(self, response: PartitionResponse, wanted: int) -> None:
        """Halve the limit after a response that a quota kept empty, and let it grow again after others."""
        if not response.throttle_ms:
            self._most_bytes = min(_MOST_BYTES, int(self._most_bytes * _GROWTH))
        elif not response.records:
            self._most_bytes = max(_LEAST_THROTTLED_BYTES, min(self._most_bytes, wanted) // 2)

    def limit(self, wanted: int) -> int:
        """The most bytes that a response to a fetch of this size may have."""
        max_bytes = with_spare(wanted)
        if max_bytes > self._most_bytes:
            # whole batches only: a partial one is useless
            max_bytes = self._most_bytes // max(1, self.batch_bytes) * self.batch_bytes or self._most_bytes
        return max_bytes


def with_spare(size_bytes: int) -> int:
    """This many bytes and a little more."""
    return int(size_bytes * (1 + _SPARE_FRACTION))
