"""Hands records over to librdkafka: consecutive records of one partition at once, with a shared delivery report."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from operator import length_hint
from typing import TypeAlias

import numpy as np
from confluent_kafka import KafkaError, Message

from kafkabal.model import I64
from kafkabal.sources import Headers

DeliveryCallback: TypeAlias = "Callable[[KafkaError | None, Message], None]"


def runs_of_one_partition(partitions: I64 | Iterable[int]) -> Iterator[tuple[int, int]]:
    """Partitions in order, each with the number of consecutive records that go there."""
    if not isinstance(partitions, np.ndarray):
        # one at a time: the policy decides each only after the previous record was handed over
        yield from ((partition, 1) for partition in partitions)
    elif len(partitions):
        firsts = np.concatenate(([0], np.flatnonzero(np.diff(partitions)) + 1))
        counts = np.diff(firsts, append=len(partitions))
        yield from zip(partitions[firsts].tolist(), counts.tolist(), strict=True)


class RecordHandover:
    """Hands records over in order, in loops that run inside the interpreter's C code."""

    def __init__(
        self,
        produce: Callable[..., object],
        topic: str,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None] | None,
        headers: Sequence[Headers] | None,
    ) -> None:
        self._produce = produce
        self._topic = repeat(topic)
        self._values, self._keys, self._headers = values, keys, headers
        self._begin(0)

    @property
    def handed_over(self) -> int:
        """Number of records that the client has taken."""
        return len(self._values) - length_hint(self._left)

    def hand_over(self, partition: int, count: int, report: DeliveryCallback) -> int:
        """Hand over the next records, all of one partition; returns how many the queue had room for.

        Raises
        ------
        Exception
            What the client raises for the first record that it does not take.
        """
        before = self.handed_over
        taken = map(
            self._produce,
            self._topic,
            islice(self._left, count),
            self._left_keys,
            repeat(partition),
            repeat(report),
            repeat(None),
            repeat(0),
            self._left_headers,
        )
        try:
            deque(taken, maxlen=0)
        except BaseException as error:
            # the record that was not taken has already left the iterators
            self._begin(max(0, self.handed_over - 1))
            if not isinstance(error, BufferError):
                raise
        return self.handed_over - before

    def _begin(self, at: int) -> None:
        self._left = iter(self._values[at:])
        self._left_keys = repeat(None) if self._keys is None else iter(self._keys[at:])
        self._left_headers = repeat(None) if self._headers is None else iter(self._headers[at:])


class ReportsByPartition(dict[int, DeliveryCallback]):
    """Delivery reports by partition, each created when the first record goes there."""

    def __init__(self, report_of: Callable[[int], DeliveryCallback]) -> None:
        super().__init__()
        self._report_of = report_of

    def __missing__(self, partition: int) -> DeliveryCallback:
        self[partition] = report = self._report_of(partition)
        return report
