"""Runs over a source send every record once, despite repeated runs, crashes, changes and failures."""

from __future__ import annotations

import io
import itertools
import os
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafkabal.errors import (
    InputFileError,
    KafkabalError,
    NotAuthorizedError,
    OperationError,
    UnreachableError,
    UnsafeError,
    UsageError,
)
from kafkabal.producer import send_window
from kafkabal.producer.expected_bytes import ExpectedBytes
from kafkabal.producer.progress_listener import DeliveryProgress
from kafkabal.producer.record_names import RECORD_HEADER, NameHeaders, found_records, record_names
from kafkabal.producer.record_sender import RecordSender
from kafkabal.producer.record_size_check import check_sizes
from kafkabal.producer.same_topic_check import same_topic_check
from kafkabal.producer.send_manifest import ManifestHeader, SendManifest
from kafkabal.producer.send_source import SendRun
from kafkabal.producer.sent_record_reader import SentRecordReader
from kafkabal.producer.unsent_records import SendOutcome, has_other_rows
from kafkabal.routing.plugin_policy import PolicyFaultError
from kafkabal.routing.policies.random import Random
from kafkabal.routing.policy_protocol import Context
from kafkabal.routing.registry import PolicyChoice, load_policy
from kafkabal.sources.folder_source import FolderSource
from kafkabal.sources.row_formats import RowFormat
from kafkabal.sources.row_source import RowSource
from kafkabal.sources.source_protocol import Block, RecordsToSend, Source
from kafkabal.sources.transform import Transform
from tests.unit.producer.conftest import MockCluster, send
from tests.unit.sources.records_of import records_of

TOPIC = "images"


def one_by_one(blocks: Iterable[Block]) -> Iterator[Block]:
    """Blocks of one record each."""
    for block in blocks:
        for number, value in zip(block.numbers, block.values, strict=True):
            yield Block(numbers=[number], values=[value], sizes=[len(value)], name_of=str)


class NotedBytes(ExpectedBytes):
    """Keeps what a policy would see with the next record."""

    def __init__(self, source_bytes: int) -> None:
        super().__init__(source_bytes)
        self.seen: list[float] = []
        self.sent_bytes = 0

    def add(self, read_bytes: int, sent_bytes: int, *, skipped_bytes: int) -> None:
        """Look before any record of the block is sent."""
        super().add(read_bytes, sent_bytes, skipped_bytes=skipped_bytes)
        self.seen.append(self.in_all())
        self.sent_bytes += sent_bytes


class CrashError(Exception):
    """The process dies."""


class Bench:
    """A topic, and a manifest that several runs share."""

    def __init__(self, cluster: MockCluster, folder: Path) -> None:
        self.cluster = cluster
        self.manifest_path = folder / "state" / "manifest.jsonl"
        # without idempotence no producer id has to be requested, which takes half a second
        self.producer_settings: dict[str, Any] = {"enable.idempotence": False}

    def run(self, source: Source, **extra: Any) -> SendOutcome:
        """Run once, as the command does."""
        with self.open_manifest(source) as manifest:
            found = {} if manifest.is_clean else self.read_back(manifest)
            with self.producer() as producer:
                return SendRun(producer, source, manifest, found=found, clock=monotonic, **extra).send(source.listing())

    def open_manifest(self, source: Source) -> SendManifest:
        """Create the manifest, or resume from it."""
        header = ManifestHeader(id="cafe", cluster_id="mock", topic=TOPIC, topic_id="T", source=source.name, offsets={})
        return SendManifest.open(self.manifest_path, header)

    def read_back(self, manifest: SendManifest) -> dict[int, int]:
        """Records that are in the topic although the manifest does not list them."""
        reader = SentRecordReader(self.cluster.client, TOPIC)
        return found_records(manifest, reader.messages_since(manifest.offsets))

    def producer(self) -> RecordSender:
        """A producer that picks the partitions in turn."""
        policy = load_policy("round-robin").create(Context())
        return RecordSender(self.cluster, TOPIC, policy, {**self.cluster.client, **self.producer_settings})

    def topic(self) -> Counter[bytes]:
        """All values in the topic, and how often each occurs."""
        reader = SentRecordReader(self.cluster.client, TOPIC)
        return Counter(message.value() or b"" for message in reader.messages_since({}))


@pytest.fixture
def bench(mock_cluster: MockCluster, tmp_path: Path) -> Bench:
    """A topic without records."""
    return Bench(mock_cluster, tmp_path)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Twenty files with different content."""
    folder = tmp_path / "data"
    for i in range(20):
        (folder / f"label{i % 3}").mkdir(parents=True, exist_ok=True)
        (folder / f"label{i % 3}" / f"{i:02}.bin").write_bytes(b"content %d" % i)
    return folder


CONTENT = Counter({b"content %d" % i: 1 for i in range(20)})


def test_a_run_reports_the_partitions_that_acknowledge_nothing(bench: Bench, data: Path) -> None:
    """Records that linger for a second, by a clock that is faster, are reported while they wait, and are sent after
    all."""
    bench.producer_settings["linger.ms"] = 1000
    stalled: list[set[int]] = []
    seconds = itertools.count()
    with bench.open_manifest(FolderSource(data)) as manifest, bench.producer() as producer:
        run = SendRun(
            producer,
            FolderSource(data),
            manifest,
            clock=lambda: float(next(seconds)),
            stalled=lambda partitions: stalled.append(set(partitions)),
        )
        assert run.send(FolderSource(data).listing()).sent == 20

    assert stalled[0] == set(range(producer.view.n_partitions))


def test_a_folder_is_sent_once_however_often_the_run_is_repeated(bench: Bench, data: Path) -> None:
    """A second run skips everything that is in the topic, and sends only files added since."""
    first = bench.run(FolderSource(data))
    assert (first.sent, first.already_there, first.failures) == (20, 0, [])
    assert bench.topic() == CONTENT
    (data / "label0" / "zz.bin").write_bytes(b"new")
    (data / "aa.bin").write_bytes(b"newer")
    second = bench.run(FolderSource(data))
    assert (second.sent, second.already_there) == (2, 20)
    assert bench.topic() == CONTENT + Counter({b"new": 1, b"newer": 1})


@pytest.mark.parametrize("has_rows", [False, True])
def test_a_resumed_run_expects_only_what_is_left(bench: Bench, data: Path, tmp_path: Path, *, has_rows: bool) -> None:
    """The policy learns it with the first record, so that the last slots of a resumed run are short, too."""
    events = tmp_path / "events.jsonl"
    events.write_bytes(b"".join(b'{"n":%03d}\n' % n for n in range(500)))
    source = RowSource(events) if has_rows else FolderSource(data)
    bench.run(source)
    if has_rows:
        events.write_bytes(events.read_bytes() + b"".join(b'{"n":%03d}\n' % n for n in range(500, 510)))
    else:
        for n in range(10):
            (data / f"new{n}").write_bytes(bytes(9))

    expected = NotedBytes(source.listing().size_bytes)
    assert bench.run(source, expected=expected).sent == 10
    assert expected.sent_bytes > 0
    assert {round(in_all) for in_all in expected.seen} == {expected.sent_bytes}


def test_records_that_the_client_took_are_freed(bench: Bench, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has copied them: what is in flight is not held twice."""
    source, seen = FolderSource(data), list[Block]()
    blocks_of = source.blocks

    def noted(to_send: Iterable[RecordsToSend]) -> Iterator[Block]:
        for block in blocks_of(to_send):
            seen.append(block)
            yield block

    monkeypatch.setattr(source, "blocks", noted)
    assert bench.run(source).sent == 20
    assert [(len(block), block.values) for block in seen] == [(20, [])]


