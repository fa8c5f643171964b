"""User-defined functions on records."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources.folder_source import FolderSource
from kafkabal.sources.row_source import RowSource
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


@pytest.mark.parametrize("name", ["nothing", "no_such_module:f", "os:nothing", "os:sep"])
def test_unloadable_transforms_are_refused(name: str) -> None:
    """A misspelt name is reported before anything is sent."""
    with pytest.raises(UsageError, match="transform"):
        load_transform(name)


def test_chunks_are_not_transformed(tmp_path: Path) -> None:
    """A transform is refused with chunks, which could not be joined again."""
    with pytest.raises(UsageError, match="--transform and --chunk"):
        FolderSource(tmp_path, chunk_bytes=5, transform=Transform("m:f", shout))
