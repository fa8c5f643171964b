"""Files from records: bit for bit, whole or not at all, and never outside of the folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from kafkabal.errors import KafkabalError, NotAuthorizedError, OutputError, UsageError
from kafkabal.reader.restore_files import FolderRestore, RestoreResult
from kafkabal.reader.sample import Sample
from tests.unit.reader.conftest import packed_headers


def _record(path: str, value: bytes, *, whole: bytes | None = None, chunk: str | None = None, at_ms: int = 5) -> Sample:
    checksum = sha256(value if whole is None else whole).hexdigest().encode()
    headers: list[tuple[str, bytes | None]] = [("path", path.encode()), ("sha256", checksum)]
    if chunk is not None:
        headers.append(("chunk", chunk.encode()))
    return Sample(0, at_ms, at_ms, None, value, packed_headers(headers))


def test_files_and_pieces_come_back(tmp_path: Path) -> None:
    """A file of one record, one of three pieces that come in any order, and an empty one."""
    whole = b"abcdefgh"
    restored = FolderRestore(tmp_path).write_all(
        [
            _record("cat/3.bin", b"gh", whole=whole, chunk="3/3"),
            _record("cat/1.bin", b"one"),
            _record("cat/3.bin", b"abc", whole=whole, chunk="1/3", at_ms=3),
            _record("empty", b""),
            _record("cat/3.bin", b"def", whole=whole, chunk="2/3", at_ms=4),
        ]
    )
    assert (tmp_path / "cat/3.bin").read_bytes() == whole
    assert (tmp_path / "cat/1.bin").read_bytes() == b"one"
    assert (tmp_path / "empty").read_bytes() == b""
    assert (restored.written, restored.failures) == (3, [])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cat", "empty"]


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    """Files that are there already are recognised, whether whole or joined."""
    records = [_record("a", b"x"), _record("b", b"yz", chunk="1/1")]
    FolderRestore(tmp_path).write_all(records)
    restored = FolderRestore(tmp_path).write_all(records)
    assert (restored.written, restored.already_there) == (0, 2)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_latest_record_of_a_file_wins(tmp_path: Path, order: list[int]) -> None:
    """Of a file that was sent twice the later one stays, in whatever order they are read."""
    records = [_record("a", b"old", at_ms=1), _record("a", b"new", at_ms=2)]
    FolderRestore(tmp_path).write_all(records[i] for i in order)
    assert (tmp_path / "a").read_bytes() == b"new"


def test_paths_of_the_same_file_are_one_file(tmp_path: Path) -> None:
    """However a producer writes them; the later record wins in whatever order they are read."""
    records = [_record("d//a", b"new", at_ms=2), _record("./d/a", b"old", at_ms=1), _record("d/a/", b"old", at_ms=1)]
    restored = FolderRestore(tmp_path).write_all(records)
    assert (tmp_path / "d" / "a").read_bytes() == b"new"
    assert restored == RestoreResult(written=1, size_bytes=3)


def test_a_file_with_other_content_is_replaced(tmp_path: Path) -> None:
    """As of an earlier version; a file with the content of the topic is not written again."""
    (tmp_path / "a").write_bytes(b"old")
    restored = FolderRestore(tmp_path).write_all([_record("a", b"new")])
    assert (tmp_path / "a").read_bytes() == b"new"
    assert (restored.written, restored.already_there) == (1, 0)


def test_a_file_in_place_of_a_folder_is_named(tmp_path: Path) -> None:
    """The folder itself, which ends the run, or one of the folders of a file, which costs that file only."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError, match=r"file: cannot write: not a folder"):
        FolderRestore(tmp_path / "file")
    restored = FolderRestore(tmp_path).write_all([_record("file/a", b"x"), _record("b", b"y")])
    assert restored.failures == [("file/a", f"cannot write: {tmp_path}/file is not a folder")]
    assert (restored.written, (tmp_path / "b").read_bytes()) == (1, b"y")


def test_a_file_that_became_a_folder_costs_no_other_file(tmp_path: Path) -> None:
    """The topic has it as both; the one that comes second is named, whole or in pieces, and all others are restored."""
    (tmp_path / "x").mkdir()
    records = [
        _record("x/a/b", b"1"),
        _record("x", b"2"),
        _record("x/a", b"34", chunk="1/1"),
        _record("c", b"5"),
    ]
    restored = FolderRestore(tmp_path).write_all(records)
    assert restored.failures == [("x", "cannot write: is a folder"), ("x/a", "cannot write: is a folder")]
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()) == ["c", "x/a/b"]


