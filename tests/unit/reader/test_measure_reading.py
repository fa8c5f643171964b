"""Several readers measured together: how their parent handles one that fails or dies."""

from __future__ import annotations

import errno
import multiprocessing as mp
import os
import queue
import signal
import subprocess
import sys
from itertools import count, islice
from types import SimpleNamespace
from typing import Any

import pytest

from kafkabal.errors import OperationError, UsageError
from kafkabal.reader.measure_reading import BATCH_SAMPLES, ReaderResult, _batch_times, _collect, measure
from kafkabal.reader.metrics import ReaderMetrics


def _reports(*reports: object) -> queue.Queue[object]:
    results: queue.Queue[object] = queue.Queue()
    for report in reports:
        results.put(report)
    return results


def _processes(*codes: int | None) -> list[SimpleNamespace]:
    return [SimpleNamespace(exitcode=code) for code in codes]


def test_a_reader_that_is_killed_ends_the_measurement() -> None:
    """It is named with its exit code at once, not after a timeout."""
    done = ReaderResult(reader=0, metrics=ReaderMetrics())
    with pytest.raises(OperationError, match=r"reader 1 died \(exit code -9\)"):
        _collect(_reports(done), _processes(0, -9), 60.0)


def test_the_error_of_a_reader_is_raised() -> None:
    """As it is, also where another one has reported."""
    done = ReaderResult(reader=0, metrics=ReaderMetrics())
    with pytest.raises(UsageError, match="unknown topic"):
        _collect(_reports(done, UsageError("unknown topic: x")), _processes(0, 1), 60.0)


def test_readers_that_do_not_start_in_time_end_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    """All ended without a result: nothing is waited for, but a result that is still in the queue counts."""
    monkeypatch.setattr("kafkabal.reader.measure_reading._CHECK_INTERVAL_S", 0.01)
    done = ReaderResult(reader=0, metrics=ReaderMetrics())
    assert _collect(_reports(done), _processes(0), 60.0) == [done]
    with pytest.raises(OperationError, match="not all 2 readers started"):
        _collect(_reports(done), _processes(0, 0), 60.0)


def test_waiting_has_an_end() -> None:
    """A live reader that never reports is given up."""
    with pytest.raises(OperationError, match="did not report in time"):
        _collect(_reports(), _processes(None), 0.0)


def test_samples_are_read_for_as_long_as_asked() -> None:
    """Batches that start within that time count; the time until the first sample does not."""
    clock = count(500)  # a second passes with each look at it
    assert _batch_times(iter(range(10**6)), 3.0, lambda: float(next(clock))) == [1.0, 1.0, 1.0]


def test_signals_do_not_reach_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would print tracebacks while they import their modules; this process ends them, and stays interruptible."""
    monkeypatch.setattr("kafkabal.reader.measure_reading._read", _report_blocked_signals)
    measured = measure(_two_readers())
    terminating = [signal.SIGHUP, signal.SIGINT, signal.SIGTERM]
    assert [sorted(each.batch_s) for each in measured.readers] == [terminating] * 2
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & set(terminating)


def test_the_end_of_the_terminal_prints_no_traceback() -> None:
    """SIGHUP to the process group spares Python's resource tracker, too, which would fail to unregister locks."""
    script = (
        "import os, signal\n"
        "from kafkabal.reader import measure_reading as module\n"
        "from tests.unit.reader.test_measure_reading import _report_blocked_signals, _two_readers\n"
        "collect, module._read = module._collect, _report_blocked_signals\n"
        "signal.signal(signal.SIGHUP, lambda *_: None)\n"
        "module._collect = lambda *given: (os.killpg(0, signal.SIGHUP), collect(*given))[1]\n"
        "module.measure(_two_readers())\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, start_new_session=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_reader_that_cannot_be_started_ends_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many open files are an error with a way out, and the readers that were started end."""
    started: list[Any] = []
    process_type = mp.get_context("spawn").Process
    start = process_type.start

    def one_starts(process: Any) -> None:
        if started:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        started.append(process)
        start(process)

    monkeypatch.setattr(process_type, "start", one_starts)
    with pytest.raises(OperationError, match="cannot start reader 1: Too many open files"):
        measure(_two_readers())
    assert [process.exitcode for process in started] == [-signal.SIGKILL]


def _two_readers() -> Any:
    return SimpleNamespace(readers=2, seconds=1.0)


def _report_blocked_signals(_request: object, reader: int, _start: object, results: Any) -> None:
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    results.put(ReaderResult(reader=reader, metrics=ReaderMetrics(), batch_s=[float(s) for s in blocked]))


@pytest.mark.parametrize(("samples", "batches"), [(0, 0), (1, 1), (BATCH_SAMPLES, 1), (BATCH_SAMPLES + 1, 2)])
def test_an_early_end_is_measured_as_it_is(samples: int, batches: int) -> None:
    """A last batch that is short counts, and a reader that gets nothing has no batch."""
    clock = count(0)
    assert len(_batch_times(islice(count(), samples), 60.0, lambda: float(next(clock)))) == batches
