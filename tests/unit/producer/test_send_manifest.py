"""The manifest: what it keeps between runs, torn lines, and manifests of something else."""

from __future__ import annotations

import resource
import signal
from pathlib import Path

import msgspec
import pytest

from kafkabal.errors import BusyError, InputFileError, OutputError
from kafkabal.producer.send_manifest import ManifestHeader, SendManifest, lacks_recorded_options
from kafkabal.sources.source_protocol import Part

HEADER = ManifestHeader(
    id="ab12", cluster_id="c", topic="t", topic_id="T1", source="folder /data", offsets={0: 5, 1: 0}
)
PARTS = [Part(name="a", size_bytes=3, mtime_ns=1, records=1), Part(name="b", size_bytes=9, mtime_ns=2, records=2)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Path of a manifest that was used once."""
    path = tmp_path / "state" / "manifest.jsonl"
    with SendManifest.open(path, HEADER) as manifest:
        manifest.mark_running()
        manifest.add_parts(PARTS)
        manifest.checkpoint(1, {0: 6, 1: 0})
        manifest.void_parts([1])
    return path


def test_everything_is_there_in_the_next_run(path: Path) -> None:
    """The next run reads files, progress, what was given up, and that the run did not end cleanly."""
    with SendManifest.open(path, msgspec.structs.replace(HEADER, id="another", offsets={})) as manifest:
        assert manifest.header == HEADER
        assert manifest.parts == PARTS
        assert (manifest.through, manifest.offsets) == (1, {0: 6, 1: 0})
        assert manifest.void == {1}
        assert not manifest.is_clean
        manifest.mark_clean()
    with SendManifest.open(path, HEADER) as manifest:
        assert manifest.is_clean


def test_a_checkpoint_that_failed_is_written_by_the_next(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint that a full disk or a signal prevented is not taken for written."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with SendManifest.open(path, HEADER) as manifest:
        with monkeypatch.context() as patched:
            patched.setattr(manifest, "_append", interrupted)
            with pytest.raises(KeyboardInterrupt):
                manifest.checkpoint(3, {0: 7})
        manifest.checkpoint(3, {0: 7})
    with SendManifest.open(path, HEADER) as manifest:
        assert (manifest.through, manifest.offsets) == (3, {0: 7, 1: 0})


def test_a_checksum_is_written_once(path: Path) -> None:
    """All chunks of a file have its checksum, so that every checkpoint amid them would repeat it."""
    with SendManifest.open(path, HEADER) as manifest:
        for through in (1, 2, 3):
            manifest.checkpoint(through, {0: 5 + through}, {0: "9f"})
    assert path.read_text().count('"9f"') == 1
    with SendManifest.open(path, HEADER) as manifest:
        assert (manifest.through, manifest.checksums) == (3, {0: "9f"})


@pytest.mark.parametrize("room_bytes", [0, 1, 30])
def test_a_full_disk_is_reported_once_and_leaves_no_torn_manifest(tmp_path: Path, room_bytes: int) -> None:
    """A manifest on a full disk is reported once, with the error of the write, and can be reused once there is room."""
    path = tmp_path / "m"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room_bytes, limits[1]))
    try:
        with pytest.raises(OutputError, match=f"{path}: cannot write the manifest: File too large"):
            SendManifest.open(path, HEADER)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert path.stat().st_size == room_bytes
    with SendManifest.open(path, HEADER) as manifest:
        manifest.checkpoint(1, {0: 6})
    with SendManifest.open(path, HEADER) as manifest:
        assert (manifest.header, manifest.through) == (HEADER, 1)


def test_another_file_is_not_overwritten(tmp_path: Path) -> None:
    """A file that is not a manifest, even one line without an end, is refused and stays unchanged."""
    path = tmp_path / "notes.txt"
    for text in ('{"kafka"}', "x", '{"kafkabal_manifesto":'):
        path.write_text(text)
        with pytest.raises(InputFileError, match="not a manifest"):
            SendManifest.open(path, HEADER)
        assert path.read_text() == text


def test_a_new_manifest_starts_from_its_header(tmp_path: Path) -> None:
    """A new manifest has no records done, and its records can only follow the topic's end offsets."""
    with SendManifest.open(tmp_path / "m", HEADER) as manifest:
        assert (manifest.through, manifest.offsets, manifest.parts) == (0, {0: 5, 1: 0}, [])
        assert manifest.is_clean


def test_a_torn_last_line_is_cut_off(path: Path) -> None:
    """A line that a crash left unfinished is dropped, and the next run writes after the last complete line."""
    with path.open("ab") as file:
        file.write(b'{"through":2,"off')
    with SendManifest.open(path, HEADER) as manifest:
        assert manifest.through == 1
        manifest.checkpoint(2, {0: 7})
    with SendManifest.open(path, HEADER) as manifest:
        assert (manifest.through, manifest.offsets) == (2, {0: 7, 1: 0})


def test_a_checkpoint_without_news_writes_nothing(path: Path) -> None:
    """A checkpoint without progress does not grow the manifest."""
    with SendManifest.open(path, HEADER) as manifest:
        size = path.stat().st_size
        manifest.checkpoint(1, {0: 6, 1: 0})
        assert path.stat().st_size == size


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topic": "u"}, "manifest of topic t of cluster c"),
        ({"cluster_id": "d"}, "manifest of topic t of cluster c"),
        ({"topic_id": "T2"}, "manifest of an earlier topic t that has been deleted since"),
        ({"source": "folder /other"}, "manifest of another source: folder /data, not folder /other"),
    ],
)
def test_a_manifest_of_something_else_is_refused(path: Path, change: dict[str, str], message: str) -> None:
    """Another cluster, topic, topic id or source is refused, and the hint says what to do."""
    with pytest.raises(InputFileError, match=message) as caught:
        SendManifest.open(path, msgspec.structs.replace(HEADER, **change))
    assert "--manifest" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("begun", "now", "message"),
    [
        ({}, {"--value": "v"}, "manifest of other options: no --value, not --value v"),
        ({"--key": "path"}, {"--key": "label"}, "manifest of other options: --key path, not --key label"),
        ({"--key": "k", "--value": "v"}, {"--key": "k"}, "manifest of other options: --value v, not no --value"),
        ({"--format": "text"}, {"--key": "k"}, "--format text and no --key, not no --format and --key k"),
    ],
)
def test_a_manifest_of_other_records_is_refused(
    tmp_path: Path, begun: dict[str, str], now: dict[str, str], message: str
) -> None:
    """The same source split in another way is refused, and the options that differ are named."""
    path = tmp_path / "m"
    SendManifest.open(path, msgspec.structs.replace(HEADER, options=begun)).close()
    with pytest.raises(InputFileError, match=message):
        SendManifest.open(path, msgspec.structs.replace(HEADER, options=now))
    SendManifest.open(path, msgspec.structs.replace(HEADER, options=begun)).close()


