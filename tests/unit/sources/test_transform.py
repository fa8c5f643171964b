"""User-defined functions on records."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources.folder_source import FolderSource
from kafkabal.sources.row_source import RowSource
from kafkabal.sources.source_protocol import Headers, RecordsToSend
from kafkabal.sources.transform import Transform, load_transform
from tests.unit.sources.records_of import records_of


def shout(value: bytes, headers: list[tuple[str, Any]]) -> tuple[bytes, list[tuple[str, Any]]]:
    """An example: upper case, and an additional header."""
    return value.upper(), [*headers, ("loud", b"yes")]


HERE = f"{__name__}:shout"


@pytest.mark.parametrize("read_ahead", [0, 2])
def test_values_and_headers_are_replaced(tmp_path: Path, read_ahead: int) -> None:
    """The new value is sent with its own checksum, while the manifest keeps that of the file."""
    (tmp_path / "a").write_bytes(b"quiet")
    source = FolderSource(tmp_path, transform=load_transform(HERE), read_ahead=read_ahead)
    (part,) = source.listing().parts
    (record,) = records_of(source, part)
    assert record.value == b"QUIET"
    assert dict(record.headers) == {"path": b"a", "sha256": sha256(b"QUIET").hexdigest().encode(), "loud": b"yes"}
    assert source.checksum(part) == sha256(b"quiet").hexdigest()


def test_rows_are_transformed_too(tmp_path: Path) -> None:
    """Rows gain headers through a transform, and the option is part of the records' identity."""
    (tmp_path / "a.txt").write_bytes(b"x\ny\n")
    source = RowSource(tmp_path / "a.txt", transform=load_transform(HERE))
    (part,) = source.listing().parts
    assert [(r.value, r.headers) for r in records_of(source, part)] == [
        (b"X", [("loud", b"yes")]),
        (b"Y", [("loud", b"yes")]),
    ]
    assert source.options == {"--transform": HERE}


def test_headers_may_be_lists(tmp_path: Path) -> None:
    """confluent-kafka requires tuples; a transform that reads its headers from JSON has lists."""
    (tmp_path / "a").write_bytes(b"1")
    source = FolderSource(tmp_path, transform=Transform("m:f", lambda value, _: (value, [["a", b"b"]])))  # type: ignore[arg-type, return-value]
    (record,) = records_of(source, source.listing().parts[0])
    assert record.headers == [("a", b"b")]


@pytest.mark.parametrize(
    "made",
    [
        None,
        b"x",
        ("x", []),
        (b"x", [("a", 1)]),
        (b"x", {"a": b"b"}),
        (b"x", [("\udcff", b"")]),
        (b"x", [("cut\0here", b"")]),
    ],
)
def test_invalid_records_are_refused(tmp_path: Path, made: Any) -> None:
    """A result that is not a record is refused, and the error names the record and the transform."""
    (tmp_path / "a").write_bytes(b"1")
    source = FolderSource(tmp_path, transform=Transform("m:f", lambda *_: made))
    (part,) = source.listing().parts
    with pytest.raises(InputFileError, match=r"/a: transform 'm:f' returned "):
        records_of(source, part)


def test_a_transform_that_raises_is_one_line(tmp_path: Path) -> None:
    """An exception in a transform is reported in one line, with its own message."""
    (tmp_path / "a").write_bytes(b"1")

    def fail(*_: object) -> Any:
        raise ValueError("no\nimage")

    source = FolderSource(tmp_path, transform=Transform("m:f", fail))
    (part,) = source.listing().parts
    with pytest.raises(InputFileError, match="transform 'm:f' raised ValueError: no image"):
        records_of(source, part)


@pytest.mark.parametrize("name", ["nothing", "no_such_module:f", "os:nothing", "os:sep", "ast:walk", "asyncio:sleep"])
def test_unloadable_transforms_are_refused(name: str) -> None:
    """A misspelt name, a generator and an async function are reported before anything is sent."""
    with pytest.raises(UsageError, match="transform"):
        load_transform(name)


def test_chunks_are_not_transformed(tmp_path: Path) -> None:
    """A transform is refused with chunks, which could not be joined again."""
    with pytest.raises(UsageError, match="--transform and --chunk"):
        FolderSource(tmp_path, chunk_bytes=5, transform=Transform("m:f", shout))


def test_a_transform_sees_each_row_once(tmp_path: Path) -> None:
    """It may count rows, or take long: neither the check of sizes nor that of earlier rows calls it."""
    (tmp_path / "a.csv").write_bytes(b"a\n1\n2\n3\n")
    seen: list[bytes] = []

    def note(value: bytes, headers: Headers) -> tuple[bytes, Headers]:
        seen.append(value)
        return value * 1000, headers

    source = RowSource(tmp_path / "a.csv", transform=Transform("m:f", note))
    (part,) = source.listing().parts
    assert list(source.find_too_large([part], 10, lambda: None)) == []
    (block,) = source.blocks([RecordsToSend(0, 0, part)])
    assert block.rows is not None
    assert source.begins_with(part, block.rows)
    assert block.rows_before is not None
    assert source.begins_with(part, block.rows_before(2))
    assert seen == [b'{"a":"1"}', b'{"a":"2"}', b'{"a":"3"}']
    (tmp_path / "a.csv").write_bytes(b"a\n1\n2,2\n")
    (part,) = source.listing().parts
    with pytest.raises(InputFileError, match="line 3: number of fields differs"):
        list(source.find_too_large([part], 10, lambda: None))


def test_a_file_that_no_memory_holds_is_left_out(tmp_path: Path) -> None:
    """The size of what a transform returns is unknown before the file is read, which one of 5 TB cannot be."""
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").touch()
    os.truncate(tmp_path / "b", 5 << 40)
    source = FolderSource(tmp_path, transform=load_transform(HERE))
    to_send = [RecordsToSend(number, number, part) for number, part in enumerate(source.listing().parts)]
    blocks = list(source.blocks(to_send))
    assert sum(len(block) for block in blocks) == 1
    assert [why for block in blocks for _, why in block.failures] == [
        "is larger than any record may be: 5,497,558,138,880 bytes"
    ]
