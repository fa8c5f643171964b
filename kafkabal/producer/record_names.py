"""The name that each record carries in a header, by which a later run finds it in the topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Final, overload

from confluent_kafka import Message

from kafkabal.producer.send_manifest import SendManifest
from kafkabal.sources import Headers

RECORD_HEADER: Final = "kafkabal-record"
"""Header that names a record: the id of its manifest, a slash, and its number."""

# names of records are made a thousand at a time: each line break is replaced by the digits before the last three
_THOUSAND = b"".join(b"\n%03d" % number for number in range(1000))
_LAST_DIGITS_BYTES = 4


class NameHeaders(Sequence[Headers]):
    """The headers of records whose only header is their name. Each is made when it is sent, since there are as many as
    records."""

    def __init__(self, names: list[bytes]) -> None:
        self._names = names

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, at: int) -> Headers: ...
    @overload
    def __getitem__(self, at: slice) -> NameHeaders: ...
    def __getitem__(self, at: int | slice) -> Headers | NameHeaders:
        return NameHeaders(self._names[at]) if isinstance(at, slice) else [(RECORD_HEADER, self._names[at])]

    def __iter__(self) -> Iterator[Headers]:
        # each a list of one pair, made inside the interpreter's C code
        return map(list, zip(zip(repeat(RECORD_HEADER), self._names, strict=False), strict=False))


def found_records(manifest: SendManifest, messages: Iterable[Message]) -> dict[int, int]:
    """The numbers of this manifest's records among some messages, each with its :func:`fingerprint`."""
    prefix = f"{manifest.header.id}/"
    found = {}
    for message in messages:
        for name, value in list(message.headers() or ()):
            text = value.decode("ascii", "replace") if isinstance(value, bytes) else ""
            if name == RECORD_HEADER and text.startswith(prefix):
                found[int(text.removeprefix(prefix))] = fingerprint(message.key(), message.value())
    return found


def fingerprint(key: bytes | str | None, value: bytes | str | None) -> int:
    """A hash of a record, valid in this process only. Headers do not count: a transform may put the time into them."""
    return hash((key, value))


def record_names(prefix: bytes, numbers: Sequence[int]) -> list[bytes]:
    """The prefix and the number of each record, in decimal."""
    first, end = numbers[0], numbers[-1] + 1
    if end - first != len(numbers):
        return [b"%b%d" % (prefix, number) for number in numbers]
    names = [b"%b%d" % (prefix, number) for number in range(first, min(end, 1000))]
    for thousand in range(max(first, 1000) // 1000, (end + 999) // 1000):
        head, below = b"%b%d" % (prefix, thousand), 1000 * thousand
        digits = _THOUSAND[_LAST_DIGITS_BYTES * max(first - below, 0) : _LAST_DIGITS_BYTES * (end - below)]
        names += digits.replace(b"\n", b"\n" + head).split(b"\n")[1:]
    return names
