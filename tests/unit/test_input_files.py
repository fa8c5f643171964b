"""Files from others: whatever they contain, one line states the fault, and no resource is exhausted."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from kafkabal import input_files
from kafkabal.errors import InputFileError
from kafkabal.input_files import ROWS, STDIN, Limits, decode_json, exists, open_input, read_bytes, read_text
from kafkabal.model import LogDirRow

SMALL = Limits(total_bytes=1000, line_bytes=100, unpacking_ratio=20, unpacked_bytes_at_any_ratio=200)
ANYTHING = msgspec.json.Decoder()


def read_lines(path: Path | str, limits: Limits = SMALL) -> list[bytes]:
    """All lines of a file."""
    with open_input(path, limits) as file:
        return list(file.lines())


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    """Files that Windows programs have saved are read, packed or not; only the first mark is skipped."""
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    plain.write_bytes(b"\xef\xbb\xbf{}")
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf\xef\xbb\xbf{}"))
    assert read_bytes(plain) == b"{}"
    assert read_bytes(packed) == b"\xef\xbb\xbf{}"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_are_the_same_packed_or_not(tmp_path: Path, pack: type[bytes]) -> None:
    """Each line keeps its line end, which the last one may lack, compressed or not."""
    path = tmp_path / "f"
    path.write_bytes(pack(b"one\n\ntwo\r\nthree"))
    assert read_lines(path) == [b"one\n", b"\n", b"two\r\n", b"three"]
    assert read_bytes(path, SMALL) == b"one\n\ntwo\r\nthree"


def test_a_file_that_is_written_to_as_well_is_never_unpacked(tmp_path: Path) -> None:
    """A file that is also written is never decompressed: its compressed bytes are read unchanged."""
    path = tmp_path / "f"
    path.write_bytes(gzip.compress(b"one"))
    with open_input(path, SMALL, may_be_packed=False) as file:
        assert file.content() == path.read_bytes()


def test_a_line_that_is_too_long_is_named(tmp_path: Path) -> None:
    """A line of exactly the limit is read, and a longer one is named."""
    path = tmp_path / "f"
    path.write_bytes(b"a\n" + b"b" * 99 + b"\n" + b"c" * 100 + b"\n")
    with pytest.raises(InputFileError, match="f, line 3: the line is longer than 100 bytes"):
        read_lines(path)


def test_a_file_that_is_too_long_is_refused(tmp_path: Path) -> None:
    """A file beyond the limit is refused, also if it is read as a whole."""
    path = tmp_path / "f"
    path.write_bytes(b"a\n" * 501)
    for read in (read_lines, lambda p: read_bytes(p, SMALL), lambda p: read_text(p, SMALL)):
        with pytest.raises(InputFileError, match="longer than 1,000 bytes"):
            read(path)


def test_decompression_bombs_are_refused(tmp_path: Path) -> None:
    """A decompression bomb is refused early: of a gigabyte in a megabyte, less than 1% is unpacked."""
    path = tmp_path / "f"
    path.write_bytes(gzip.compress(b"a" * 900))
    with pytest.raises(InputFileError, match="unpacks to more than 20 times its size"):
        read_bytes(path, SMALL)
    path.write_bytes(gzip.compress(b"\0" * 2**25))
    with pytest.raises(InputFileError, match="unpacks to more than 400 times its size"):
        read_lines(path, ROWS)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9], lambda data: data[:20] + b"x" + data[21:], lambda data: data[:4]]
)
def test_damaged_archives_are_named(tmp_path: Path, damage: object) -> None:
    """A truncated or damaged compressed file is reported in one line."""
    path = tmp_path / "f"
    path.write_bytes(damage(gzip.compress(b"one\ntwo\n" * 5)))  # type: ignore[operator]
    with pytest.raises(InputFileError, match=r"f.*: cannot read"):
        read_lines(path)


@pytest.mark.parametrize("name", ["missing", "", "a\0b", "x" * 5000, "y" * 300])
def test_missing_files_are_named(tmp_path: Path, name: str) -> None:
    """A missing file, a folder, and impossible file names are named."""
    with pytest.raises(InputFileError, match="cannot read"):
        read_lines(str(tmp_path / name))


@pytest.mark.parametrize("path", [Path("https://example.com/plan.json"), "s3://bucket/plan.json"])
def test_a_url_is_no_file_of_this_host(path: Path | str) -> None:
    """The reason alone, 'No such file or directory', would not say that URLs are never read."""
    with pytest.raises(InputFileError) as caught:
        read_lines(path)
    assert caught.value.hint is not None
    assert "download it first" in caught.value.hint


def test_a_file_that_cannot_be_looked_up_is_named(tmp_path: Path) -> None:
    """Whether it exists is unknown, as in a folder of another user."""
    assert not exists(tmp_path / "a")
    with pytest.raises(InputFileError, match="cannot read: File name too long") as caught:
        exists(tmp_path / ("a" * 256), hint="take another")
    assert caught.value.hint == "take another"


def test_text_that_is_not_utf8_is_named_by_its_line(tmp_path: Path) -> None:
    """The error names the line of the first invalid byte."""
    path = tmp_path / "f"
    path.write_bytes(b"one\ntwo\nthr\xffee\n")
    with pytest.raises(InputFileError, match="f, line 3: not UTF-8 text"):
        read_text(path)


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash means standard input, compressed or not, and errors call it that."""
    for data in (b"one\ntwo\n", gzip.compress(b"one\ntwo\n")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert read_lines(STDIN) == [b"one\n", b"two\n"]
        assert not sys.stdin.closed
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x" * 101)))
    with pytest.raises(InputFileError, match="standard input, line 1: the line is longer"):
        read_lines(STDIN)


def test_a_pipe_without_a_writer_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Opening it would wait forever; a writer that has not written yet is waited for."""
    monkeypatch.setattr(input_files, "_WRITER_WAIT_S", 0.01)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputFileError, match="pipe: cannot read: no program writes to this pipe"):
        read_bytes(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # so that the writer can open it
    writer = os.open(pipe, os.O_WRONLY)
    os.close(reader)

    def write() -> None:
        os.write(writer, b"late")
        os.close(writer)

    later = threading.Timer(0.1, write)
    later.start()
    assert read_bytes(pipe) == b"late"


def test_standard_input_that_is_closed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that starts without standard input reports this."""
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputFileError, match="standard input: cannot read: it is closed"):
        read_lines(STDIN)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "f: is empty"),
        (b"{", "f, line 1: no good: invalid JSON: it ends too early"),
        (b'{"a":\n\n1,}', "f, line 3: no good: invalid JSON"),
        (b'{"a":{"b":[0,9223372036854775808]}}', r"f: a\.b\[1\]: an integer of more than 63 bits"),
        (b"-99999999999999999999", "f: an integer of more than 63 bits"),
        (b"1" * 5000, "f: no good: Integer value out of range"),
        (b"1e999", "f: no good: number out of range"),
        (b'{"a":' * 100_000, "f: no good: nested too deeply"),
        (b"[" * 100_000, "f: no good: nested too deeply"),
        (b'{"\xff":1}', "f: no good: not UTF-8 text"),
    ],
)
def test_invalid_json_gives_a_one_line_error(text: bytes, message: str) -> None:
    """Malformed, deeply nested or non-UTF-8 JSON, and huge numbers, raise only our own error."""
    with pytest.raises(InputFileError, match=message):
        decode_json(ANYTHING, text, "f", "no good")


def test_a_damaged_key_is_not_left_out() -> None:
    """A damaged key is refused even by a decoder that skips unknown keys without reading them."""
    decoder = msgspec.json.Decoder(LogDirRow)
    assert decode_json(decoder, b'{"path":"/d","\xc3\xbc":1}', "f", "no good").path == "/d"
    with pytest.raises(InputFileError, match="f, line 7: no good: not UTF-8 text"):
        decode_json(decoder, b'{"path":"/d","stat\xff":"offline"}', "f", "no good", line=7)


def test_long_digits_that_are_no_integer_are_read() -> None:
    """Long digits are accepted in a string and a float, and so is the largest allowed integer."""
    text = b'{"name":"99999999999999999999","rate":0.12345678901234567890,"most":9223372036854775807}'
    assert decode_json(ANYTHING, text, "f", "")["most"] == 2**63 - 1
