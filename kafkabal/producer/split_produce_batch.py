"""The records of a call of ``produce_batch``: who says where each goes, how long it is, who hears of its delivery."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from kafkabal.producer.slot_router import UNROUTED, Report

_ABSENT: Final[Any] = object()


@dataclass(frozen=True, slots=True)
class BatchParts:
    """The records of a batch, by who says where they go."""

    apart: Mapping[int, list[dict[str, Any]]]
    """By partition: the record's, or -1 where librdkafka's partitioner decides by its key."""
    keyed: list[dict[str, Any]]
    """With keys that the policy may see."""
    plain: list[dict[str, Any]]
    """Without keys."""
    sizes: list[int]
    """Bytes of the plain ones."""


def parts_of(messages: Any, *, routes_keys: bool) -> BatchParts | None:
    """The parts of a batch; None where it is none, which librdkafka's binding refuses in its own words."""
    if not isinstance(messages, list):
        return None
    try:
        fields: set[str] = set().union(*messages)
        plain: list[dict[str, Any]] = messages
        keyed: list[dict[str, Any]] = []
        apart: dict[int, list[dict[str, Any]]] = {}
        if fields & {"key", "partition"}:
            plain = []
            for message in messages:
                explicit, has_key = message.get("partition", UNROUTED), message.get("key") is not None
                if explicit >= 0 or (has_key and not routes_keys):
                    apart.setdefault(explicit, []).append(message)
                else:
                    (keyed if has_key else plain).append(message)
        values = [message.get("value") for message in plain]
        sizes = [len(value) if type(value) is bytes else data_bytes(value) or 1 for value in values]
    except (AttributeError, TypeError):
        return None
    return BatchParts(apart, keyed, plain, sizes)


@contextmanager
def reported(message: dict[str, Any], first: Report, then: Report | None) -> Iterator[None]:
    """Let another hear first of the delivery of a record of a batch; the caller's record is left as it was."""
    theirs = message.get("callback", _ABSENT)
    message["callback"] = _both(first, then if theirs is _ABSENT or theirs is None else theirs)
    try:
        yield
    finally:
        if theirs is _ABSENT:
            del message["callback"]
        else:
            message["callback"] = theirs


def _both(first: Report, then: Report | None) -> Report:
    if then is None:
        return first
    second = then

    def report(error: Any, message: Any) -> None:
        first(error, message)
        second(error, message)

    return report


def data_bytes(data: str | bytes | None) -> int:
    """Bytes as they are sent."""
    return 0 if data is None else len(data.encode()) if isinstance(data, str) else len(data)


def headers_bytes(headers: Any) -> int:
    """Bytes of names and values; 0 of what is none, which librdkafka's binding refuses in its own words."""
    try:
        pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
        return sum(len(name) + data_bytes(data) for name, data in pairs)
    except (TypeError, ValueError):
        return 0
