"""TFRecord files: checksums, damage, and what is sent."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from crc32c import crc32c

from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources.row_source import RowSource
from kafkabal.sources.source_protocol import UnfinishedRowError
from tests.unit.sources.records_of import add_values, records_of

# the head that TensorFlow writes for a record of five bytes, computed without our own code
HEAD_OF_FIVE = bytes.fromhex("0500000000000000eab2043e")


def record(payload: bytes) -> bytes:
    """One record with correct checksums."""

    def masked(data: bytes) -> bytes:
        checksum = crc32c(data)
        return struct.pack("<I", ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    length = struct.pack("<Q", len(payload))
    return length + masked(length) + payload + masked(payload)


def read(path: Path) -> list[tuple[str, bytes]]:
    """Name and value of every record."""
    source = RowSource(path)
    (part,) = source.listing().parts
    return [(r.name, r.value) for r in records_of(source, part)]


def test_payloads_are_sent(tmp_path: Path) -> None:
    """The payload of each record is sent, also an empty one, in the order of the file."""
    path = tmp_path / "a.tfrecord"
    payloads = [b"one", b"", b"x" * 3_000_000]
    path.write_bytes(b"".join(map(record, payloads)))
    assert [value for _, value in read(path)] == payloads
    assert read(path)[1][0] == f"{path}, record 2"


def test_checksums_are_masked_as_tensorflow_does(tmp_path: Path) -> None:
    """The head of a record that TensorFlow wrote is accepted; only the missing rest is an error."""
    path = tmp_path / "a.tfrecord"
    path.write_bytes(HEAD_OF_FIVE)
    with pytest.raises(InputFileError, match="record 1: is cut off"):
        read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (record(b"one") + record(b"two")[:-1], "record 2: is cut off"),
        (record(b"one") + record(b"two")[:5], "record 2: is cut off"),
        (record(b"one")[:-5] + b"X" + record(b"one")[-4:], "record 1: is damaged: wrong checksum"),
        (b"\xff" * 100, "record 1: is not TFRecord"),
    ],
)
def test_damage_is_found(tmp_path: Path, content: bytes, message: str) -> None:
    """A wrong checksum or a truncated file is an error that names the record."""
    path = tmp_path / "a.tfrecord"
    path.write_bytes(content)
    with pytest.raises(InputFileError, match=message):
        read(path)


def test_half_a_record_is_left_to_the_next_run(tmp_path: Path) -> None:
    """Its writer may not have finished it: the records before it are sent, and it is no reason to refuse them. If it
    was added after the run began, it is no error at all."""
    path = tmp_path / "a.tfrecord"
    for half in (b"\0", record(b"two")[:13], record(b"two")[:-1]):
        path.write_bytes(record(b"one"))
        source = RowSource(path)
        (whole,) = source.listing().parts
        path.write_bytes(record(b"one") + half)
        assert [r.value for r in records_of(source, whole)] == [b"one"]
        (part,) = source.listing().parts
        found: list[bytes] = []
        with pytest.raises(UnfinishedRowError, match="record 2: is cut off"):
            add_values(found, source, part)
        assert found == [b"one"]
        assert list(source.find_too_large([part], 1000, lambda: None)) == []


def test_payloads_have_no_fields(tmp_path: Path) -> None:
    """A key is refused, since it would need a schema that the file does not have."""
    with pytest.raises(UsageError, match="TFRecord files have no fields"):
        RowSource(tmp_path / "a.tfrecord", key_field="id")