def test_slow_brokers_are_waited_for(bench: Bench, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more in flight than the window allows, nothing is queued until some of it is acknowledged."""
    monkeypatch.setattr(send_window, "_LEAST_BYTES", 0)
    for number in range(200):
        (data / f"{number}.bin").write_bytes(b"content of %d" % number)
    source = FolderSource(data)
    bench.producer_settings["linger.ms"] = 100
    in_flight: list[int] = []
    with bench.open_manifest(source) as manifest, bench.producer() as producer:
        produce_many = producer.produce_many

        def count(*given: Any, **named: Any) -> None:
            in_flight.append(producer.deliveries.in_flight)
            produce_many(*given, **named)

        monkeypatch.setattr(producer, "produce_many", count)
        SendRun(producer, source, manifest, clock=monotonic).send(source.listing())
    assert len(in_flight) > 2
    assert in_flight[:2] == [0, 0]


def test_bytes_are_reported_by_partition(bench: Bench, data: Path) -> None:
    """The outcome states how many bytes of values each partition received."""
    outcome = bench.run(FolderSource(data))
    assert sum(outcome.bytes_by_partition.values()) == sum(len(value) for value in CONTENT)
    assert set(outcome.bytes_by_partition) == {0, 1, 2, 3}


@pytest.mark.parametrize("survived", [0, 1, 7, 19, 20])
def test_after_a_crash_no_record_is_there_twice(bench: Bench, data: Path, survived: int) -> None:
    """After a crash with records in flight that the manifest does not list, the next run sends only the rest."""
    source = FolderSource(data)
    with bench.open_manifest(source) as manifest, bench.producer() as producer:
        manifest.mark_running()
        parts = source.listing().parts
        manifest.add_parts(parts)
        for number, part in enumerate(parts[:survived]):
            (record,) = records_of(source, part)
            send(producer, record.value, headers=[("kafkabal-record", f"cafe/{number}".encode())])
    outcome = bench.run(source)
    assert (outcome.sent, outcome.already_there) == (20 - survived, survived)
    assert bench.topic() == CONTENT


def test_an_interrupted_run_does_not_wait_for_its_queue(bench: Bench, data: Path) -> None:
    """Ctrl-C while no broker responds drops the queued records; the next run sends each of them once."""

    class Interrupted(FolderSource):
        def blocks(self, to_send: Any) -> Any:
            for each in to_send:
                if each.part.name.endswith("19.bin"):
                    raise KeyboardInterrupt
                yield from super().blocks([each])

    bench.producer_settings["bootstrap.servers"] = "127.0.0.1:1"
    source = Interrupted(data)
    with bench.open_manifest(source) as manifest:
        with pytest.raises(KeyboardInterrupt), bench.producer() as producer:
            SendRun(producer, source, manifest, clock=monotonic).send(source.listing())
        assert (producer.deliveries.acknowledged, producer.deliveries.in_flight) == (0, 0)
        assert not manifest.is_clean
    del bench.producer_settings["bootstrap.servers"]
    assert bench.run(FolderSource(data)).sent == 20
    assert bench.topic() == CONTENT


def rows_with_a_gap(bench: Bench, folder: Path, number: int = 100) -> RowSource:
    """Rows of a run that was killed with four of them in the topic, the last one behind a gap."""
    (folder / "a.jsonl").write_bytes(b"".join(b'{"row":%d}\n' % i for i in range(number)))
    source = RowSource(folder / "a.jsonl")
    with bench.open_manifest(source) as manifest, bench.producer() as producer:
        manifest.mark_running()
        manifest.add_parts(source.listing().parts)
        for row in (0, 1, 2, 50):
            send(producer, b'{"row":%d}' % row, headers=[("kafkabal-record", f"cafe/{row}".encode())])
    return source


ROWS = Counter({b'{"row":%d}' % i: 1 for i in range(100)})


def test_a_run_that_is_refused_forgets_nothing_of_what_it_found(bench: Bench, tmp_path: Path) -> None:
    """Records found behind a gap are not sent again, even if the run that found them stops at a changed file."""
    source = rows_with_a_gap(bench, tmp_path)
    content, stat = (tmp_path / "a.jsonl").read_bytes(), (tmp_path / "a.jsonl").stat()
    (tmp_path / "a.jsonl").write_bytes(content.replace(b":50}", b":99}"))
    with pytest.raises(InputFileError, match="line 51: is not the row that was sent before"):
        bench.run(source)
    (tmp_path / "a.jsonl").write_bytes(content)
    os.utime(tmp_path / "a.jsonl", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert bench.run(source).sent == 96
    assert bench.topic() == ROWS


@pytest.mark.parametrize("row", [3, 30, 70])
def test_ctrl_c_after_a_crash_forgets_nothing_of_what_was_found(bench: Bench, tmp_path: Path, row: int) -> None:
    """A run that resumes after a crash and is interrupted itself causes no duplicate later."""
    source = rows_with_a_gap(bench, tmp_path)

    class Interrupted(RowSource):
        def blocks(self, to_send: Any) -> Any:
            for block in one_by_one(super().blocks(to_send)):
                if block.numbers[0] == row:
                    raise KeyboardInterrupt
                yield block

    with pytest.raises(KeyboardInterrupt):
        bench.run(Interrupted(tmp_path / "a.jsonl"))
    bench.run(source)
    assert bench.topic() == ROWS


def test_a_run_that_ended_in_order_is_not_read_back(bench: Bench, data: Path) -> None:
    """A run that ends cleanly marks its manifest so, and the next run starts without reading back."""
    bench.run(FolderSource(data))
    with bench.open_manifest(FolderSource(data)) as manifest:
        assert manifest.is_clean


def test_a_crash_between_any_two_files_is_survived(bench: Bench, data: Path) -> None:
    """Runs that crash in one file after the other still send each file exactly once in the end."""

    class Dying(FolderSource):
        left = 5

        def blocks(self, to_send: Any) -> Any:
            for each in to_send:
                if not Dying.left:
                    raise CrashError
                Dying.left -= 1
                yield from super().blocks([each])

    for _ in range(10):
        Dying.left = 5
        try:
            bench.run(Dying(data))
        except CrashError:
            continue
        break
    assert bench.topic() == CONTENT


def test_records_of_others_do_not_confuse_a_run(bench: Bench, data: Path) -> None:
    """Records with another manifest's name, or with an undecodable header, are not counted as our own."""
    with bench.producer() as producer:
        send(producer, b"a", headers=[("kafkabal-record", b"beef/0")])
        send(producer, b"b", headers=[("kafkabal-record", b"\xff"), ("kafkabal-record", None)], size_bytes=50)
        send(producer, b"c")
    assert bench.run(FolderSource(data)).sent == 20


def test_chunks_are_resumed_within_a_file(bench: Bench, tmp_path: Path) -> None:
    """If some chunks of a file are in the topic, the next run sends only the others."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "big").write_bytes(bytes(range(100)))
    source = FolderSource(tmp_path / "data", chunk_bytes=10)
    with bench.open_manifest(source) as manifest, bench.producer() as producer:
        manifest.mark_running()
        (part,) = source.listing().parts
        manifest.add_parts([part])
        for number, record in enumerate(records_of(source, part)):
            if number in (0, 1, 5):
                send(producer, record.value, headers=[("kafkabal-record", f"cafe/{number}".encode())])
    assert bench.run(source).sent == 7
    assert bench.topic() == Counter({bytes(range(i, i + 10)): 1 for i in range(0, 100, 10)})


def test_a_file_that_is_touched_within_its_chunks_is_resumed(bench: Bench, tmp_path: Path) -> None:
    """Its checksum shows that the chunks in the topic are still those of the file; none of them is sent twice."""
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "big"
    chunk_bytes = 600_000
    content = [bytes([n]) * chunk_bytes for n in range(4)]
    path.write_bytes(b"".join(content))
    source = FolderSource(tmp_path / "data", chunk_bytes=chunk_bytes)

    class Dying(FolderSource):
        def blocks(self, to_send: Iterable[RecordsToSend]) -> Generator[Block, None, None]:
            yield from itertools.islice(super().blocks(to_send), 2)
            raise InputFileError("power", "gone")

    with pytest.raises(InputFileError):
        bench.run(Dying(tmp_path / "data", chunk_bytes=chunk_bytes))
    os.utime(path, ns=(1, 1))
    second = bench.run(source)
    assert (second.sent, second.already_there, second.is_complete) == (2, 2, True)
    assert bench.topic() == Counter(content)
    assert bench.run(source).sent == 0


def test_a_file_that_fails_does_not_stop_the_others(bench: Bench, data: Path) -> None:
    """A file that changes while it is sent is named and skipped; the next run sends its new content."""
    source = FolderSource(data)
    victim = data / "label1" / "04.bin"

    class Touching(FolderSource):
        def blocks(self, to_send: Any) -> Any:
            victim.write_bytes(b"content 4, changed")
            yield from super().blocks(to_send)

    outcome = bench.run(Touching(data))
    assert outcome.failures == [("label1/04.bin", "changed while it was being sent")]
    assert outcome.sent == 19
    again = bench.run(source)
    assert (again.sent, again.failures) == (1, [])
    assert bench.topic() == CONTENT - Counter([b"content 4"]) + Counter([b"content 4, changed"])


def test_a_file_that_changed_after_it_was_sent_is_reported_and_not_sent_again(bench: Bench, data: Path) -> None:
    """The topic keeps the older content of a file that changed after it was sent; the outcome names the file."""
    bench.run(FolderSource(data))
    (data / "label1" / "04.bin").write_bytes(b"changed")
    outcome = bench.run(FolderSource(data))
    assert (outcome.sent, outcome.changed) == (0, ["label1/04.bin"])
    assert bench.topic() == CONTENT


def test_a_file_that_vanished_before_it_was_sent_is_expired(bench: Bench, data: Path) -> None:
    """A file of an interrupted run that has vanished does not stop the next run."""
    source = FolderSource(data)
    with bench.open_manifest(source) as manifest:
        manifest.add_parts(source.listing().parts)
    (data / "label0" / "00.bin").unlink()
    assert bench.run(source).sent == 19
    assert bench.run(source).sent == 0


def test_rows_resume_where_they_stopped(bench: Bench, tmp_path: Path) -> None:
    """A file of rows is sent once; if some rows are in the topic, only the others are sent."""
    source = rows_with_a_gap(bench, tmp_path, 300)
    assert bench.run(source).sent == 296
    assert bench.run(source).sent == 0
    assert bench.topic() == Counter({b'{"row":%d}' % i: 1 for i in range(300)})


def test_rows_of_a_changed_file_are_refused(bench: Bench, tmp_path: Path) -> None:
    """Rows are identified by their number, so a changed file cannot resume from its manifest."""
    (tmp_path / "a.txt").write_bytes(b"a\nb\n")
    bench.run(RowSource(tmp_path / "a.txt"))
    (tmp_path / "a.txt").write_bytes(b"x\na\nb\n")
    with pytest.raises(InputFileError, match="differs from the 2 rows sent before"):
        bench.run(RowSource(tmp_path / "a.txt"))
    assert bench.topic() == Counter([b"a", b"b"])


def test_a_record_that_is_given_up_stops_the_run(bench: Bench, data: Path) -> None:
    """The error states the reason, how much was sent, and that the same command resumes, which it does."""
    silent = {"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 100, "log_level": 0}
    bench.producer_settings |= silent
    with pytest.raises(OperationError, match=r"not acknowledged within .*; 0 records sent by this run") as caught:
        bench.run(FolderSource(data))
    assert "run the same command again" in (caught.value.hint or "")
    for name in silent:
        del bench.producer_settings[name]
    assert bench.run(FolderSource(data)).sent == 20
    assert bench.topic() == CONTENT


@pytest.mark.parametrize("kept", [True, False])
def test_records_sent_before_an_oversize_row_are_counted(bench: Bench, kept: bool) -> None:
    """An oversize row on standard input stops the run, which counts the rows before it and does not offer a resume."""
    stream = io.BytesIO(b"".join(b"%d\n" % i for i in range(300)) + b"x" * 5000 + b"\n")
    source = RowSource(None, stream=stream, row_format=RowFormat.TEXT)
    bench.producer_settings |= {"message.max.bytes": 2000, "batch.size": 1000, "linger.ms": 200}
    manifest = bench.open_manifest(source)
    if not kept:
        manifest.close()
        manifest = SendManifest.in_memory(manifest.header)
    with manifest, bench.producer() as producer:
        run = SendRun(producer, source, manifest, clock=monotonic)
        with pytest.raises(OperationError, match="; 300 records sent by this run") as caught:
            run.send(source.listing())
    assert ("run the same command again" in (caught.value.hint or "")) is kept
    assert sum(bench.topic().values()) == 300


def test_rows_before_an_oversize_row_are_not_sent_again(bench: Bench) -> None:
    """A run that ends within a block leaves rows behind its last checksum; the next run does not send them again."""
    lines = [b"%d" % row * 300 for row in range(100, 500)]
    lines[350] = b"large" * 1000
    text = b"".join(line + b"\n" for line in lines)
    bench.producer_settings |= {"message.max.bytes": 2000, "batch.size": 1000}
    with pytest.raises(OperationError, match=r"line 351.*; 350 records sent by this run"):
        bench.run(RowSource(None, stream=io.BytesIO(text), row_format=RowFormat.TEXT))
    bench.producer_settings["message.max.bytes"] = 10_000
    outcome = bench.run(RowSource(None, stream=io.BytesIO(text), row_format=RowFormat.TEXT))
    assert (outcome.sent, outcome.already_there) == (50, 350)
    assert bench.topic() == Counter(lines)


def numbered(count: int, **changed: bytes) -> bytes:
    """Lines of three digits each, of which some are changed: ``r7=b"x"``."""
    return b"".join(changed.get(f"r{row}", b"%03d" % row) + b"\n" for row in range(count))


def text(content: bytes) -> RowSource:
    """Lines on standard input."""
    return RowSource(None, stream=io.BytesIO(content), row_format=RowFormat.TEXT)


def stopped_at_row(bench: Bench, row: int) -> None:
    """A run that ends in order at a row that is too large, within its first block."""
    bench.producer_settings |= {"message.max.bytes": 2000, "batch.size": 1000}
    with pytest.raises(OperationError, match=f"; {row} records sent by this run"):
        bench.run(text(numbered(row) + b"x" * 5000 + b"\n" + numbered(50)))
    del bench.producer_settings["message.max.bytes"]


def killed_after(bench: Bench, source: Source, rows: Iterable[int]) -> None:
    """A run that was killed before its first checkpoint, with these rows in the topic."""
    with bench.open_manifest(source) as manifest, bench.producer() as producer:
        manifest.mark_running()
        manifest.add_parts(source.listing().parts)
        for row in rows:
            send(producer, b"%03d" % row, headers=[(RECORD_HEADER, b"cafe/%d" % row)])


def test_a_row_that_changed_before_the_exact_stop_is_noticed(bench: Bench) -> None:
    """All rows up to the one at which a run stopped are compared, not only those of blocks that were sent whole."""
    stopped_at_row(bench, 100)
    large = b"x" * 3000 + b"\n"
    for row in (0, 50, 99):
        with pytest.raises(InputFileError, match="rows 1 to 100 are not the rows that were sent before") as caught:
            bench.run(text(numbered(100, **{f"r{row}": b"new"}) + large))
        assert caught.value.exit_code == 2
    with pytest.raises(InputFileError, match="ends after 99 rows; 100 were sent before"):
        bench.run(text(numbered(99)))
    assert bench.run(text(numbered(100) + large)).sent == 1


def test_rows_with_labels_are_compared_up_to_the_exact_stop(bench: Bench, tmp_path: Path) -> None:
    """Their checksum covers the headers of the source alone, not the name that each record gets when it is sent."""
    path = tmp_path / "a.jsonl"
    rows = [b'{"v":"%s","l":%d}\n' % (b"x" * (3000 if row == 7 else 3), row) for row in range(20)]
    path.write_bytes(b"".join(rows))

    def source() -> RowSource:
        return RowSource(path, value_field="v", key_field="l", label_field="l")

    bench.producer_settings |= {"message.max.bytes": 2000, "batch.size": 1000}
    with pytest.raises(OperationError, match="; 7 records sent"):
        bench.run(source())
    del bench.producer_settings["message.max.bytes"]
    content, stat = path.read_bytes(), path.stat()
    path.write_bytes(content.replace(b'"l":3}', b'"l":9}'))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(InputFileError, match="rows 1 to 7 are not the rows that were sent before"):
        bench.run(source())
    path.write_bytes(content)
    assert bench.run(source()).sent == 13


def test_a_manifest_without_a_checksum_up_to_its_stop_is_continued(bench: Bench) -> None:
    """Earlier versions recorded that of whole blocks only; rows after it are skipped by their number."""
    source = text(numbered(30))
    with bench.open_manifest(source) as manifest:
        manifest.add_parts(source.listing().parts)
        manifest.checkpoint(20, {})
    outcome = bench.run(source)
    assert (outcome.sent, outcome.already_there) == (10, 20)
    with bench.open_manifest(source) as manifest:
        assert manifest.rows is not None
        assert manifest.rows.rows == 30


@pytest.mark.parametrize("row", [0, 4, 9])
def test_rows_of_a_run_killed_before_its_first_checkpoint_are_compared(bench: Bench, row: int) -> None:
    """They are known from the topic alone, and one that has changed since is named."""
    killed_after(bench, text(numbered(30)), range(10))
    with pytest.raises(InputFileError, match=f"line {row + 1}: is not the row that was sent before"):
        bench.run(text(numbered(30, **{f"r{row}": b"new"})))
    outcome = bench.run(text(numbered(30)))
    assert (outcome.sent, outcome.already_there) == (20, 10)
    assert set(bench.topic().values()) == {1}


@pytest.mark.parametrize("ends_after", [0, 1, 2])
def test_rows_found_in_the_topic_are_compared_even_if_the_run_that_found_them_stops(
    bench: Bench, ends_after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that stops before it has compared them leaves that to the next one."""
    monkeypatch.setattr("kafkabal.sources.text_rows._READ_BYTES", 20)
    killed_after(bench, text(numbered(30)), range(25))

    class Stopping(RowSource):
        def blocks(self, to_send: Iterable[RecordsToSend]) -> Generator[Block, None, None]:
            yield from itertools.islice(super().blocks(to_send), ends_after)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.run(Stopping(None, stream=io.BytesIO(numbered(30)), row_format=RowFormat.TEXT))
    with pytest.raises(InputFileError, match="line 21: is not the row that was sent before"):
        bench.run(text(numbered(30, r20=b"new")))
    assert bench.run(text(numbered(30))).sent == 5
    assert bench.topic() == Counter(numbered(30).split())


@pytest.mark.parametrize("kind", [RowSource, FolderSource])
def test_a_transform_that_returns_something_else_each_time_is_continued_after_a_kill(
    bench: Bench, tmp_path: Path, kind: Any
) -> None:
    """Images may be cropped at random, for example; that the source has not changed is known from its files."""
    (tmp_path / "data").mkdir()
    for row in range(30):
        (tmp_path / "data" / f"{row:02}").write_bytes(b"%03d" % row)
    (tmp_path / "a.txt").write_bytes(numbered(30))
    random = Transform("random", lambda value, headers: (value + os.urandom(8), headers))
    source = kind(tmp_path / ("data" if kind is FolderSource else "a.txt"), transform=random)
    killed_after(bench, source, [*range(10), 20])
    assert bench.run(source).sent == 19
    assert Counter(value[:3] for value in bench.topic().elements()) == Counter(numbered(30).split())


def test_rows_of_a_changed_file_are_compared_despite_a_transform(bench: Bench, tmp_path: Path) -> None:
    """Its new time does not tell what has changed."""
    path = tmp_path / "a.txt"
    path.write_bytes(numbered(30))
    same = Transform("same", lambda value, headers: (value, headers))
    killed_after(bench, RowSource(path, transform=same), range(10))
    path.write_bytes(numbered(31, r5=b"new"))
    with pytest.raises(InputFileError, match="line 6: is not the row that was sent before"):
        bench.run(RowSource(path, transform=same))


def test_rows_found_in_the_topic_beyond_the_end_of_the_source_are_noticed(bench: Bench) -> None:
    """A source that became shorter since the killed run is not taken for complete."""
    killed_after(bench, text(numbered(30)), range(25))
    for rows in (24, 10):
        with pytest.raises(InputFileError, match=f"ends after {rows} rows; 25 were sent before"):
            bench.run(text(numbered(rows)))
    assert bench.run(text(numbered(25))).sent == 0


def test_a_changed_key_of_a_row_found_in_the_topic_is_noticed(bench: Bench, tmp_path: Path) -> None:
    """The key is compared too, not the value alone."""
    path = tmp_path / "a.jsonl"

    def source() -> RowSource:
        return RowSource(path, value_field="v", key_field="k")

    path.write_bytes(b'{"v":"1","k":"a"}\n{"v":"2","k":null}\n')
    with bench.open_manifest(source()) as manifest, bench.producer() as producer:
        manifest.mark_running()
        manifest.add_parts(source().listing().parts)
        send(producer, b"1", key=b"a", headers=[(RECORD_HEADER, b"cafe/0")])
    good = path.read_bytes()
    path.write_bytes(good.replace(b'"a"', b'"b"'))
    with pytest.raises(InputFileError, match="line 1: is not the row that was sent before"):
        bench.run(source())
    path.write_bytes(good)
    assert bench.run(source()).sent == 1


def test_a_file_that_grew_after_a_stop_within_its_first_block_is_continued(bench: Bench, tmp_path: Path) -> None:
    """Its beginning is compared up to the stop. Manifests of earlier versions have no checksum of any row then: the
    refusal says that, not that the rows are others."""
    path = tmp_path / "a.txt"
    path.write_bytes(numbered(100))
    enlarge = Transform("enlarge", lambda value, headers: (value * (5000 if value == b"050" else 1), headers))
    bench.producer_settings |= {"message.max.bytes": 2000, "batch.size": 1000}
    with pytest.raises(OperationError, match="; 50 records sent by this run"):
        bench.run(RowSource(path, transform=enlarge))
    del bench.producer_settings["message.max.bytes"]
    with path.open("ab") as file:
        file.write(b"more\n")
    manifest = bench.manifest_path.read_text()
    bench.manifest_path.write_text(re.sub(r',"rows":{[^}]*}', "", manifest))
    with pytest.raises(InputFileError, match="the manifest has no checksum of the 50 rows sent before"):
        bench.run(RowSource(path, transform=enlarge))
    bench.manifest_path.write_text(manifest)
    small = Transform("enlarge", lambda value, headers: (value, headers))
    assert bench.run(RowSource(path, transform=small)).sent == 51


def test_a_plug_in_policy_that_fails_stops_the_run(bench: Bench, data: Path) -> None:
    """The error names the policy and what was sent; a run with a fixed policy resumes without duplicates."""
    picked = iter([0, 1])
    choice = PolicyChoice(type("Own", (Random,), {"pick": lambda *_: next(picked, 4)}), {}, "own", "own")
    with bench.open_manifest(source := FolderSource(data)) as manifest:
        settings = {**bench.cluster.client, **bench.producer_settings}
        with RecordSender(bench.cluster, TOPIC, choice.create(Context()), settings) as producer:
            run = SendRun(producer, source, manifest, clock=monotonic)
            with pytest.raises(PolicyFaultError) as fault:
                run.send(source.listing())
    assert fault.value.exit_code == 2
    assert fault.value.message == (
        "policy 'own': its pick gave 4 for a record, and the partitions are 0 to 3; "
        "2 records sent by this run, 0 already in the topic"
    )
    assert "the same command" in (fault.value.hint or "")
    bench.run(source)
    assert set(bench.topic().values()) == {1}


def test_progress_distinguishes_new_from_earlier_records(bench: Bench, tmp_path: Path) -> None:
    """A resumed run reports the bytes before its first record as skipped, for rows and for chunks; the bytes that it
    sent are those of values, without the line feeds of rows."""
    (tmp_path / "rows.txt").write_bytes(b"".join(b"%03d\n" % i for i in range(100)))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "big").write_bytes(bytes(400))
    rows, chunks = RowSource(tmp_path / "rows.txt"), FolderSource(tmp_path / "data", chunk_bytes=4)
    for source, sent_bytes in ((rows, 90), (chunks, 120)):
        bench.manifest_path.unlink(missing_ok=True)
        with bench.open_manifest(source) as manifest:
            manifest.add_parts(source.listing().parts)
            manifest.checkpoint(70, {})
        heard: list[DeliveryProgress] = []
        bench.run(source, progressed=heard.append)
        assert heard[-1] == DeliveryProgress(
            records=100, bytes=400, sent=30, sent_bytes=sent_bytes, handed_over=30, skipped_bytes=280
        )


