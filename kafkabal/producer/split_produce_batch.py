"""Splits the records of a ``produce_batch`` call by who picks their partitions, and measures them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from operator import contains
from typing import Any, Final

from kafkabal.producer.slot_router import UNROUTED, Report

_ABSENT: Final[Any] = object()
_MOST_PARTITION: Final = 2**31 - 1
_PLAIN_FIELDS: Final = frozenset({"value", "callback"})
_DATA_TYPES: Final = frozenset({bytes, str, type(None)})


@dataclass(frozen=True, slots=True)
class BatchParts:
    """The records of a batch, split by who picks their partitions."""

    unrouted: Mapping[int, list[dict[str, Any]]]
    """By partition: the one that the record names, or -1 if librdkafka's partitioner decides by its key."""
    keyed: list[dict[str, Any]]
    """Records with keys that the policy routes."""
    plain: list[dict[str, Any]]
    """Records without keys."""
    sizes: list[int]
    """Sizes of the records in ``plain``; an empty one counts as a byte."""


def split_batch(messages: Any, *, routes_keys: bool) -> BatchParts | None:
    """The parts of a batch; None for an invalid batch, which librdkafka's binding refuses with its own error."""
    if not isinstance(messages, list):
        return None
    try:
        fields: set[str] = set().union(*messages)
        plain: list[dict[str, Any]] = messages
        keyed: list[dict[str, Any]] = []
        unrouted: dict[int, list[dict[str, Any]]] = {}
        if not fields <= _PLAIN_FIELDS and not all(map(_is_sendable, messages)):
            return None
        if fields & {"key", "partition"}:
            plain = []
            for message in messages:
                explicit, has_key = message.get("partition"), message.get("key") is not None
                if explicit is None:
                    explicit = UNROUTED
                if explicit >= 0 or (has_key and not routes_keys):
                    unrouted.setdefault(explicit, []).append(message)
                else:
                    (keyed if has_key else plain).append(message)
        values = [message.get("value") for message in plain]
        sizes = [(len(value) if type(value) is bytes else data_bytes(value)) or 1 for value in values]
    except (AttributeError, TypeError):
        return None
    return BatchParts(unrouted, keyed, plain, sizes)


def by_explicit_partition(messages: Any) -> Mapping[int, list[dict[str, Any]]] | None:
    """Records by the partition that they name, -1 if they name none; None if no record does, or the batch is invalid.

    librdkafka ignores these partitions.
    """
    try:
        if not isinstance(messages, list) or not any(map(contains, messages, repeat("partition"))):
            return None
        if not all(map(_is_sendable, messages)):
            return None
        found: dict[int, list[dict[str, Any]]] = {}
        for message in messages:
            explicit = message.get("partition")
            found.setdefault(UNROUTED if explicit is None else explicit, []).append(message)
    except (AttributeError, TypeError):
        return None
    return found


def value_sizes(messages: Any) -> list[int] | None:
    """Lengths of the values; None for an invalid batch, which librdkafka's binding refuses with its own error."""
    try:
        if not isinstance(messages, list):
            return None
        values = [message.get("value") for message in messages]
        types = set(map(type, values))
        is_plain = types <= _DATA_TYPES and set().union(*messages) <= _PLAIN_FIELDS
        if not is_plain and not all(map(_is_sendable, messages)):
            return None
        return list(map(len, values)) if types == {bytes} else [len(value or b"") for value in values]
    except (AttributeError, TypeError):
        return None


def _is_sendable(message: Mapping[str, Any]) -> bool:
    """Whether librdkafka's binding takes a record; it refuses a batch with another one before it sends any."""
    partition = message.get("partition")
    return (
        isinstance(message.get("value"), bytes | str | None)
        and isinstance(message.get("key"), bytes | str | None)
        and (partition is None or (isinstance(partition, int) and partition <= _MOST_PARTITION))
        and message.get("timestamp") is None
        and _are_headers_sendable(message.get("headers"))
    )


def _are_headers_sendable(headers: Any) -> bool:
    if not headers:
        return isinstance(headers, dict | list | None)
    pairs = headers.items() if isinstance(headers, dict) else headers if isinstance(headers, list) else (None,)
    return all(isinstance(p, tuple) and len(p) == 2 and isinstance(p[1], bytes | str | None) for p in pairs)


@contextmanager
def with_report(message: dict[str, Any], first: Report, then: Report | None) -> Iterator[None]:
    """Call ``first``, then the message's own callback, on its delivery; the caller's message is not changed."""
    theirs = message.get("callback", _ABSENT)
    message["callback"] = _chain_reports(first, then if theirs is _ABSENT or theirs is None else theirs)
    try:
        yield
    finally:
        if theirs is _ABSENT:
            del message["callback"]
        else:
            message["callback"] = theirs


def _chain_reports(first: Report, then: Report | None) -> Report:
    if then is None:
        return first
    second = then

    def report(error: Any, message: Any) -> None:
        first(error, message)
        second(error, message)

    return report


def data_bytes(data: str | bytes | None) -> int:
    """The size of a key or value as it is sent."""
    return 0 if data is None else len(data.encode()) if isinstance(data, str) else len(data)


def headers_bytes(headers: Any) -> int:
    """The size of the headers; invalid ones count 0, since librdkafka's binding refuses them with its own error."""
    try:
        pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
        return sum(len(name) + data_bytes(data) for name, data in pairs)
    except (TypeError, ValueError):
        return 0
