"""How records are handed over to librdkafka: those in a row that go to one partition at once, with one report."""

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
    """Partitions one after the other, each with the number of records in a row that go there."""
    if not isinstance(partitions, np.ndarray):
        # asked for one by one: each is decided after the one before was handed over
        yield from ((partition, 1) for partition in partitions)
    elif len(partitions):
        firsts = np.concatenate(([0], np.flatnonzero(np.diff(partitions)) + 1))
        counts = np.diff(firsts, append=len(partitions))
        yield from zip(partitions[firsts].tolist(), counts.tolist(), strict=True)


class RecordHandover:
    """Hands records over in their order, in loops that run within the interpreter's own C code."""

    def __init__(
        self,
        produce: Callable[..., object],
        topic: str,
        values: Sequence[bytes],
        keys: Sequence[bytes | None] | None,
        headers: Sequence[Headers] | None,
    ) -> None:
        self._produce = produce
        self._topic = repeat(topic)
        self._values, self._keys, self._headers = values, keys, headers
        self._begin(0)

    @property
    def handed_over(self) -> int:
        """Records that the client has taken."""
        return len(self._values) - length_hint(self._left)

    def hand_over(self, partition: int, count: int, report: DeliveryCallback) -> int:
        """Hand over the next records, which go to one partition; how many there was room for.

        Raises
        ------
        Exception
            What the client raises for the first of the records that are left.
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
            # the one that was not taken has left the iterators
            self._begin(max(0, self.handed_over - 1))
            if not isinstance(error, BufferError):
                raise
        return self.handed_over - before

    def _begin(self, at: int) -> None:
        self._left = iter(self._values[at:])
        self._left_keys = repeat(None) if self._keys is None else iter(self._keys[at:])
        self._left_headers = repeat(None) if self._headers is None else iter(self._headers[at:])


class ReportsByPartition(dict[int, DeliveryCallback]):
    """Reports by partition, each made when the first record goes there."""

    def __init__(self, report_of: Callable[[int], DeliveryCallback]) -> None:
        super().__init__()
        self._report_of = report_of

    def __missing__(self, partition: int) -> DeliveryCallback:
        self[partition] = report = self._report_of(partition)
        return report