def test_progress_is_reported_each_second_however_long_a_record_takes(bench: Bench, tmp_path: Path) -> None:
    """Records that take a second each, as large files or rows of a slow stream do, are reported one by one."""
    (tmp_path / "rows.txt").write_bytes(b"a\nb\nc\nd\n")
    seconds = [0.0]

    class Slow(RowSource):
        def blocks(self, to_send: Any) -> Any:
            for block in one_by_one(super().blocks(to_send)):
                seconds[0] += 1
                yield block

    source, heard = Slow(tmp_path / "rows.txt"), list[DeliveryProgress]()
    with bench.open_manifest(source) as manifest, bench.producer() as producer:
        SendRun(producer, source, manifest, progressed=heard.append, clock=lambda: seconds[0]).send(source.listing())
    assert [progress.handed_over for progress in heard[:4]] == [1, 2, 3, 4]


def test_progress_counts_the_current_files(bench: Bench, data: Path) -> None:
    """Files that were sent and then removed, as from a folder that is emptied repeatedly, are not counted."""
    bench.run(FolderSource(data))
    for path in (data / "label0").iterdir():
        path.unlink()
    (data / "new").write_bytes(b"new")
    heard: list[DeliveryProgress] = []
    bench.run(FolderSource(data), progressed=heard.append)
    assert heard[-1].bytes == FolderSource(data).listing().size_bytes
    assert heard[-1].bytes - heard[-1].skipped_bytes == len(b"new")


