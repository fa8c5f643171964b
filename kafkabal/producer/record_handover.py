"""How records are handed over to librdkafka: those in a row that go to one partition at once, with one report."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from operator import length_hint
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kafkabal.sources import Headers

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

DeliveryCallback: TypeAlias = "Callable[[KafkaError | None, Message], None]"


def runs_of_one_partition(partitions: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Partitions one after the other, each with the number of records in a row that go there."""
    if not isinstance(partitions, list):
        # asked for one by one: each is decided after the one before was sent
        yield from ((partition, 1) for partition in partitions)
    elif partitions:
        column = np.array(partitions)
        ends = [*(np.flatnonzero(np.diff(column)) + 1).tolist(), len(partitions)]
        yield from ((partitions[first], end - first) for first, end in zip([0, *ends[:-1]], ends, strict=True))


class RecordHandover:
    """Hands records over that go to one partition, in a loop that runs within the interpreter's own C code.

    Parameters
    ----------
    where
        Topic, partition, and the report of all of them.
    """

    def __init__(
        self,
        send: Callable[..., object],
        where: tuple[str, int, DeliveryCallback],
        values: list[bytes],
        keys: list[bytes | None] | None,
        headers: list[Headers] | None,
    ) -> None:
        self.sent = 0
        """Records that were taken."""
        self._send = send
        self._where = where
        self._values, self._keys, self._headers = values, keys, headers

    def send(self) -> bool:
        """Hand over what is left; False once the queue is full.

        Raises
        ------
        Exception
            What the client raises for the first of the records that are left.
        """
        topic, partition, report = (repeat(each) for each in self._where)
        keys: Iterable[bytes | None] = repeat(None) if self._keys is None else self._keys[self.sent :]
        headers: Iterable[Headers | None] = repeat(None) if self._headers is None else self._headers[self.sent :]
        left = iter(self._values[self.sent :])
        try:
            deque(map(self._send, topic, left, keys, partition, report, repeat(None), repeat(0), headers), maxlen=0)
        except BufferError:
            self.sent = len(self._values) - length_hint(left) - 1
            return False
        except BaseException:
            self.sent = len(self._values) - length_hint(left) - 1
            raise
        self.sent = len(self._values)
        return True


class ReportsByPartition(dict[int, DeliveryCallback]):
    """Reports by partition, each made when the first record goes there."""

    def __init__(self, report_of: Callable[[int], DeliveryCallback]) -> None:
        super().__init__()
        self._report_of = report_of

    def __missing__(self, partition: int) -> DeliveryCallback:
        self[partition] = report = self._report_of(partition)
        return report
