"""Files are written completely or not at all."""

import errno
import os
import stat
import threading
import time
from pathlib import Path

import pytest

from kafkabal import atomic_files
from kafkabal.atomic_files import check_replaceable, replacing, write_new
from kafkabal.errors import ExitCode, OutputError


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """The old content stays during a write; afterwards the new content is there, and no other file."""
    target = tmp_path / "f"
    target.write_text("old")
    with replacing(target) as file:
        file.write(b"new")
        file.flush()
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize(
    "name", ["x" * 255, "\N{GRINNING FACE}" * 63, "\udcff" * 255], ids=["ascii", "four bytes each", "not UTF-8"]
)
def test_the_longest_names_can_be_written(tmp_path: Path, name: str) -> None:
    """The temporary file's name fits too, even if it is cut within a character, or is not UTF-8."""
    with replacing(tmp_path / name) as file:
        file.write(b"new")
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_while_writing_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    """Neither a partial nor a temporary file is left, and the error is raised unchanged."""
    target = tmp_path / "f"
    target.write_text("old")

    def write() -> None:
        with replacing(target) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        write()
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed write to disk is noticed before the old file is replaced."""
    target = tmp_path / "f"
    target.write_text("old")

    def no_room(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_room)
    with (
        pytest.raises(OutputError, match=r"f: cannot write: No space left on device") as error,
        replacing(target) as file,
    ):
        file.write(b"new")
    assert error.value.exit_code is ExitCode.FAILED
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_device_that_is_full_is_an_error_with_a_reason() -> None:
    """A full device is reported like any other file that cannot be written."""
    with (
        pytest.raises(OutputError, match="/dev/full: cannot write: No space left"),
        replacing("/dev/full") as file,
    ):
        file.write(b"new")


@pytest.mark.parametrize("path", ["nowhere/f", "f/below"])
def test_a_place_that_does_not_exist_is_an_error_with_a_reason(tmp_path: Path, path: str) -> None:
    """A missing folder, and a file in place of a folder, are named."""
    (tmp_path / "f").write_text("old")
    with pytest.raises(OutputError, match="cannot write"), replacing(tmp_path / path):
        pass


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """The target of a link is replaced, and the link stays."""
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_permissions_are_kept_and_new_files_follow_the_umask(tmp_path: Path) -> None:
    """A private file stays private, and a new one has the permissions of the umask."""
    private = tmp_path / "private"
    private.touch(0o600)
    mask = os.umask(0o027)
    try:
        for name in ("private", "new"):
            with replacing(tmp_path / name) as file:
                file.write(b"new")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_pipe_is_written_to_as_it_is(tmp_path: Path) -> None:
    """A pipe is not replaced by a file; its reader gets the bytes."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with replacing(pipe) as file:
        file.write(b"new")
    reader.join(10)
    assert read == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_pipe_without_a_reader_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Opening it would wait forever; one who opens it a moment later gets the bytes."""
    monkeypatch.setattr(atomic_files, "_READER_WAIT_S", 0.01)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with (
        pytest.raises(OutputError, match="pipe: cannot write: no program reads from this pipe"),
        replacing(pipe) as file,
    ):
        file.write(b"lost")
    monkeypatch.setattr(atomic_files, "_READER_WAIT_S", 10.0)
    read: list[bytes] = []
    reader = threading.Timer(0.1, lambda: read.append(pipe.read_bytes()))
    reader.start()
    with replacing(pipe) as file:
        file.write(b"late")
    reader.join(10)
    assert read == [b"late"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no/f", "no such folder"),
        ("no/../f", "no such folder"),
        (".", "is a folder"),
        ("f/g", "no such folder"),
        ("loop", "levels of symbolic links"),
    ],
)
def test_unwritable_paths_are_detected_in_advance(tmp_path: Path, name: str, message: str) -> None:
    """The check refuses the paths that writing would refuse, and writes nothing."""
    (tmp_path / "f").write_text("old")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OutputError, match=message):
        check_replaceable(tmp_path / name)
    with pytest.raises(OutputError), replacing(tmp_path / name):
        pass
    assert sorted(p.name for p in tmp_path.iterdir()) == ["f", "loop"]


def test_the_check_leaves_writable_paths_unchanged(tmp_path: Path) -> None:
    """A new file, an existing one, a dangling link and a device pass the check."""
    (tmp_path / "old").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "new")
    for path in (tmp_path / "old", tmp_path / "new", tmp_path / "link", Path(os.devnull)):
        assert check_replaceable(path) == path
    assert (tmp_path / "old").read_text() == "old"
    assert not (tmp_path / "new").exists()


def _refuse_links(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def link(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", link)


@pytest.mark.parametrize("number", [None, errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_one_of_many_writers_creates_a_file(
    number: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without hard links, too, as on s3fs and CIFS: what the first one wrote stays, and is never seen in part."""
    if number is not None:
        _refuse_links(monkeypatch, number)
    target, created, seen, begin = tmp_path / "f", [], [], threading.Barrier(9)

    def write(content: bytes) -> None:
        begin.wait()
        try:
            write_new(target, content)
            created.append(content)
        except FileExistsError:
            seen.append(target.read_bytes())

    def look() -> None:
        begin.wait()
        while not target.exists():
            time.sleep(0)
        seen.append(target.read_bytes())

    contents = [bytes([digit]) * 1_000_000 for digit in range(8)]
    threads = [threading.Thread(target=write, args=(content,)) for content in contents]
    threads.append(threading.Thread(target=look))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(created) == 1
    assert seen == [created[0]] * 8
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_a_claim_of_a_stopped_writer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only without hard links: the next writer waits for a while, then says what to remove, and writes nothing."""
    _refuse_links(monkeypatch, errno.EOPNOTSUPP)
    monkeypatch.setattr(atomic_files, "_CLAIM_S", 0.1)
    (tmp_path / ".f.creating").touch()
    with pytest.raises(OutputError, match="f: cannot write: another program has claimed it for 0 s") as caught:
        write_new(tmp_path / "f", b"new")
    assert caught.value.hint == f"remove {tmp_path / '.f.creating'} unless that program still runs"
    assert [p.name for p in tmp_path.iterdir()] == [".f.creating"]


def test_a_link_that_fails_for_another_reason_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk has nothing to do with hard links."""
    _refuse_links(monkeypatch, errno.ENOSPC)
    with pytest.raises(OutputError, match="f: cannot write: No space left on device"):
        write_new(tmp_path / "f", b"new")
    assert not list(tmp_path.iterdir())
