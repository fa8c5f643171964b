"""Notifications in a real Alertmanager, of the package prometheus-alertmanager; skipped where it is not installed."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import sleep
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from kafkabal.reporting.notifications.notifier import Notifier
from kafkabal.reporting.notifications.watch_notifications import notification_of
from kafkabal.watch import EventKind, WatchEvent


@pytest.fixture
def alertmanager(tmp_path: Path) -> Iterator[str]:
    """Address of one without receivers."""
    program = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    if program is None:
        pytest.skip("prometheus-alertmanager is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    config = tmp_path / "alertmanager.yml"
    config.write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
    words = (program, f"--config.file={config}", f"--storage.path={tmp_path / 'data'}")
    log = tmp_path / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            (*words, f"--web.listen-address={address}", "--cluster.listen-address="), stdout=output, stderr=output
        )
    try:
        _until(lambda: _answers(address) or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        yield address
    finally:
        process.terminate()
        process.wait(30)


def test_an_alert_fires_until_the_watch_resolves_it(alertmanager: str) -> None:
    """A dead broker is one alert, whose end is put off again and again; it is over as soon as the broker is back."""
    warnings: list[str] = []
    notifier = Notifier(f"http://{alertmanager}/api/v2/alerts", "prod", warnings.append, repeat_s=0.1)
    for kind in (EventKind.BROKER_UNREACHABLE, EventKind.BROKER_DEAD):
        notifier.post(notification_of(WatchEvent(at=_now(), event=kind, message="broker 3", broker=3)))
    _until(lambda: _names(alertmanager) == ["kafkabal-broker-dead"])

    (first,) = _alerts(alertmanager)
    _until(lambda: all(alert["endsAt"] > first["endsAt"] for alert in _alerts(alertmanager)))
    assert _names(alertmanager) == ["kafkabal-broker-dead"]

    notifier.post(notification_of(WatchEvent(at=_now(), event=EventKind.BROKER_BACK, message="back", broker=3)))
    _until(lambda: not _alerts(alertmanager))
    notifier.close()
    assert not warnings


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _alerts(address: str) -> list[dict[str, Any]]:
    with urlopen(f"http://{address}/api/v2/alerts", timeout=10) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found


def _names(address: str) -> list[str]:
    return [alert["labels"]["alertname"] for alert in _alerts(address)]


def _answers(address: str) -> bool:
    try:
        with urlopen(f"http://{address}/-/ready", timeout=10):
            return True
    except (URLError, OSError):
        return False


def _until(holds: Callable[[], bool]) -> None:
    """Wait; a test that hangs is ended by its timeout."""
    while not holds():
        sleep(0.1)
