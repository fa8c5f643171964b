"""The textfile of ``produce`` and ``read``: what is in it at the end, and that nothing about it stops a transfer."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kafkabal.reporting.transfer_textfile import TransferTextfile


def transfer(path: Path | None, warnings: list[str]) -> TransferTextfile:
    """A textfile of a transfer to topic t."""
    return TransferTextfile(path, "produce", {"cluster": "c", "topic": "t"}, lambda: 7.0, warnings.append)


def values(path: Path) -> dict[str, float]:
    """The metrics, after a look at their labels."""
    samples = [s for family in text_string_to_metric_families(path.read_text()) for s in family.samples]
    assert all(s.labels == {"cluster": "c", "topic": "t"} for s in samples)
    return {s.name.removeprefix("kafkabal_produce_"): s.value for s in samples}


def test_the_end_is_always_written(tmp_path: Path) -> None:
    """Records, bytes and success of a transfer; one that fails says so."""
    path = tmp_path / "p.prom"
    with transfer(path, []) as textfile:
        textfile.update(3, 4000)
    at = {"last_update_timestamp_seconds": 7.0}
    assert values(path) == {"running": 0, "records": 3, "bytes": 4000, "success": 1, **at}

    with suppress(OSError), transfer(path, []) as textfile:
        textfile.update(1, 10)
        raise OSError
    assert values(path) == {"running": 0, "records": 1, "bytes": 10, "success": 0, **at}


def test_a_clock_that_is_set_back_stops_nothing(tmp_path: Path) -> None:
    """The file stays up to date, as monitoring expects."""
    path, times = tmp_path / "p.prom", iter([9000.0, 9000.0, 100.0, 100.0])
    labels = {"cluster": "c", "topic": "t"}
    textfile = TransferTextfile(path, "produce", labels, lambda: next(times, 100.0), print)
    textfile.update(1, 10)
    assert textfile._writer is not None
    textfile._writer.flush()
    textfile.update(2, 20)
    textfile._writer.flush()
    assert values(path)["records"] == 2


def test_a_missing_folder_is_warned_of_once(tmp_path: Path) -> None:
    """Updates go on without the folder, and only one warning names the file."""
    warnings: list[str] = []
    with transfer(tmp_path / "no" / "p.prom", warnings) as textfile:
        for n in range(100):
            textfile.update(n, n)
    assert len(warnings) == 1
    assert "p.prom" in warnings[0]


def test_a_hanging_file_does_not_block_the_transfer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder on a server that does not respond: updates return at once, the end after a short while."""
    import kafkabal.reporting.textfile_writer as module

    read, write = os.pipe()
    monkeypatch.setattr(module, "replacing", lambda _: os.read(read, 1))
    with transfer(tmp_path / "p.prom", []) as textfile:
        for n in range(100_000):
            textfile.update(n, n)
    os.close(write)
