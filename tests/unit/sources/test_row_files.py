"""Rows as a source: formats, fields, keys, and rows that are not what they should be."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources.row_files import RowFormat, RowSource


def rows_of(source: RowSource, start: int = 0) -> list[tuple[bytes | None, bytes]]:
    """Key and value of every record."""
    (part,) = source.parts()
    return [(record.key, record.value) for record in source.records(part, start)]


def written(folder: Path, name: str, content: bytes) -> Path:
    """A file with this content."""
    path = folder / name
    path.write_bytes(content)
    return path


def test_json_lines_as_they_stand(tmp_path: Path) -> None:
    """Lines keep their bytes, without their break; empty lines are none; the last line needs no break."""
    path = written(tmp_path, "a.jsonl", b'{"a": 1}\r\n\n{"a":2}\n[3')
    assert rows_of(RowSource(path)) == [(None, b'{"a": 1}'), (None, b'{"a":2}'), (None, b"[3")]


def test_fields_of_json_lines(tmp_path: Path) -> None:
    """A field can be the key and another the value; text and numbers have their bytes, null is no key."""
    path = written(tmp_path, "a.jsonl", b'{"k":"x","v":1.5}\n{"k":7,"v":"text"}\n{"k":null,"v":"none"}\n')
    source = RowSource(path, key_field="k", value_field="v")
    assert rows_of(source) == [(b"x", b"1.5"), (b"7", b"text"), (None, b"none")]
    assert source.is_keyed


def test_csv_rows_become_objects(tmp_path: Path) -> None:
    """The first line names the fields; quoted breaks stay within their row."""
    path = written(tmp_path, "a.csv", 'id,text\n1,"two\nlines"\n2,é\n'.encode())
    found = rows_of(RowSource(path, key_field="id"))
    assert [(key, json.loads(value)) for key, value in found] == [
        (b"1", {"id": "1", "text": "two\nlines"}),
        (b"2", {"id": "2", "text": "é"}),
    ]


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    """A table saved with a mark in front, as spreadsheets do, has its first column under its own name."""
    path = written(tmp_path, "a.csv", b"\xef\xbb\xbfid,n\n1,2\n")
    assert rows_of(RowSource(path, key_field="id")) == [(b"1", b'{"id":"1","n":"2"}')]


def test_a_column_that_parquet_does_not_have_is_an_error(tmp_path: Path) -> None:
    """The columns that there are are listed."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"n": [1, 2]}), tmp_path / "a.parquet")
    with pytest.raises(InputFileError, match=r"a\.parquet: there is no column 'usr'") as caught:
        rows_of(RowSource(tmp_path / "a.parquet", key_field="usr"))
    assert caught.value.hint == "there are: n"