def test_each_file_is_counted_once(tmp_path: Path) -> None:
    """However many versions and duplicates of it are in the topic, damaged ones included."""
    damaged = _record("a", b"changed", whole=b"new", at_ms=2)
    records = [_record("a", b"old", at_ms=1), damaged, _record("a", b"new", at_ms=2), _record("a", b"new", at_ms=3)]
    restored = FolderRestore(tmp_path).write_all(records)
    assert restored == RestoreResult(written=1, size_bytes=3)


def test_the_latest_record_without_a_checksum_wins(tmp_path: Path) -> None:
    """Other producers may send only the path."""
    headers = packed_headers([("path", b"a")])
    FolderRestore(tmp_path).write_all([Sample(0, at, at, None, b"%d" % at, headers) for at in (2, 1)])
    assert (tmp_path / "a").read_bytes() == b"2"


def test_pieces_of_equal_files_stay_apart(tmp_path: Path) -> None:
    """Two files of the same content, whose pieces come in turn."""
    pieces = [("a", b"ab", "1/2"), ("b", b"ab", "1/2"), ("a", b"cd", "2/2"), ("b", b"cd", "2/2")]
    restored = FolderRestore(tmp_path).write_all(_record(path, v, whole=b"abcd", chunk=n) for path, v, n in pieces)
    assert restored == RestoreResult(written=2, size_bytes=8)
    assert [(tmp_path / name).read_bytes() for name in "ab"] == [b"abcd"] * 2


@pytest.mark.parametrize("of_three", [3, 2])
def test_a_file_sent_in_chunks_of_two_sizes_comes_back(tmp_path: Path, of_three: int) -> None:
    """Pieces of one size are not joined with those of the other, even where one of them is missing."""
    three = [(b"ab", "1/3"), (b"cd", "2/3"), (b"ef", "3/3")][:of_three]
    pieces = [*three[:1], (b"abc", "1/2"), *three[1:], (b"def", "2/2")]
    restored = FolderRestore(tmp_path).write_all(_record("a", v, whole=b"abcdef", chunk=n) for v, n in pieces)
    assert restored == RestoreResult(written=1, size_bytes=6)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_an_interrupted_run_leaves_no_pieces(tmp_path: Path) -> None:
    """After Ctrl-C, the folder has the complete files only, and no pieces of others."""

    def interrupted() -> Iterator[Sample]:
        yield _record("a", b"x")
        yield _record("b", b"x", whole=b"xy", chunk="1/2")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        FolderRestore(tmp_path).write_all(interrupted())
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_several_topics_can_be_restored_to_a_folder_at_once(tmp_path: Path) -> None:
    """A run that begins or ends leaves the pieces of another alone."""

    def records(name: str, other: Iterable[Sample]) -> Iterator[Sample]:
        yield _record(name, b"x", whole=b"xy", chunk="1/2")
        FolderRestore(tmp_path).write_all(other)
        yield _record(name, b"y", whole=b"xy", chunk="2/2")

    restored = FolderRestore(tmp_path).write_all(records("a", records("b", [])))
    assert restored.failures == []
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"xy", "b": b"xy"}


def test_pieces_of_a_killed_run_are_removed(tmp_path: Path) -> None:
    """Its lock ended with it; none of its pieces is taken for one of this run."""
    left = tmp_path / ".kafkabal-pieces" / "0badcafe" / "1"
    left.mkdir(parents=True)
    (left / "1").write_bytes(b"half")
    FolderRestore(tmp_path).write_all([_record("a", b"x")])
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_damage_is_named(tmp_path: Path) -> None:
    """A value that is not what was sent, and a file of which a piece is missing, are failures; neither is written."""
    restored = FolderRestore(tmp_path).write_all(
        [_record("a", b"changed", whole=b"sent"), _record("b", b"x", whole=b"xy", chunk="1/2")]
    )
    assert restored.failures == [
        ("a", "its SHA-256 is not that of the file that was sent"),
        ("b", "1 of 2 pieces are in the topic"),
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["../etc/passwd", "/etc/passwd", "a/../../b", ""])
def test_no_path_leads_out_of_the_folder(tmp_path: Path, path: str) -> None:
    """Writers of the topic must not be able to write anywhere else."""
    with pytest.raises(UsageError, match="leads out of the folder"):
        FolderRestore(tmp_path / "in").write_all([_record(path, b"x")])


