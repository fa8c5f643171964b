"""Rows as a source: formats, fields, keys, and invalid rows."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import struct
from collections.abc import Callable
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import IO

import pytest

from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources import text_rows
from kafkabal.sources.file_store_protocol import FileVersion
from kafkabal.sources.local_files import LocalFile
from kafkabal.sources.remote_files import RemoteFile
from kafkabal.sources.row_formats import RowFormat
from kafkabal.sources.row_source import RowSource
from kafkabal.sources.source_protocol import ChangedRowsError, RecordsToSend, RowChecksum, UnfinishedRowError
from tests.unit.sources.records_of import add_values, records_of


def rows_of(source: RowSource, start: int = 0) -> list[tuple[bytes | None, bytes]]:
    """Key and value of every record."""
    (part,) = source.listing().parts
    return [(record.key, record.value) for record in records_of(source, part, start)]


def written(folder: Path, name: str, content: bytes) -> Path:
    """A file with this content."""
    path = folder / name
    path.write_bytes(content)
    return path


def test_json_lines_are_sent_verbatim(tmp_path: Path) -> None:
    """Lines keep their bytes without the line break; empty lines are skipped; the last line needs no break."""
    path = written(tmp_path, "a.jsonl", b'{"a": 1}\r\n\n{"a":2}\n[3\n[4]')
    assert rows_of(RowSource(path)) == [(None, b'{"a": 1}'), (None, b'{"a":2}'), (None, b"[3"), (None, b"[4]")]


def test_fields_of_json_lines(tmp_path: Path) -> None:
    """One field can be the key and another the value; text and numbers are sent as bytes, null is no key."""
    path = written(tmp_path, "a.jsonl", b'{"k":"x","v":1.5}\n{"k":7,"v":"text"}\n{"k":null,"v":"none"}\n')
    source = RowSource(path, key_field="k", value_field="v")
    assert rows_of(source) == [(b"x", b"1.5"), (b"7", b"text"), (None, b"none")]
    assert source.is_keyed


def test_csv_rows_become_objects(tmp_path: Path) -> None:
    """The first line names the fields; quoted line breaks stay within their row."""
    path = written(tmp_path, "a.csv", 'id,text\n1,"two\nlines"\n2,é\n'.encode())
    found = rows_of(RowSource(path, key_field="id"))
    assert [(key, json.loads(value)) for key, value in found] == [
        (b"1", {"id": "1", "text": "two\nlines"}),
        (b"2", {"id": "2", "text": "é"}),
    ]


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    """The byte order mark that spreadsheets write does not become part of the first column's name."""
    path = written(tmp_path, "a.csv", b"\xef\xbb\xbfid,n\n1,2\n")
    assert rows_of(RowSource(path, key_field="id")) == [(b"1", b'{"id":"1","n":"2"}')]


def test_a_byte_order_mark_is_no_part_of_a_line(tmp_path: Path) -> None:
    """The mark that some Windows programs write neither makes the first line invalid nor is sent."""
    path = written(tmp_path, "a.jsonl", b'\xef\xbb\xbf{"k":1}\n{"k":2}\n')
    assert rows_of(RowSource(path)) == [(None, b'{"k":1}'), (None, b'{"k":2}')]
    assert rows_of(RowSource(path, key_field="k")) == [(b"1", b'{"k":1}'), (b"2", b'{"k":2}')]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, lambda data: b"\x28\xb5\x2f\xfd" + data])