def test_parquet_rows(tmp_path: Path) -> None:
    """Rows of Parquet become objects, and a column of bytes is sent as it is."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"n": [1, 2], "image": [b"\x00\xff", b"x"]}), path)
    assert rows_of(RowSource(path, value_field="image", key_field="n")) == [(b"1", b"\x00\xff"), (b"2", b"x")]


def test_start_in_the_middle(tmp_path: Path) -> None:
    """A run that goes on skips the rows before."""
    assert rows_of(RowSource(written(tmp_path, "a.txt", b"a\nb\nc\n")), 2) == [(None, b"c")]


def test_standard_input_is_read_as_it_comes() -> None:
    """Lines of a stream are records; it is not closed, and its size is not known beforehand."""
    stream = io.BytesIO(b"a\nb\n")
    source = RowSource(None, stream=stream, row_format=RowFormat.TEXT)
    assert list(source.sizes(source.parts()[0])) == []
    assert rows_of(source) == [(None, b"a"), (None, b"b")]
    assert not stream.closed


def long_rows(folder: Path, name: str) -> Path:
    """A thousand rows of ``n`` and ``text``, longer than any buffer, in the format of the name; CSV with a mark."""
    rows = [{"n": n, "text": "é" * 50} for n in range(1000)]
    if name.endswith(".parquet"):
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.Table.from_pylist(rows), folder / name, row_group_size=300)
        return folder / name
    if name.endswith(".csv"):
        text = "\ufeffn,text\n" + "".join(f"{row['n']},{row['text']}\n" for row in rows)
    else:
        text = "".join(f"{json.dumps(row)}\n\n" for row in rows).removesuffix("\n")
    return written(folder, name, text.encode())


@pytest.mark.parametrize("start", [0, 600])
@pytest.mark.parametrize("fields", [{}, {"key_field": "n"}])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_progress_adds_up_to_the_file(tmp_path: Path, name: str, fields: dict[str, str], start: int) -> None:
    """The bytes that the records stand for, with those before the first, are those of the file, evenly spread."""
    source = RowSource(long_rows(tmp_path, name), **fields)
    (part,) = source.parts()
    done = [record.skipped_bytes + record.progress_bytes for record in source.records(part, start)]
    assert sum(done) == part.size_bytes
    half = (1000 - start) // 2
    assert sum(done[:half]) / part.size_bytes == pytest.approx((start + half) / 1000, abs=0.1)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_progress_of_standard_input_is_what_was_read(tmp_path: Path, name: str) -> None:
    """How long a stream is nobody knows, but how much of it the records stand for, from the start on."""
    content = long_rows(tmp_path, name).read_bytes()
    source = RowSource(None, stream=io.BytesIO(content), row_format=RowFormat(name.removeprefix("a.")))
    (part,) = source.parts()
    assert part.size_bytes == 0
    assert sum(record.progress_bytes for record in source.records(part, 0)) == len(content)


@pytest.mark.parametrize(
    ("name", "content", "fields", "message"),
    [
        ("a.jsonl", b'{"k":1}\n{"k":\n', {"key_field": "k"}, "line 2: is no JSON object"),
        ("a.jsonl", b'{"k":1}\n[1]\n', {"key_field": "k"}, "line 2: is no JSON object"),
        ("a.jsonl", b'{"k":[1]}\n', {"key_field": "k"}, "line 1: has a 'k' that is neither text, number nor bytes"),
        ("a.jsonl", b'{"k":1}\n', {"value_field": "v"}, "line 1: has no field 'v'"),
        ("a.jsonl", b'{"k":1}\n\n{"v":1}\n', {"key_field": "k"}, "line 3: has no field 'k' to take as a key"),
        ("a.csv", b"a,b\n1,2\n3\n", {}, "line 3: has not as many fields"),
        ("a.csv", b'a,b\n1,"2\n"\n\n3\n', {}, "line 5: has not as many fields"),
        ("a.csv", b"a,b\n1,2,3\n", {}, "line 2: has not as many fields"),
        ("a.csv", b"a,b\n1,2\n3,\xff\n4,5\n", {}, "line 3: is no CSV: it is not in UTF-8"),
        ("a.csv", b"a,b\n1,2\n", {"key_field": "k"}, "there is no column 'k'"),
        ("a.csv", b"a,b\n", {"value_field": "v"}, "there is no column 'v'"),
        ("a.csv", b'a,b\n1,"2\n', {}, "is no CSV"),
        ("a.csv", b"a,b,c,b,a\n1,2,3,4,5\n", {}, "has several columns of the same name: 'a', 'b'"),
        ("a.csv", b"a,b,b\n1,2,3\n", {"value_field": "a"}, "has several columns of the same name: 'b'"),
        ("a.csv", b"a\n\xff\n", {}, "is no CSV"),
        ("a.parquet", b"no parquet at all", {}, "is no Parquet"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, name: str, content: bytes, fields: dict[str, str], message: str) -> None:
    """A row that cannot be sent is refused with the file and the row."""
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    with pytest.raises(InputFileError, match=f"{name}.*{message}"):
        rows_of(RowSource(written(tmp_path, name, content), **fields))


def test_an_empty_or_absent_file_is_an_error(tmp_path: Path) -> None:
    """Nothing to send is told at once."""
    with pytest.raises(InputFileError, match="is empty"):
        RowSource(written(tmp_path, "a.txt", b"")).parts()
    with pytest.raises(InputFileError, match="cannot be read: No such file"):
        RowSource(tmp_path / "b.txt").parts()


def test_a_pipe_by_name_is_not_called_empty(tmp_path: Path) -> None:
    """What cannot be read twice is refused for what it is, and the hint says how to feed it."""
    os.mkfifo(tmp_path / "a.jsonl")
    with pytest.raises(InputFileError, match=r"a\.jsonl: is no regular file") as caught:
        RowSource(tmp_path / "a.jsonl").parts()
    assert "standard input" in (caught.value.hint or "")


def test_truth_has_the_text_of_json(tmp_path: Path) -> None:
    """As a key and as a value, in words that any reader of JSON knows."""
    path = written(tmp_path, "a.jsonl", b'{"k":true,"v":false}\n')
    assert rows_of(RowSource(path, key_field="k", value_field="v")) == [(b"true", b"false")]


def test_a_file_that_grows_under_way_is_not_taken_for_whole(tmp_path: Path) -> None:
    """When the file is no longer the one that was listed, the run stops."""
    path = written(tmp_path, "a.txt", b"a\nb\n")
    source = RowSource(path)
    (part,) = source.parts()
    records = source.records(part, 0)
    next(records)
    path.write_bytes(b"a\nb\nc\n")
    with pytest.raises(InputFileError, match="changed while it was being sent"):
        list(records)


@pytest.mark.parametrize(
    ("path", "row_format", "fields", "message"),
    [
        ("a.dat", None, {}, "the format cannot be told"),
        ("a.txt", None, {"key_field": "k"}, "plain text have no fields"),
        (None, RowFormat.PARQUET, {}, "Parquet cannot be read from standard input"),
    ],
)
def test_what_cannot_be_read_so_is_refused(
    tmp_path: Path, path: str | None, row_format: RowFormat | None, fields: dict[str, str], message: str
) -> None:
    """An unknown format, and fields or places that a format does not have."""
    stream = None if path else io.BytesIO()
    with pytest.raises(UsageError, match=message):
        RowSource(tmp_path / path if path else None, stream=stream, row_format=row_format, **fields)


def test_options_that_make_other_records_are_told(tmp_path: Path) -> None:
    """Key, value and a format that the name does not tell; what the name tells as well is not mentioned."""
    path = written(tmp_path, "a.jsonl", b"{}\n")
    assert RowSource(path).options == RowSource(path, row_format=RowFormat.JSONL).options == {}
    assert RowSource(path, row_format=RowFormat.TEXT).options == {"--format": "text"}
    assert RowSource(path, key_field="k", value_field="v").options == {"--key": "k", "--value": "v"}
    assert RowSource(written(tmp_path, "a.dat", b"x"), row_format=RowFormat.TEXT).options == {"--format": "text"}


def test_parquet_columns_of_the_same_name_are_refused(tmp_path: Path) -> None:
    """As an object a row would silently lose one of them; fields within a column are no different."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    one, two = pa.array([1]), pa.array([2])
    parquet.write_table(pa.Table.from_arrays([one, two], names=["a", "a"]), tmp_path / "columns.parquet")
    struct = pa.StructArray.from_arrays([one, two], names=["x", "x"])
    parquet.write_table(pa.Table.from_arrays([struct], names=["s"]), tmp_path / "fields.parquet")
    with pytest.raises(InputFileError, match=r"columns.parquet: has several columns of the same name: 'a'"):
        rows_of(RowSource(tmp_path / "columns.parquet"))
    with pytest.raises(InputFileError, match=r"fields.parquet: row 1: cannot be read: .*duplicate field names"):
        rows_of(RowSource(tmp_path / "fields.parquet"))