def test_a_topic_recreated_during_the_run_stops_it(bench: Bench, data: Path) -> None:
    """No record is sent to a new topic that replaced the old one under the same name."""
    check = same_topic_check("T", lambda: "U", TOPIC)
    with pytest.raises(OperationError, match=r"was deleted and re-created during the run.*; \d+ records sent"):
        bench.run(FolderSource(data), same_topic=check)


def test_a_topic_that_is_missing_when_records_are_refused_is_not_sent_to_again(bench: Bench, data: Path) -> None:
    """If librdkafka notices the missing topic first, no hint offers to resume: what was sent is lost."""
    gone = same_topic_check("T", lambda: None, TOPIC)
    with bench.open_manifest(source := FolderSource(data)) as manifest, bench.producer() as producer:
        run = SendRun(producer, source, manifest, same_topic=gone, clock=lambda: 0.0)
        run._next_topic_check_s = 1.0
        producer._produce = lambda *_: (_ for _ in ()).throw(KafkaException(KafkaError(KafkaError._UNKNOWN_TOPIC)))
        with pytest.raises(OperationError, match=f"topic {TOPIC} was deleted during the run; 0 records") as caught:
            run.send(source.listing())
    assert "resume" not in (caught.value.hint or "")


def test_a_topic_deleted_during_the_run_stops_it(bench: Bench, data: Path) -> None:
    """A topic that is deleted during a run is a failure of the operation, not a wrong name."""
    with pytest.raises(OperationError, match=f"topic {TOPIC} was deleted during the run; [0-9]+ records? sent"):
        bench.run(FolderSource(data), same_topic=same_topic_check("T", lambda: None, TOPIC))