@pytest.mark.parametrize("row_format", [RowFormat.JSONL, RowFormat.TEXT, RowFormat.CSV])
def test_compressed_rows_are_refused(tmp_path: Path, row_format: RowFormat, pack: Callable[[bytes], bytes]) -> None:
    """They were sent as binary rows, cut at bytes that look like line breaks."""
    packed = pack(b'{"k":1}\n' * 1000)
    path = written(tmp_path, "a.jsonl.gz", packed)
    for source in (
        RowSource(path, row_format=row_format),
        RowSource(None, stream=io.BytesIO(packed), row_format=row_format),
    ):
        with pytest.raises(InputFileError, match="is compressed"):
            rows_of(source)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_only_columns_that_are_sent_are_converted(tmp_path: Path, name: str) -> None:
    """A column that Python cannot hold does not matter if it is not sent; those with dots and nested ones are found."""
    pyarrow = pytest.importorskip("pyarrow")
    odd = pyarrow.array([2**40], pyarrow.date64()).cast(pyarrow.int64()).cast(pyarrow.timestamp("s"))
    table = pyarrow.table({"odd": odd, "a.b": [b"1"], "a": [{"c": b"2"}], "k": ["key"]})
    if name == "a.parquet":
        pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / name)
    else:
        with pyarrow.OSFile(str(tmp_path / name), "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
            writer.write(table)
    for field, value in (("a.b", b"1"), ("a.c", b"2")):
        assert rows_of(RowSource(tmp_path / name, value_field=field, key_field="k")) == [(b"key", value)]
    with pytest.raises(InputFileError, match="row 1: cannot read"):
        rows_of(RowSource(tmp_path / name))


def test_progress_of_arrow_ends_with_the_file(tmp_path: Path) -> None:
    """It goes by the position in the file, which may be compressed, and includes the footer behind the last row."""
    pyarrow = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")
    path = tmp_path / "a.feather"
    feather.write_feather(pyarrow.table({"n": [0] * 100_000}), path, compression="zstd", chunksize=10_000)
    source = RowSource(path)
    (part,) = source.listing().parts
    blocks = list(source.blocks([RecordsToSend(0, 0, part)]))
    assert sum(block.progress_bytes + block.skipped_bytes for block in blocks) == part.size_bytes
    assert 0.5 * part.size_bytes < sum(block.progress_bytes for block in blocks[:-1])


def test_a_column_that_parquet_does_not_have_is_an_error(tmp_path: Path) -> None:
    """The error lists the columns that exist."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"n": [1, 2]}), tmp_path / "a.parquet")
    with pytest.raises(InputFileError, match=r"a\.parquet: unknown column: usr") as caught:
        rows_of(RowSource(tmp_path / "a.parquet", key_field="usr"))
    assert caught.value.hint == "choose from: n"


def test_parquet_rows(tmp_path: Path) -> None:
    """Parquet rows become objects, and a column of bytes is sent unchanged."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"n": [1, 2], "image": [b"\x00\xff", b"x"]}), path)
    assert rows_of(RowSource(path, value_field="image", key_field="n")) == [(b"1", b"\x00\xff"), (b"2", b"x")]


def test_parquet_times_do_not_depend_on_pandas(tmp_path: Path) -> None:
    """With pandas, pyarrow gives its types for nanoseconds: they are sent like Python's, or with all digits."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("pandas")
    path = tmp_path / "a.parquet"
    at = pyarrow.array([1_700_000_000_000_001_000, 1_700_000_000_000_000_001], pyarrow.timestamp("ns", tz="UTC"))
    parquet.write_table(pyarrow.table({"at": at, "took": at.cast("int64").cast(pyarrow.duration("ns"))}), path)
    assert rows_of(RowSource(path)) == [
        (None, b'{"at":"2023-11-14T22:13:20.000001Z","took":"P19675DT80000.000001S"}'),
        (None, b'{"at":"2023-11-14T22:13:20.000000001Z","took":"P19675DT22H13M20.000000001S"}'),
    ]


def test_times_in_nanoseconds_ask_for_pandas(tmp_path: Path) -> None:
    """Without it pyarrow does not give them; the hint says what to install."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    try:
        pyarrow.scalar(1, pyarrow.timestamp("ns")).as_py()
    except ValueError:
        path = tmp_path / "a.parquet"
        parquet.write_table(pyarrow.table({"at": pyarrow.array([1], pyarrow.timestamp("ns"))}), path)
        with pytest.raises(InputFileError, match="row 1: times in nanoseconds require pandas") as refused:
            rows_of(RowSource(path))
        assert refused.value.hint == "pip install pandas"
    else:
        pytest.skip("pandas is installed")


def test_a_line_break_is_one_break(tmp_path: Path) -> None:
    """Of Windows too; another carriage return before it belongs to the line."""
    path = written(tmp_path, "a.txt", b"a\r\nb\r\r\n\r\nc\r\n")
    assert rows_of(RowSource(path)) == [(None, b"a"), (None, b"b\r"), (None, b"c")]


def test_start_in_the_middle(tmp_path: Path) -> None:
    """A run that resumes skips the rows before."""
    assert rows_of(RowSource(written(tmp_path, "a.txt", b"a\nb\nc\n")), 2) == [(None, b"c")]


def test_standard_input_is_read_as_it_comes() -> None:
    """Lines of a stream are records; it stays open, and its size is unknown beforehand."""
    stream = io.BytesIO(b"a\nb\n")
    source = RowSource(None, stream=stream, row_format=RowFormat.TEXT)
    assert list(source.find_too_large(source.listing().parts, 0, lambda: None)) == []
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
    """The bytes per record and those before the first add up to the file, evenly spread."""
    source = RowSource(long_rows(tmp_path, name), **fields)
    (part,) = source.listing().parts
    blocks = list(source.blocks([RecordsToSend(0, 0, part, start)]))
    assert sum(block.skipped_bytes + block.progress_bytes for block in blocks) == part.size_bytes
    assert sum(block.skipped_bytes for block in blocks) / part.size_bytes == pytest.approx(start / 1000, abs=0.1)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_progress_of_standard_input_counts_bytes_read(tmp_path: Path, name: str) -> None:
    """The length of a stream is unknown, but progress counts the bytes read for the records from the start on."""
    content = long_rows(tmp_path, name).read_bytes()
    source = RowSource(None, stream=io.BytesIO(content), row_format=RowFormat(name.removeprefix("a.")))
    (part,) = source.listing().parts
    assert part.size_bytes == 0
    assert sum(block.progress_bytes for block in source.blocks([RecordsToSend(0, 0, part)])) == len(content)


@pytest.mark.parametrize(
    ("name", "content", "fields", "message"),
    [
        ("a.jsonl", b'{"k":1}\n{"k":\n', {"key_field": "k"}, "line 2: is not a JSON object"),
        (
            "a.jsonl",
            b'{"k":1}\n[1]\n',
            {"key_field": "k"},
            "line 2: is not a JSON object: expected an object, not a list",
        ),
        (
            "a.jsonl",
            b'{"k":"\\ud800a"}\n',
            {"key_field": "k"},
            "line 1: is not a JSON object: .*half of a surrogate pair",
        ),
        ("a.jsonl", b'{"k":[1]}\n', {"key_field": "k"}, "line 1: field 'k' must be text, a number or bytes"),
        ("a.jsonl", b'{"k":1}\n', {"value_field": "v"}, "line 1: missing field 'v'"),
        ("a.jsonl", b'{"v":null}\n', {"value_field": "v"}, "line 1: field 'v' is null"),
        ("a.jsonl", b'{"k":1}\n\n{"v":1}\n', {"key_field": "k"}, "line 3: missing key field 'k'"),
        ("a.csv", b"a,b\n1,2\n3\n", {}, "line 3: number of fields differs"),
        ("a.csv", b'a,b\n1,"2\n"\n\n3\n', {}, "line 5: number of fields differs"),
        ("a.csv", b"a,b\n1,2,3\n", {}, "line 2: number of fields differs"),
        ("a.csv", b"a,b\n1,2\n3,\xff\n4,5\n", {}, "line 3: is not CSV: it is not in UTF-8"),
        ("a.csv", b"a,b\n1,2\n", {"key_field": "k"}, "unknown column: k"),
        ("a.csv", b"a,b\n", {"value_field": "v"}, "unknown column: v"),
        ("a.csv", b'a,b\n1,"2\n"3,4\n', {}, "line 3: is not CSV"),
        ("a.csv", b'a,b\n1,2\n"3"4,5\n6,7\n', {}, "line 3: is not CSV"),
        ("a.csv", b"a,b,c,b,a\n1,2,3,4,5\n", {}, "duplicate columns: 'a', 'b'"),
        ("a.csv", b"a,b,b\n1,2,3\n", {"value_field": "a"}, "duplicate columns: 'b'"),
        ("a.csv", b"a\n\xff\n", {}, "is not CSV"),
        ("a.parquet", b"no parquet at all", {}, "is not Parquet, or damaged: "),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, name: str, content: bytes, fields: dict[str, str], message: str) -> None:
    """An invalid row is refused with the file and the row."""
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    with pytest.raises(InputFileError, match=f"{name}.*{message}"):
        rows_of(RowSource(written(tmp_path, name, content), **fields))


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_a_damaged_footer_is_blamed_on_no_row(tmp_path: Path, name: str) -> None:
    """No row can be found without it, so none is named: the file is."""
    pytest.importorskip("pyarrow")
    with pytest.raises(InputFileError, match=rf"{name}: is not (Parquet|Arrow), or damaged: "):
        rows_of(RowSource(written(tmp_path, name, b"PAR1" + b"x" * 100 + b"PAR1")))


def test_an_empty_or_absent_file_is_an_error(tmp_path: Path) -> None:
    """An empty or missing file is an error at once."""
    with pytest.raises(InputFileError, match="empty"):
        RowSource(written(tmp_path, "a.txt", b"")).listing()
    with pytest.raises(InputFileError, match="cannot read: No such file"):
        RowSource(tmp_path / "b.txt").listing()


def test_a_pipe_by_name_is_not_called_empty(tmp_path: Path) -> None:
    """A named pipe is refused because it cannot be read twice, and the hint says how to feed it."""
    os.mkfifo(tmp_path / "a.jsonl")
    with pytest.raises(InputFileError, match=r"a\.jsonl: is not a regular file") as caught:
        RowSource(tmp_path / "a.jsonl").listing()
    assert "standard input" in (caught.value.hint or "")


def test_a_disk_that_fails_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network file system may fail while a file is read; the error names the file, and is no damage of it."""

    class Failing(io.FileIO):
        def readinto(self, buffer: object) -> int:
            raise OSError(errno.ESTALE, "Stale file handle")

    for name in ("a.jsonl", "a.csv", "a.tar", "a.tfrecord", "a.parquet"):
        path = written(tmp_path, name, b"x" * 100)
        monkeypatch.setattr(LocalFile, "open", lambda _, path=path: io.BufferedReader(Failing(str(path))))
        with pytest.raises(InputFileError, match=f"{name}: cannot read: Stale file handle"):
            rows_of(RowSource(path))
        if name == "a.jsonl":
            (part,) = RowSource(path).listing().parts
            with pytest.raises(InputFileError, match="cannot read: Stale file handle"):
                list(RowSource(path).find_too_large([part], 10, lambda: None))


def test_a_file_that_shrinks_gives_no_part_of_a_row(tmp_path: Path) -> None:
    """What is left of a line is not a row; it could not be taken back from the topic."""
    path = written(tmp_path, "a.jsonl", b'{"n":1}\n{"n":22222}\n')
    source = RowSource(path)
    (part,) = source.listing().parts
    opened = LocalFile.open
    with pytest.MonkeyPatch.context() as patch:

        def open_and_shrink(file: LocalFile) -> IO[bytes]:
            opened_file = opened(file)
            os.truncate(path, 14)
            return opened_file

        patch.setattr(LocalFile, "open", open_and_shrink)
        patch.setattr(LocalFile, "version", lambda _: FileVersion(part.size_bytes, part.mtime_ns))
        found: list[bytes] = []
        with pytest.raises(InputFileError, match=r"a\.jsonl: ended after 14 of 20 bytes"):
            add_values(found, source, part)
    assert found == [b'{"n":1}']


@pytest.mark.parametrize("row_format", [RowFormat.JSONL, RowFormat.CSV])
def test_a_line_that_no_record_can_hold_is_refused(row_format: RowFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream without line breaks would fill all memory; the rows before it are sent."""
    monkeypatch.setattr(text_rows, "MOST_RECORD_BYTES", 1 << 20)
    stream = io.BytesIO(b"1\n2\n" + b"x" * (2 << 20))
    source = RowSource(None, stream=stream, row_format=row_format)
    (part,) = source.listing().parts
    blocks = source.blocks([RecordsToSend(0, 0, part)])
    assert next(blocks).values in ([b"1", b"2"], [b'{"1":"2"}'])
    with pytest.raises(InputFileError, match="standard input: the line after 4 bytes is longer than any record may be"):
        list(blocks)
    assert stream.tell() < 2 << 20


def test_decimals_and_fields_of_null_in_tables(tmp_path: Path) -> None:
    """A decimal is a number; a nested field of a row whose column is null is null too."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    rows = {"id": [Decimal("1.10"), None], "image": [{"name": "x"}, None]}
    parquet.write_table(pyarrow.table(rows), path)
    assert rows_of(RowSource(path, key_field="id")) == [
        (b"1.10", b'{"id":"1.10","image":{"name":"x"}}'),
        (None, b'{"id":null,"image":null}'),
    ]
    assert [key for key, _ in rows_of(RowSource(path, key_field="image.name"))] == [b"x", None]
    with pytest.raises(InputFileError, match=r"row 2: field 'image\.name' is null"):
        rows_of(RowSource(path, value_field="image.name"))


def test_truth_has_the_text_of_json(tmp_path: Path) -> None:
    """A boolean key or value is sent as JSON's true or false."""
    path = written(tmp_path, "a.jsonl", b'{"k":true,"v":false}\n')
    assert rows_of(RowSource(path, key_field="k", value_field="v")) == [(b"true", b"false")]


def test_a_file_that_grows_while_it_is_sent_is_sent_with_its_new_rows(tmp_path: Path) -> None:
    """Rows that are appended during a run do not stop it."""
    path = written(tmp_path, "a.txt", b"a\nb\n")
    source = RowSource(path)
    (part,) = source.listing().parts
    blocks = source.blocks([RecordsToSend(0, 0, part)])
    found = next(blocks).values
    with path.open("ab") as file:
        file.write(b"c\n")
    assert found + [value for block in blocks for value in block.values] == [b"a", b"b", b"c"]


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_a_file_that_is_being_written_is_sent_up_to_its_last_whole_line(tmp_path: Path, name: str) -> None:
    """It may grow at any time after it was listed; a line that its writer has not finished is left to the next run."""
    path = written(tmp_path, name, b"a,b\n1,2\n3,4")
    source = RowSource(path)
    (part,) = source.listing().parts
    assert len(rows_of(source)) == (2 if name == "a.csv" else 3)
    with path.open("ab") as file:
        file.write(b"5\n6,")
    blocks = source.blocks([RecordsToSend(0, 0, part)])
    found = next(blocks).values
    with path.open("ab") as file:
        file.write(b"7")
    found += [value for block in blocks for value in block.values]
    assert found[-1] in (b"3,45", b'{"a":"3","b":"45"}')


UNFINISHED = [
    ("a.csv", {}, b"a,b\n1,2\n", b'3,"four\n', 3),
    ("a.csv", {}, b"a,b\n1,2\n", b'3,"four', 3),
    ("a.csv", {}, b"a,b\n1,2\n", b"3", 3),
    ("a.csv", {"key_field": "a"}, b'a,b\n1,"x\ny"\n', b'3,"four\n\nfive\n', 4),
    ("a.jsonl", {}, b'{"a":1}\n\n', b'{"a":2,"b"', 3),
    ("a.jsonl", {"key_field": "a"}, b'{"a":1}\n\n', b'{"a":2,"b"', 3),
]


@pytest.mark.parametrize(("name", "fields", "whole", "half", "line"), UNFINISHED)
def test_half_a_row_is_not_sent(
    tmp_path: Path, name: str, fields: dict[str, str], whole: bytes, half: bytes, line: int
) -> None:
    """A writer with a buffer leaves half a row at the end of its file most of the time; the rows before it are sent,
    and it is no reason to refuse them beforehand."""
    source = RowSource(written(tmp_path, name, whole + half), **fields)
    (part,) = source.listing().parts
    found: list[bytes] = []
    with pytest.raises(UnfinishedRowError, match=f"{name}, line {line}: the file ends within this row"):
        add_values(found, source, part)
    assert len(found) == 1
    assert list(source.find_too_large([part], 1000, lambda: None)) == []
    (sent,) = [
        block.rows
        for block in RowSource(written(tmp_path, name, whole), **fields).blocks(
            [RecordsToSend(0, 0, RowSource(tmp_path / name).listing().parts[0])]
        )
    ]
    assert sent is not None
    source = RowSource(written(tmp_path, name, whole + half), **fields)
    (part,) = source.listing().parts
    assert source.begins_with(part, sent)
    assert not source.begins_with(part, RowChecksum(rows=2, sha256=sent.sha256))


@pytest.mark.parametrize(("name", "fields", "whole", "half"), [case[:4] for case in UNFINISHED])
def test_half_a_row_that_is_added_while_a_file_is_sent_is_left_to_the_next_run(
    tmp_path: Path, name: str, fields: dict[str, str], whole: bytes, half: bytes
) -> None:
    """As with lines of text, this is no error: the file was whole when the run began."""
    source = RowSource(written(tmp_path, name, whole), **fields)
    (part,) = source.listing().parts
    written(tmp_path, name, whole + half)
    found: list[bytes] = []
    add_values(found, source, part)
    assert len(found) == 1


@pytest.mark.parametrize("line", [b'{"a":"\\ud800"}', b'{"a":1e400}', b'{"a":"\xff\t"}', b'{"a":' + b"[" * 9999])
def test_a_last_line_that_only_some_readers_accept_is_whole(tmp_path: Path, line: bytes) -> None:
    """No writer would add to it, so it would wait forever."""
    assert rows_of(RowSource(written(tmp_path, "a.jsonl", b"{}\n" + line))) == [(None, b"{}"), (None, line)]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
@pytest.mark.parametrize("row_format", [RowFormat.JSONL, RowFormat.TEXT, RowFormat.CSV])
def test_rows_in_utf_16_are_refused(row_format: RowFormat, encoding: str) -> None:
    """As Windows shells write them: they were cut within characters, at bytes that look like line breaks."""
    mark = "" if encoding == "utf-16" else "\ufeff"
    stream = io.BytesIO((mark + '{"k":1}\n{"k":2}\n').encode(encoding))
    with pytest.raises(InputFileError, match="standard input: is in UTF-16") as caught:
        rows_of(RowSource(None, stream=stream, row_format=row_format))
    assert "iconv -f UTF-16 -t UTF-8" in (caught.value.hint or "")


def test_a_stream_that_ends_within_quotes_is_an_error() -> None:
    """An unclosed quote at the end is an error in CSV, and an ordinary character in text."""
    source = RowSource(None, stream=io.BytesIO(b'a,b\n1,"2\n'), row_format=RowFormat.CSV)
    (part,) = source.listing().parts
    with pytest.raises(InputFileError, match="line 2: is not CSV: unexpected end of data"):
        records_of(source, part)
    text = RowSource(None, stream=io.BytesIO(b"no JSON"))
    assert [record.value for record in records_of(text, part)] == [b"no JSON"]


def test_rows_of_many_lines_are_sent_in_blocks(tmp_path: Path) -> None:
    """If most line breaks are within quotes, so are the ends of most reads, and all rows were held until the end."""
    row = b'1,"' + b"line\n" * 2000 + b'"\n'
    source = RowSource(written(tmp_path, "a.csv", b"a,b\n" + row * 2000))
    (part,) = source.listing().parts
    sizes = [sum(block.sizes) for block in source.blocks([RecordsToSend(0, 0, part)])]
    assert sum(sizes) > 20_000_000
    assert max(sizes) < 5_000_000


@pytest.mark.parametrize("content", [b"a\nB\n", b"x\na\nb\n", b"a\n"])
def test_a_file_that_is_rewritten_while_it_is_sent_is_not_taken_for_whole(tmp_path: Path, content: bytes) -> None:
    """If rows that were sent are no longer in the file, the run stops."""
    path = written(tmp_path, "a.txt", b"a\nb\n")
    source = RowSource(path)
    (part,) = source.listing().parts
    blocks = source.blocks([RecordsToSend(0, 0, part)])
    next(blocks)
    path.write_bytes(content)
    os.utime(path, ns=(1, 1))
    with pytest.raises(InputFileError, match="changed while it was being sent"):
        list(blocks)


@pytest.mark.parametrize("fields", [{}, {"key_field": "n"}, {"value_field": "text"}])
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_the_checksum_of_rows_does_not_depend_on_how_they_were_read(
    tmp_path: Path, name: str, fields: dict[str, str]
) -> None:
    """Rows that are sent in two runs have the same checksum as in one run; other rows have another."""
    source = RowSource(long_rows(tmp_path, name), **fields)
    (part,) = source.listing().parts
    *_, whole = [block.rows for block in source.blocks([RecordsToSend(0, 0, part)]) if block.rows]
    assert whole.rows == 1000
    for start in (1, 600, 999):
        *_, resumed = [block.rows for block in source.blocks([RecordsToSend(0, 0, part, start)]) if block.rows]
        assert resumed == whole
    assert source.begins_with(part, whole)
    assert not source.begins_with(part, RowChecksum(rows=999, sha256=whole.sha256))
    assert not source.begins_with(part, RowChecksum(rows=1001, sha256=whole.sha256))


def test_other_rows_on_standard_input_are_noticed() -> None:
    """Lines that differ from the last run's are refused, and so is a stream that ends before them."""
    known = RowChecksum(rows=3, sha256=sha256(b"1\n2\n3\n").hexdigest())

    def sent(content: bytes) -> list[bytes]:
        source = RowSource(None, stream=io.BytesIO(content), row_format=RowFormat.TEXT)
        (part,) = source.listing().parts
        return [value for block in source.blocks([RecordsToSend(0, 0, part, 3, known)]) for value in block.values]

    assert sent(b"1\n2\n3\n4\n") == [b"4"]
    assert sent(b"1\n2\n3\n") == []
    with pytest.raises(ChangedRowsError, match="rows 1 to 3 are not the rows that were sent before"):
        sent(b"1\n2\nx\n4\n")
    with pytest.raises(ChangedRowsError, match="it ends after 2 rows; 3 were sent before") as caught:
        sent(b"1\n2\n")
    assert "--resend" not in (caught.value.hint or "")


def test_rows_before_one_that_cannot_be_sent_are_sent() -> None:
    """A row without its key stops a stream, but the rows before it are sent."""
    stream = io.BytesIO(b'{"k":1}\n{"k":2}\n{"v":3}\n')
    source = RowSource(None, stream=stream, key_field="k")
    (part,) = source.listing().parts
    blocks = source.blocks([RecordsToSend(0, 0, part)])
    assert next(blocks).keys == [b"1", b"2"]
    with pytest.raises(InputFileError, match="line 3: missing key field 'k'"):
        next(blocks)


@pytest.mark.parametrize(
    ("path", "row_format", "fields", "message"),
    [
        ("a.dat", None, {}, "unknown file format"),
        ("a.jsonl.gz", None, {}, "is compressed"),
        ("a.txt", None, {"key_field": "k"}, "plain text have no fields"),
        (None, RowFormat.PARQUET, {}, "cannot read Parquet from standard input"),
    ],
)
def test_unreadable_formats_are_refused(
    tmp_path: Path, path: str | None, row_format: RowFormat | None, fields: dict[str, str], message: str
) -> None:
    """An unknown format is refused, and so are fields or places that a format lacks."""
    stream = None if path else io.BytesIO()
    for name in ("a.dat", "a.jsonl.gz"):
        written(tmp_path, name, b"x")
    with pytest.raises(UsageError, match=message):
        RowSource(tmp_path / path if path else None, stream=stream, row_format=row_format, **fields)


def test_a_missing_file_is_not_blamed_for_its_name(tmp_path: Path) -> None:
    """A name without a format may be a misspelt folder of a store, or a pipe."""
    os.mkfifo(tmp_path / "pipe")
    for file, message in (
        (RemoteFile(f"file://{tmp_path}/imagnet"), "(?i)cannot read: no such file or"),
        (tmp_path / "pipe", "is not a regular file"),
    ):
        with pytest.raises(InputFileError, match=message):
            RowSource(file)


def test_options_that_make_other_records_are_reported(tmp_path: Path) -> None:
    """Key, value and a format that differs from the file name's are listed; a format that the name implies is not."""
    path = written(tmp_path, "a.jsonl", b"{}\n")
    assert RowSource(path).options == RowSource(path, row_format=RowFormat.JSONL).options == {}
    assert RowSource(path, row_format=RowFormat.TEXT).options == {"--format": "text"}
    assert RowSource(path, key_field="k", value_field="v").options == {"--key": "k", "--value": "v"}
    assert RowSource(written(tmp_path, "a.dat", b"x"), row_format=RowFormat.TEXT).options == {"--format": "text"}


def test_parquet_columns_of_the_same_name_are_refused(tmp_path: Path) -> None:
    """As an object a row would silently lose one of the columns; nested fields are treated alike."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    one, two = pa.array([1]), pa.array([2])
    parquet.write_table(pa.Table.from_arrays([one, two], names=["a", "a"]), tmp_path / "columns.parquet")
    struct = pa.StructArray.from_arrays([one, two], names=["x", "x"])
    parquet.write_table(pa.Table.from_arrays([struct], names=["s"]), tmp_path / "fields.parquet")
    with pytest.raises(InputFileError, match=r"columns.parquet: duplicate columns: 'a'"):
        rows_of(RowSource(tmp_path / "columns.parquet"))
    with pytest.raises(InputFileError, match=r"fields.parquet: row 1: cannot read: .*duplicate field names"):
        rows_of(RowSource(tmp_path / "fields.parquet"))


def test_arrow_rows_and_nested_fields(tmp_path: Path) -> None:
    """Arrow files and streams are read alike; a dot selects a nested field, and a field can be the label."""
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"image": [{"bytes": b"\x00", "path": "a"}, {"bytes": b"\x01", "path": "b"}], "n": [7, 8]})
    for name, writer in (("a.arrow", pyarrow.ipc.new_file), ("s.arrow", pyarrow.ipc.new_stream)):
        with writer(tmp_path / name, table.schema) as file:
            file.write_table(table)
        source = RowSource(tmp_path / name, value_field="image.bytes", label_field="n")
        (part,) = source.listing().parts
        assert [(r.value, r.headers) for r in records_of(source, part)] == [
            (b"\x00", [("label", b"7")]),
            (b"\x01", [("label", b"8")]),
        ]


@pytest.mark.parametrize("read_bytes", [3, 1 << 19])
@pytest.mark.parametrize(
    "content", [b"one\ntwo\nthree\n", b"one\ntwo\nthree", b"\xef\xbb\xbfone\n\ntwo\r\nthree\n", b"one\r\ntwo\r\nthree"]
)
def test_the_checksum_of_lines_is_of_the_rows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, read_bytes: int
) -> None:
    """Neither a mark at the start nor empty lines nor the kind of line breaks count."""
    monkeypatch.setattr(text_rows, "_READ_BYTES", read_bytes)
    source = RowSource(written(tmp_path, "a.txt", content))
    *_, last = source.blocks([RecordsToSend(0, 0, source.listing().parts[0])])
    assert last.rows == RowChecksum(rows=3, sha256=sha256(b"one\ntwo\nthree\n").hexdigest())


def test_the_checksum_of_rows_covers_headers_however_they_are_read(tmp_path: Path) -> None:
    """A changed label changes the checksum, and the blocks in which rows are read do not."""
    path = written(tmp_path, "a.jsonl", b'{"v":1,"l":"x"}\n{"v":2,"l":"y"}\n')
    source = RowSource(path, value_field="v", label_field="l")
    (part,) = source.listing().parts
    whole = [block.rows for block in source.blocks([RecordsToSend(0, 0, part)])][-1]
    rest = [block.rows for block in source.blocks([RecordsToSend(0, 0, part, 1)])][-1]
    assert whole is not None
    assert whole == rest
    assert source.begins_with(part, whole)
    written(tmp_path, "a.jsonl", b'{"v":1,"l":"x"}\n{"v":2,"l":"z"}\n')
    (changed,) = source.listing().parts
    assert not source.begins_with(changed, whole)


def test_a_damaged_arrow_file_is_refused(tmp_path: Path) -> None:
    """Text offsets far outside the file are refused: reading them would crash the process."""
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "rows.arrow"
    table = pyarrow.table({"name": ["abc"] * 6})
    with pyarrow.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    ends, wrong_ends = struct.pack("<7i", *range(0, 21, 3)), struct.pack("<7i", *range(0, 18, 3), 2**31 - 1)
    assert ends in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(ends, wrong_ends))
    source = RowSource(path)
    (part,) = source.listing().parts
    with pytest.raises(InputFileError, match="row 1: is not Arrow, or damaged: ") as refused:
        records_of(source, part)
    assert "\n" not in refused.value.message
