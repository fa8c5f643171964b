"""Several readers measured together: how their parent handles one that fails or dies."""

from __future__ import annotations

import queue
import signal
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


def test_ctrl_c_does_not_reach_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would print tracebacks while they import their modules; this process ends them, and stays interruptible."""
    monkeypatch.setattr("kafkabal.reader.measure_reading._read", _report_blocked_signals)
    request: Any = SimpleNamespace(readers=2, seconds=1.0)
    measured = measure(request)
    assert [each.batch_s for each in measured.readers] == [[signal.SIGINT]] * 2
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def _report_blocked_signals(_request: object, reader: int, _start: object, results: Any) -> None:
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    results.put(ReaderResult(reader=reader, metrics=ReaderMetrics(), batch_s=[float(s) for s in blocked]))


@pytest.mark.parametrize(("samples", "batches"), [(0, 0), (1, 1), (BATCH_SAMPLES, 1), (BATCH_SAMPLES + 1, 2)])
def test_an_early_end_is_measured_as_it_is(samples: int, batches: int) -> None:
    """A last batch that is short counts, and a reader that gets nothing has no batch."""
    clock = count(0)
    assert len(_batch_times(islice(count(), samples), 60.0, lambda: float(next(clock)))) == batches