def test_a_row_of_standard_input_that_is_too_large_is_named(bench: Bench) -> None:
    """An oversize row is noticed only when it is sent; the message names its line and what was sent before."""
    stream = io.BytesIO(b"first\n" + b"x" * 3_000_000 + b"\n")
    source = RowSource(None, stream=stream, row_format=RowFormat.TEXT)
    with pytest.raises(OperationError, match=r"^standard input, line 2: .*too large; 1 record sent"):
        bench.run(source)


@pytest.mark.parametrize("error", [UnreachableError("timed out"), NotAuthorizedError("cannot describe it")])
def test_no_answer_about_the_topic_does_not_stop_the_run(bench: Bench, data: Path, error: OperationError) -> None:
    """If no broker answers whether the topic is still the same, the run continues and every record arrives."""
    heard: list[KafkabalError] = []

    def unknown() -> str:
        raise error

    outcome = bench.run(FolderSource(data), same_topic=same_topic_check("T", unknown, TOPIC, heard.append))
    assert outcome.sent == 20
    assert set(heard) == {error}


def test_progress_ends_at_the_totals(bench: Bench, data: Path) -> None:
    """The last event reports everything as done, including what earlier runs sent."""

    listing = FolderSource(data).listing()
    for _ in range(2):
        heard: list[DeliveryProgress] = []
        bench.run(FolderSource(data), progressed=heard.append)
        assert (heard[-1].records, heard[-1].bytes) == (listing.records, listing.size_bytes)


