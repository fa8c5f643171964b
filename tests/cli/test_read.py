"""``kafkabal read``: what it refuses before it contacts a cluster, and how it shows its measurements."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from kafkabal.cli.commands.read import _counting_if_needed, _counting_shown, _reader_warnings, _warn_of_rack
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.errors import DriftError
from kafkabal.reader.block_loader import UncountedOffsetsError
from kafkabal.reader.manifest import Manifest
from kafkabal.reader.measure_reading import Measurement, ReaderResult, training_file
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reader.restore_files import RestoreResult
from kafkabal.reporting.output_capabilities import PLAIN
from kafkabal.reporting.output_formats import render
from kafkabal.reporting.read_report import measurement_report, restore_report
from kafkabal.simulator.training_setup import load_trainings
from tests.cli.conftest import Outcome
from tests.output_schemas import check_csv, check_document

RunCli = Callable[..., Outcome]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--follow", "--to", "x"), "--follow and --to cannot be combined"),
        (("--from-start",), "--from-start requires --follow"),
        (("--to", "x", "--for", "1s"), "--for cannot be combined with --to"),
        (("--to", "x", "--readers", "2"), "--to and --readers cannot be combined"),
        (("--to", "-"), "--to: must be a folder, not standard output (-)"),
        (("--cache", "-"), "--cache: must be a folder, not standard output (-)"),
        (("--follow", "-o", "csv"), "--follow prints records"),
        (("--for", "0s"), "duration must be above 0: '0s'"),
        (("--readers", "0"), "--readers"),
        (("--prefetch", "0"), "--prefetch: size must be above 0: '0'"),
        (("--cache", "x", "--cache-bytes", "0"), "--cache-bytes: size must be above 0: '0'"),
    ],
)
def test_options_that_do_not_go_together(run_cli: RunCli, words: tuple[str, ...], message: str) -> None:
    """Contradictory options end with one line and exit code 2, before any broker is contacted."""
    got = run_cli("read", "images", *words, "-b", "127.0.0.1:1")
    assert (got.code, got.out) == (2, "")
    assert message in got.err


def test_a_snapshot_holds_no_records(run_cli: RunCli, tmp_path: Path) -> None:
    """Reading records from a snapshot ends with exit code 2, since it needs live brokers."""
    got = run_cli("read", "images")
    assert got.code == 2


def _measurement() -> Measurement:
    """Two readers for ten seconds; broker 2 had requests only half of the time."""
    results = []
    for reader in range(2):
        metrics = ReaderMetrics(samples=1000, size_bytes=10**9, elapsed_s=10.0, waited_s=1.0 + reader)
        metrics.network_bytes = {1: 6 * 10**8, 2: 4 * 10**8}
        metrics.network_s = {1: 9.0, 2: 2.5}
        metrics.racks = {1: "r0", 2: None}
        results.append(ReaderResult(reader=reader, metrics=metrics, batch_s=[0.1] * 99 + [0.5]))
    return Measurement(results)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a topic has this result."""
    manifest = Manifest(cluster_id="c", topic="images", topic_id="i", partitions=())
    monkeypatch.setattr("kafkabal.cli.commands.read._topic_id", lambda *_: "i")
    monkeypatch.setattr("kafkabal.reader.pin", lambda *_, **__: manifest)
    monkeypatch.setattr("kafkabal.reader.measure", lambda _: _measurement())


@pytest.mark.usefixtures("measured")
def test_a_training_file_that_cannot_be_written_does_not_cost_the_measurement(run_cli: RunCli) -> None:
    """It is shown before the file is written, as on a full disk."""
    got = run_cli("read", "images", "--out", "/dev/full", "-b", "127.0.0.1:1")
    assert got.code == 1
    assert "191 MiB/s" in got.out


@pytest.mark.usefixtures("measured")
def test_the_printed_command_simulates_that_topic(run_cli: RunCli, tmp_path: Path) -> None:
    """On the same cluster, too: without them it refuses a cluster of several topics, or reads another one."""
    out = tmp_path / "training.yaml"
    got = run_cli("read", "images", "--out", str(out), "-b", "127.0.0.1:1")
    options = f"--topic images --storage measured --training {out} --bootstrap-server 127.0.0.1:1"
    assert f"'kafkabal route-simulate {options}'" in got.err


def _document() -> dict[str, Any]:
    manifest = Manifest(cluster_id="c", topic="images", topic_id="i", partitions=())
    found: dict[str, Any] = json.loads(render(measurement_report("images", manifest, _measurement()), "json", PLAIN))
    return found


