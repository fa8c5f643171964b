"""What pyarrow leaves behind when a file is damaged."""

from __future__ import annotations

import io
from threading import Thread
from time import monotonic, sleep
from unittest.mock import Mock

import pytest

from kafkabal.sources import arrow_tables
from kafkabal.sources.arrow_tables import _WatchedFile


def test_a_buffer_that_another_thread_holds_is_waited_for() -> None:
    """pyarrow frees a footer in a thread of its own, which aborts the process if Python ends meanwhile."""
    file, freed = _WatchedFile(io.BytesIO(b"a footer")), list[float]()

    def hold(held: list[bytes]) -> None:
        sleep(0.05)
        freed.append(monotonic())
        held.clear()

    Thread(target=hold, args=([file.read()],)).start()
    file.await_freed()
    assert freed
    assert monotonic() >= freed[0]


def test_nothing_read_is_nothing_to_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a file too short for a footer."""
    monkeypatch.setattr(arrow_tables, "sleep", Mock(side_effect=AssertionError("waited")))
    _WatchedFile(io.BytesIO()).await_freed()