def test_oversize_records_are_named_before_anything_is_sent(data: Path) -> None:
    """The message lists the files that exceed the topic's record limit, with their bytes."""
    for i in range(7):
        (data / f"large{i}").write_bytes(bytes(1000 + i))
    source = FolderSource(data)
    with pytest.raises(InputFileError, match=r"large0 \(1\d\d\d bytes\).* and 2 more") as caught:
        check_sizes(source, source.listing().parts, 1024)
    assert "--chunk" in (caught.value.hint or "")
    check_sizes(FolderSource(data, chunk_bytes=500), FolderSource(data, chunk_bytes=500).listing().parts, 1024)


@pytest.mark.parametrize("key", [None, "path"])
@pytest.mark.parametrize("chunk", [None, 2**20, 2**20 - 5])
def test_the_largest_chunk_that_fits_is_reported(tmp_path: Path, chunk: int | None, key: str | None) -> None:
    """Chunks as large as the topic's default limit are refused for their headers; the size in the hint works."""
    (tmp_path / "data" / "label").mkdir(parents=True)
    (tmp_path / "data" / "label" / "a long name of a file.bin").write_bytes(bytes(5 * 2**20))
    source = FolderSource(tmp_path / "data", chunk_bytes=chunk, key=key)
    with pytest.raises(InputFileError) as caught:
        check_sizes(source, source.listing().parts, 1_048_588)
    advised = re.match(r"split files with --chunk (\d+)KiB or less", caught.value.hint or "")
    assert advised
    fitting = FolderSource(tmp_path / "data", chunk_bytes=int(advised[1]) * 1024, key=key)
    check_sizes(fitting, fitting.listing().parts, 1_048_588)
    assert int(advised[1]) == 1023