def test_shows_the_measurements() -> None:
    """The report shows the total rate of all readers, and the rate of each broker while it had requests."""
    document = _document()
    check_document(document)
    assert document["bytes_per_s"] == 2e8
    assert document["waiting_fraction"] == pytest.approx(0.15)
    assert [row["bytes_per_s"] for row in document["readers"]] == [1e8, 1e8]
    assert [(row["broker"], row["bytes_per_s"]) for row in document["brokers"]] == [(1, 1.2e8), (2, 1.6e8)]


def test_restored_files_are_shown() -> None:
    """Documents and CSV have their published schema, with failures and without."""
    for failures in ([], [("a", "cut")]):
        report = restore_report("images", Path("x"), RestoreResult(written=2, size_bytes=5, failures=failures))
        document = json.loads(render(report, "json", PLAIN))
        check_document(document)
        check_csv(render(report, "csv", PLAIN), "read --to")
        assert [row["path"] for row in document["failures"]] == [path for path, _ in failures]


def test_the_training_file_is_accepted_by_route_simulate(tmp_path: Path) -> None:
    """route-simulate loads the training file, which has the rate of each broker."""
    path = tmp_path / "training.yaml"
    path.write_text(yaml.safe_dump(training_file(_measurement())))
    setup = load_trainings(["measured"], path)["measured"]
    assert dict(setup.own_bytes_per_s) == {1: 1.2e8, 2: 1.6e8}
    assert setup.job.record_bytes == 1e6


@pytest.mark.parametrize(
    ("racks", "expected"),
    [
        ({1: "r0", 2: "r1", 3: "r0"}, "no broker in rack r7: reading from leaders (racks of this cluster: r0, r1)"),
        ({1: None}, "no broker in rack r7: reading from leaders (the brokers have no racks)"),
        ({1: "r7", 2: "r1"}, None),
        ({}, None),
    ],
)
def test_a_rack_without_brokers_is_warned_of(racks: dict[int, str | None], expected: str | None) -> None:
    """A mistyped rack is warned of; unknown racks, as before any fetch, are not."""
    warned: list[str] = []
    _warn_of_rack("r7", racks, SimpleNamespace(warn=warned.append))  # type: ignore[arg-type]
    assert warned == ([] if expected is None else [expected])


def test_warnings_of_the_reader_are_those_of_the_command() -> None:
    """Such as of retention: one line, without the file and the line of code that Python shows."""
    warned: list[str] = []
    with _reader_warnings(SimpleNamespace(warn=warned.append)):  # type: ignore[arg-type]
        warnings.simplefilter("always")
        warnings.warn("topic t: retention deletes records in 5 s", stacklevel=1)
    assert warned == ["topic t: retention deletes records in 5 s"]


def test_a_topic_with_unexpected_records_is_counted_and_read_again() -> None:
    """Its ends look as if every offset held a record, so the command finds out only while it reads; no option helps."""
    warned: list[str] = []

    def read_topic(count: bool | None) -> bool | None:
        if not count:
            raise UncountedOffsetsError("t-0: offsets 5 to 9 hold 4 records, not 5")
        return count

    assert _counting_if_needed(read_topic, SimpleNamespace(warn=warned.append)) is True  # type: ignore[arg-type]
    assert warned == ["t-0: offsets 5 to 9 hold 4 records, not 5: starting again after counting the records"]


def test_a_topic_that_changed_is_not_read_again() -> None:
    """One that was deleted, or compacted while it was read, ends the command."""

    def read_topic(count: bool | None) -> None:
        raise DriftError("topic t has been deleted since it was pinned")

    with pytest.raises(DriftError):
        _counting_if_needed(read_topic, SimpleNamespace())  # type: ignore[arg-type]


def test_counting_a_topic_is_shown() -> None:
    """A user who waits for a topic that is read as a whole first learns of it at once, and how far it is at the end."""
    stderr = StringIO()
    context = CommandContext(stderr=stderr)
    with _counting_shown("images", context):
        pass
    assert not stderr.getvalue()
    with _counting_shown("images", context) as counting:
        counting(0, 2**30)
        assert stderr.getvalue() == "topic images: reading all of it once to count its records\n"
        counting(2**30, 2**30)
    assert stderr.getvalue().splitlines()[1:] == ["counting: 1.00 GiB of 1.00 GiB"]