def test_a_manifest_without_options_can_be_resumed(tmp_path: Path) -> None:
    """A manifest that predates stored options is accepted if named explicitly, with the options of the run."""
    path = tmp_path / "m"
    header = {"kafkabal_manifest": 1, "id": "ab12", "cluster_id": "c", "topic": "t", "topic_id": "T1"}
    path.write_bytes(msgspec.json.encode({**header, "source": "folder /data", "offsets": {"0": 5}}) + b"\n")
    assert lacks_recorded_options(path)
    with SendManifest.open(path, msgspec.structs.replace(HEADER, options={"--key": "label"})) as manifest:
        assert manifest.header.id == "ab12"
    assert not lacks_recorded_options(tmp_path / "none")
    SendManifest.open(tmp_path / "new", msgspec.structs.replace(HEADER, options={})).close()
    assert not lacks_recorded_options(tmp_path / "new")


@pytest.mark.parametrize("content", [b"an image\xff", b"{}\n", b'{"kafkabal_snapshot":1}\n'])
def test_a_file_that_is_not_a_manifest_is_not_overwritten(tmp_path: Path, content: bytes) -> None:
    """A wrong file given as manifest is refused and not changed by a byte."""
    path = tmp_path / "photo.jpg"
    path.write_bytes(content)
    with pytest.raises(InputFileError, match="not a manifest of kafkabal produce"):
        SendManifest.open(path, HEADER)
    assert path.read_bytes() == content


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    """A manifest written by a later version is refused."""
    path = tmp_path / "m"
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(HEADER, kafkabal_manifest=2)) + b"\n")
    with pytest.raises(InputFileError, match="manifest version 2 is not supported"):
        SendManifest.open(path, HEADER)


def test_damage_in_the_middle_is_named(path: Path) -> None:
    """An unreadable line is refused with its number, since the lines after it cannot be trusted."""
    path.write_bytes(path.read_bytes().replace(b'"through":1', b'"through":x'))
    with pytest.raises(InputFileError, match="line 5: is damaged"):
        SendManifest.open(path, HEADER)


def test_two_runs_at_once_are_refused(path: Path) -> None:
    """A second run is refused while the first has the manifest open."""
    with SendManifest.open(path, HEADER), pytest.raises(BusyError, match="manifest in use by another process"):
        SendManifest.open(path, HEADER)


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """A file in place of the folder is an output error, not a traceback."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError, match="cannot write"):
        SendManifest.open(tmp_path / "file" / "m", HEADER)


def test_a_checkpoint_writes_the_offsets_that_changed(tmp_path: Path) -> None:
    """One of 1000 partitions: all of them, every second, would fill the disk. The next run has all of them."""
    path, offsets = tmp_path / "m", dict.fromkeys(range(1000), 5)
    header = msgspec.structs.replace(HEADER, offsets=offsets)
    with SendManifest.open(path, header) as manifest:
        for through in (1, 2):
            before = path.stat().st_size
            manifest.checkpoint(through, {**offsets, 7: 5 + through})
            assert path.stat().st_size - before < 50
    with SendManifest.open(path, header) as manifest:
        assert (manifest.through, manifest.offsets) == (2, {**offsets, 7: 7})
