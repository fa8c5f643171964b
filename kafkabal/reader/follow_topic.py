"""Yields records of a topic as they arrive, from its partitions in turn."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from kafkabal.clusters.kafka import RawRecord, unpack_headers

_MAX_BYTES = 2**20
"""Kafka's own default per partition (max.partition.fetch.bytes): new records show soon, and memory is bounded."""
_PAUSE_S = 0.2
"""Pause once no partition has more records; too short to be noticed in the output."""


class TopicFollower(Protocol):
    """Reads on from an offset; :class:`~kafkabal.clusters.kafka.range_fetcher.RangeFetcher` does."""

    def ranges(self) -> Mapping[int, tuple[int, int]]:
        """First offset and last stable offset of each partition."""

    def follow(self, partition: int, begin: int, max_bytes: int) -> tuple[list[RawRecord], int]:
        """Records from an offset on, and the offset to continue from."""


def follow(
    follower: TopicFollower,
    *,
    from_start: bool,
    is_over: Callable[[], bool],
    sleep: Callable[[float], None],
) -> Iterator[tuple[int, RawRecord]]:
    """Yield the partition and each committed record as they arrive, in order within each partition.

    Parameters
    ----------
    from_start
        Start with the existing records, not with new ones.
    is_over
        Called before each request; ends the loop if it is true.
    """
    at = {p: begin if from_start else end for p, (begin, end) in follower.ranges().items()}
    is_allowed = False
    while not is_over():
        ends = follower.ranges()
        at = {p: at.get(p, begin) for p, (begin, _) in ends.items()}  # partitions may be added meanwhile
        # a partition that ends before it was read to has lost records, which asking for more reveals
        late = [p for p, (_, end) in ends.items() if at[p] != end]
        # even if no partition has new records, ask one, so that a missing permission shows at once
        for p in late if late or is_allowed else [min(ends)]:
            if is_over():  # a round through thousands of partitions takes many seconds
                return
            records, at[p] = follower.follow(p, at[p], _MAX_BYTES)
            for record in records:
                yield p, record
        is_allowed = True
        if not late:
            sleep(_PAUSE_S)


def ends_after(seconds: float | None, now_s: Callable[[], float]) -> Callable[[], bool]:
    """Whether the time since the first call exceeds ``seconds``: connecting to the brokers may take longer than that.

    Parameters
    ----------
    seconds
        None for never.
    """
    end_s: float | None = None

    def is_over() -> bool:
        nonlocal end_s
        if seconds is not None and end_s is None:
            end_s = now_s() + seconds
        return end_s is not None and now_s() >= end_s

    return is_over


def as_json(partition: int, record: RawRecord) -> str:
    """A JSON line for programs; bytes that are not UTF-8 are in ``value_base64`` and similar fields."""
    offset, timestamp_ms, key, value, packed = record
    line: dict[str, Any] = {"partition": partition, "offset": offset, "timestamp_ms": timestamp_ms}
    line |= _text("key", key) | _text("value", value)
    headers = [{"name": name} | _text("value", value) for name, value in unpack_headers(packed)]
    return json.dumps(line | ({"headers": headers} if headers else {}))


def _text(name: str, value: bytes | None) -> dict[str, Any]:
    if value is None:
        return {name: None}
    try:
        return {name: value.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(value).decode()}