def test_rows_that_are_too_large_are_not_to_be_split(tmp_path: Path) -> None:
    """The hint for rows does not name the option that splits files."""
    (tmp_path / "a.txt").write_bytes(b"x" * 5000)
    with pytest.raises(InputFileError) as caught:
        check_sizes(RowSource(tmp_path / "a.txt"), RowSource(tmp_path / "a.txt").listing().parts, 4096)
    assert caught.value.hint == "raise max.message.bytes of the topic"


def test_a_long_listing_of_sizes_is_reported_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row takes a fifth of a second here: the message appears after the fifth row, and only once."""
    monkeypatch.setattr("kafkabal.sources.text_rows._READ_BYTES", 2)
    (tmp_path / "a.txt").write_bytes(b"x\n" * 20 + b"x" * 10 + b"\n")
    now_s = itertools.count(0.0, 0.2)
    reported_at_s: list[float] = []
    source = RowSource(tmp_path / "a.txt")
    check_sizes(
        source,
        source.listing().parts,
        266,
        clock=lambda: next(now_s),
        takes_long=lambda: reported_at_s.append(next(now_s)),
    )
    assert reported_at_s == [pytest.approx(1.4)]


def test_reading_back_sees_records_lost_and_deleted(bench: Bench, data: Path) -> None:
    """A topic that ends before an acknowledged offset has lost records: the run stops instead of sending again."""
    with bench.open_manifest(FolderSource(data)) as manifest:
        manifest.mark_running()
        manifest.checkpoint(5, {0: 1000})
    with pytest.raises(OperationError, match=f"{TOPIC}-0 ends at offset 0, before the acknowledged offset 1000"):
        bench.run(FolderSource(data))


def test_reading_back_what_retention_deleted_is_refused(bench: Bench) -> None:
    """If retention deleted the beginning, it is unknown what was sent, so the run is refused."""
    reader = SentRecordReader(bench.cluster.client, TOPIC)
    with pytest.raises(UnsafeError, match=f"{TOPIC}-0 begins at offset 9: records from 4 on were deleted"):
        reader._ranges({0: (9, 20)}, {0: 4})
    assert reader._ranges({0: (9, 20), 1: (3, 5)}, {0: 9}) == {0: (9, 20), 1: (3, 5)}


def test_a_file_that_was_touched_but_not_changed_is_recognised(bench: Bench, data: Path) -> None:
    """A new modification time with the same checksum is no change, and the next run does not read the file again."""
    bench.run(FolderSource(data))
    os.utime(data / "label0" / "00.bin", ns=(1, 1))
    assert bench.run(FolderSource(data)).is_complete

    class Unread(FolderSource):
        def checksum(self, part: Any) -> Any:
            raise AssertionError(part)

    assert bench.run(Unread(data)).is_complete
    assert bench.topic() == CONTENT


def test_a_changed_file_is_named_until_it_is_sent_again_on_request(bench: Bench, data: Path) -> None:
    """Each run names a changed file until one is asked to send it again; that run sends only this file."""
    bench.run(FolderSource(data))
    (data / "label1" / "04.bin").write_bytes(b"changed 4")
    for _ in range(2):
        outcome = bench.run(FolderSource(data))
        assert (outcome.sent, outcome.changed, outcome.is_complete) == (0, ["label1/04.bin"], False)
    outcome = bench.run(FolderSource(data), resend=True)
    assert (outcome.sent, outcome.is_complete) == (1, True)
    assert bench.topic() == CONTENT + Counter([b"changed 4"])
    assert bench.run(FolderSource(data)).is_complete


def test_unreadable_files_do_not_stop_the_others(bench: Bench, data: Path) -> None:
    """A link to itself is named in every run until it is removed; all files are sent once."""
    (data / "loop").symlink_to(data / "loop")
    for sent in (20, 0):
        outcome = bench.run(FolderSource(data))
        assert (outcome.sent, outcome.failures) == (sent, [("loop", "is a link that leads back to itself")])
    (data / "loop").unlink()
    assert bench.run(FolderSource(data)).is_complete
    assert bench.topic() == CONTENT


def test_names_that_are_not_utf_8_are_remembered(bench: Bench, tmp_path: Path) -> None:
    """Files and folders with names that are not UTF-8 are sent once over several runs, and named legibly."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/d\xe9t"))
    folder.mkdir()
    for name in (b"caf\xe9.jpg", b"\xff", "é".encode()):
        with open(os.fsencode(folder) + b"/" + name, "wb") as file:  # noqa: PTH123 - a name of bytes
            file.write(name)
    assert bench.run(FolderSource(folder)).sent == 3
    assert bench.run(FolderSource(folder)).already_there == 3
    with open(os.fsencode(folder) + b"/\xff", "wb") as file:  # noqa: PTH123
        file.write(b"longer")
    assert bench.run(FolderSource(folder)).changed == ["\\xff"]
    assert bench.topic() == Counter([b"caf\xe9.jpg", b"\xff", "é".encode()])


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_rows_that_were_added_to_a_file_are_sent(bench: Bench, tmp_path: Path, name: str) -> None:
    """A file that grows between runs sends only its new rows; a file that was only touched sends nothing."""
    path = tmp_path / name
    path.write_bytes(b"n\n" if name.endswith(".csv") else b"")
    total = 0
    for added in (3, 5, 2000):
        with path.open("ab") as file:
            for n in range(total, total + added):
                file.write(b"%d\n" % n if name.endswith(".csv") else b'{"n":"%d"}\n' % n)
        outcome = bench.run(RowSource(path))
        assert (outcome.sent, outcome.already_there) == (added, total)
        total += added
    os.utime(path, ns=(1, 1))
    outcome = bench.run(RowSource(path))
    assert (outcome.sent, outcome.already_there) == (0, total)
    assert bench.topic() == Counter({b'{"n":"%d"}' % n: 1 for n in range(total)})