def test_no_file_is_among_the_pieces(tmp_path: Path) -> None:
    """A file in the folder of pieces would be taken for one, and removed with them."""
    with pytest.raises(UsageError, match=r"offset 5: \.kafkabal-pieces is reserved"):
        FolderRestore(tmp_path / "in").write_all([_record(".kafkabal-pieces/1", b"x")])


@pytest.mark.parametrize(
    ("checksum", "chunk"),
    [
        ("../../outside", "1/2"),
        ("/tmp/outside", "1/2"),
        ("", "1/2"),
        ("0" * 64, "../../outside/2"),
        ("0" * 64, "3/2"),
        ("0" * 64, "1/x"),
        ("\N{LATIN SMALL LETTER E WITH ACUTE}", None),
    ],
)
def test_no_header_leads_out_of_the_folder(tmp_path: Path, checksum: str, chunk: str | None) -> None:
    """Checksum and number of a piece name files too: what produce does not write is refused, and nothing is written."""
    headers: list[tuple[str, bytes | None]] = [("path", b"a"), ("sha256", checksum.encode())]
    headers += [("chunk", chunk.encode())] if chunk is not None else []
    sample = Sample(0, 7, 0, None, b"x", packed_headers(headers))
    with (
        pytest.raises(KafkabalError, match="partition 0, offset 7: malformed header"),
        FolderRestore(tmp_path / "in" / "folder") as restore,
    ):
        restore.write_all([sample])
    assert [path for path in tmp_path.rglob("*") if path.name != "in"] == []


@pytest.mark.parametrize(("path", "message"), [("a\0b", "NUL byte"), ("x" * 256, "path too long")])
def test_names_that_no_file_can_have_are_refused(tmp_path: Path, path: str, message: str) -> None:
    """With the place of the record, not with a fault of the operating system."""
    with pytest.raises(UsageError, match=rf"partition 0, offset 5: .*{message}"):
        FolderRestore(tmp_path).write_all([_record(path, b"x")])


@pytest.mark.parametrize("name", [b"x" * 255, b"\xff" * 255, b"new\nline", b"-dash", b"\x1b[31mred", b"trailing "])
def test_every_name_that_a_file_can_have_comes_back(tmp_path: Path, name: bytes) -> None:
    """Up to the longest, whatever its bytes."""
    checksum = sha256(b"x").hexdigest().encode()
    sample = Sample(0, 1, 1, None, b"x", packed_headers([("path", name), ("sha256", checksum)]))
    FolderRestore(tmp_path).write_all([sample])
    assert [os.fsencode(path.name) for path in tmp_path.iterdir()] == [name]


def test_no_empty_folder_is_left_behind(tmp_path: Path) -> None:
    """Where the topic is empty or may not be read no empty folder stays; one that was there before does."""

    def refused() -> Iterator[Sample]:
        raise NotAuthorizedError("no")
        yield

    (tmp_path / "old").mkdir()
    for name in ("old", "new"):
        with pytest.raises(NotAuthorizedError), FolderRestore(tmp_path / name) as restore:
            restore.write_all(refused())
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_rows_are_no_files(tmp_path: Path) -> None:
    """A record without a path is named with its place."""
    with pytest.raises(UsageError, match="partition 0, offset 7"):
        FolderRestore(tmp_path).write_all([Sample(0, 7, 0, None, b"row", b"\0")])


def test_records_that_are_no_files_are_left_out(tmp_path: Path) -> None:
    """All files of the topic are restored; what is not one is counted, and the first of them are named."""
    rows = [Sample(0, number, 0, None, b"row", b"\0") for number in range(30)]
    restored = FolderRestore(tmp_path).write_all([rows[0], _record("a", b"x"), _record("../b", b"y"), *rows[1:]])
    assert (restored.written, restored.failures, restored.refused_records) == (1, [], 31)
    assert len(restored.refusals) == 20
    assert [where for where, _ in restored.refusals[:3]] == [f"partition 0, offset {at}" for at in (0, 5, 1)]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_topic_of_rows_is_not_read_to_its_end(tmp_path: Path) -> None:
    """It may be large; a hundred records without a file are enough."""
    read = []

    def rows() -> Iterator[Sample]:
        for number in range(1000):
            read.append(number)
            yield Sample(0, number, 0, None, b"row", b"\0")

    with pytest.raises(UsageError, match="partition 0, offset 0: a record without a path"):
        FolderRestore(tmp_path).write_all(rows())
    assert len(read) == 100
