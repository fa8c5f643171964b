"""Records as they arrive."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from jsonschema import Draft202012Validator

from kafkabal.clusters.kafka import RawRecord
from kafkabal.errors import NotAuthorizedError
from kafkabal.reader.follow_topic import as_json, ends_after, follow
from tests.output_schemas import schema_of
from tests.unit.reader.conftest import packed_headers


class Growing:
    """Two partitions that get a record at every read, and a third one from the second read on."""

    def __init__(self) -> None:
        self.looks = 0

    def ranges(self) -> dict[int, tuple[int, int]]:
        """Offsets now."""
        self.looks += 1
        return dict.fromkeys(range(2 + (self.looks > 1)), (2, 4 + self.looks))

    def follow(self, partition: int, begin: int, max_bytes: int) -> tuple[list[RawRecord], int]:
        """What is there from an offset on."""
        end = 4 + self.looks
        return [(o, 0, None, b"%d" % o, b"\0") for o in range(begin, end)], end


def _followed(*, from_start: bool) -> list[tuple[int, int]]:
    growing = Growing()
    records = follow(growing, from_start=from_start, is_over=lambda: growing.looks >= 5, sleep=lambda _: None)
    return sorted((partition, record[0]) for partition, record in records)


def test_each_record_is_read_once() -> None:
    """By default only new ones, or all from the start; an added partition is followed from its beginning."""
    added = [(2, o) for o in range(2, 8)]
    assert _followed(from_start=False) == [(p, o) for p in range(2) for o in range(5, 8)] + added
    assert _followed(from_start=True) == [(p, o) for p in range(2) for o in range(2, 8)] + added


class Closed:
    """A topic without new records, which may not be read."""

    def ranges(self) -> dict[int, tuple[int, int]]:
        """Offsets may be asked for."""
        return {3: (0, 7), 4: (0, 7)}

    def follow(self, partition: int, begin: int, max_bytes: int) -> tuple[list[RawRecord], int]:
        """Records may not."""
        raise NotAuthorizedError(f"cannot read {partition} from {begin}, {max_bytes} bytes")


def test_a_topic_that_may_not_be_read_is_refused_at_once() -> None:
    """Also while nothing is written to it: the first record may be hours away."""
    with pytest.raises(NotAuthorizedError, match="cannot read 3 from 7"):
        list(follow(Closed(), from_start=False, is_over=lambda: False, sleep=lambda _: None))


def test_the_time_may_be_over_within_a_round() -> None:
    """A round through thousands of partitions, or through a few large ones, takes longer than a short --for."""
    asked: list[int] = []
    many = SimpleNamespace(
        ranges=lambda: dict.fromkeys(range(3000), (0, 1)), follow=lambda p, *_: asked.append(p) or ([], 1)
    )
    list(follow(many, from_start=True, is_over=lambda: len(asked) == 5, sleep=lambda _: None))
    assert asked == [0, 1, 2, 3, 4]


def test_lost_records_are_noticed() -> None:
    """A partition that shrinks is asked for what follows, which fails: new records would fill the gap unseen."""
    ends = iter([7, 7, 5])
    asked: list[int] = []
    lossy = SimpleNamespace(
        ranges=lambda: {0: (0, next(ends))}, follow=lambda _, begin, __: asked.append(begin) or ([], begin)
    )
    list(follow(lossy, from_start=False, is_over=lambda: len(asked) == 2, sleep=lambda _: None))
    assert asked == [7, 7]  # once to see whether it may be read at all


def test_lines_are_json_whatever_the_bytes() -> None:
    """Text stays text, other bytes are base64, and what is absent is null."""
    headers = packed_headers([("label", b"cat"), ("raw", b"\xff"), ("none", None)])
    line = json.loads(as_json(3, (9, 1000, None, b"\xff\x00", headers)))
    assert line == {
        "partition": 3,
        "offset": 9,
        "timestamp_ms": 1000,
        "key": None,
        "value_base64": "/wA=",
        "headers": [
            {"name": "label", "value": "cat"},
            {"name": "raw", "value_base64": "/w=="},
            {"name": "none", "value": None},
        ],
    }


def test_a_record_without_a_value_is_not_an_empty_one() -> None:
    """In a compacted topic it deletes its key."""
    values = [json.loads(as_json(0, (9, 1000, b"k", value, b"\0")))["value"] for value in (None, b"")]
    assert values == [None, ""]


@pytest.mark.parametrize("key", [None, b"k", b"\xff"])
@pytest.mark.parametrize("value", [None, b"", b"\xff"])
@pytest.mark.parametrize("headers", [[], [("label", b"cat"), ("raw", b"\xff"), ("none", None)]])
def test_lines_match_the_published_schema(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]]
) -> None:
    """Whatever a record holds, programs find it where the schema says."""
    line = json.loads(as_json(3, (9, 1000, key, value, packed_headers(headers))))
    Draft202012Validator(schema_of("read --follow")).validate(line)
    assert not Draft202012Validator(schema_of("read --follow")).is_valid(line | {"key": "k", "key_base64": "aw=="})


def test_the_time_begins_once_brokers_are_reached() -> None:
    """However long connecting took, reading lasts as long as requested; without a limit it never ends."""
    now_s = 100.0
    is_over, never = ends_after(3.0, lambda: now_s), ends_after(None, lambda: now_s)
    now_s = 200.0
    assert not is_over()
    now_s = 202.9
    assert not is_over()
    now_s = 203.0
    assert is_over()
    assert not never()