@pytest.mark.parametrize(
    ("name", "pieces", "rows"),
    [
        ("a.csv", [b'n,t\n1,a\n2,"b\nb', b"b", b'"\n3,c\n'], [b'"1"', b'"2"', b'"3"']),
        ("a.jsonl", [b'{"n":"1"}\n{"n":', b'"2"', b'}\n{"n":"3"}'], [b'"1"', b'"2"', b'"3"']),
    ],
)
def test_a_file_caught_within_a_row_is_sent_as_its_rows_are_completed(
    bench: Bench, tmp_path: Path, name: str, pieces: list[bytes], rows: list[bytes]
) -> None:
    """Each run sends the rows that are complete, names the one that is not, and ends in order."""
    path = tmp_path / name
    outcomes = []
    for piece in pieces:
        with path.open("ab") as file:
            file.write(piece)
        outcome = bench.run(RowSource(path))
        outcomes.append((outcome.sent, outcome.already_there, outcome.is_complete))
        with bench.open_manifest(RowSource(path)) as manifest:
            assert manifest.is_clean
        if not outcome.is_complete:
            assert outcome.unfinished.endswith(
                f"{name}, line {3 if name == 'a.csv' else 2}: the file ends within this row"
            )
    assert outcomes == [(1, 0, False), (0, 1, False), (2, 1, True)]
    values = sorted(bench.topic().elements())
    assert len(values) == 3
    assert all(row in value for row, value in zip(rows, values, strict=True))


def test_other_lines_on_standard_input_are_noticed(bench: Bench) -> None:
    """Lines that differ from the last run's are refused before any is sent; the right ones resume."""

    def run(content: bytes) -> SendOutcome:
        return bench.run(RowSource(None, stream=io.BytesIO(content), row_format=RowFormat.TEXT))

    assert run(b"1\n2\n3\n").sent == 3
    with pytest.raises(InputFileError, match="rows 1 to 3 are not the rows that were sent before"):
        run(b"4\n5\n6\n7\n")
    with pytest.raises(InputFileError, match="ends after 2 rows; 3 were sent before"):
        run(b"1\n2\n")
    assert run(b"1\n2\n3\n4\n").sent == 1
    assert bench.topic() == Counter([b"1", b"2", b"3", b"4"])


def test_a_changed_file_of_rows_is_sent_again_on_request(bench: Bench, tmp_path: Path) -> None:
    """The manifest of a changed file of rows starts over under another id, so later runs know what they sent."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\nb\n")
    bench.run(RowSource(path))
    path.write_bytes(b"x\na\nb\n")
    source = RowSource(path)
    with bench.open_manifest(source) as manifest:
        assert has_other_rows(source, manifest, source.listing().parts)
        manifest.start_over("beef", {})
    assert bench.run(source).sent == 3
    assert bench.run(source).sent == 0
    assert bench.topic() == Counter([b"a", b"a", b"b", b"b", b"x"])


def test_an_invalid_client_setting_is_refused() -> None:
    """A setting that librdkafka refuses is a usage error of one line, wherever it was set."""
    with pytest.raises(UsageError, match='client configuration: No such configuration property: "foo"'):
        SentRecordReader({"foo": 1}, TOPIC).end_offsets()


@pytest.mark.parametrize(("first", "count"), [(0, 1), (998, 5), (0, 2500), (1000, 1), (1999, 2), (123_456, 3000)])
def test_names_of_records_are_their_numbers(first: int, count: int) -> None:
    """Records are numbered correctly wherever a block begins or ends relative to a thousand."""
    numbers = range(first, first + count)
    assert record_names(b"id/", numbers) == [b"id/%d" % number for number in numbers]
    assert record_names(b"id/", [first, first + 7]) == [b"id/%d" % first, b"id/%d" % (first + 7)]


def test_headers_made_when_they_are_sent_are_those_of_each_record() -> None:
    """Headers match their records for all, for one, and from one on, as when a full queue interrupts."""
    headers = NameHeaders([b"id/1", b"id/2", b"id/3"])
    assert list(headers) == [[(RECORD_HEADER, b"id/%d" % number)] for number in (1, 2, 3)]
    assert (headers[1], list(headers[1:]), len(headers)) == ([(RECORD_HEADER, b"id/2")], list(headers)[1:], 3)
