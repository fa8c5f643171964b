"""Splits requests into chunks that a broker accepts, by weight or by topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TypeVar

from kafkabal.model import TopicPartition

_T = TypeVar("_T")


def weighed(items: Iterable[_T], weight: Callable[[_T], int], limit: int) -> Iterator[list[_T]]:
    """Yield lists whose total weight is at most ``limit``, or that have a single item."""
    chunk: list[_T] = []
    total = 0
    for item in items:
        if chunk and total + weight(item) > limit:
            yield chunk
            chunk, total = [], 0
        chunk.append(item)
        total += weight(item)
    if chunk:
        yield chunk


def by_topic(partitions: Iterable[TopicPartition]) -> Iterator[tuple[str, list[int]]]:
    """Yield each topic with its partition numbers, sorted."""
    for topic, group in groupby(sorted(partitions), key=lambda p: p.topic):
        yield topic, [p.partition for p in group]
