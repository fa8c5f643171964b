"""What ``-vv`` shows of the logs of libraries."""

from __future__ import annotations

import logging
from io import StringIO
from threading import Thread
from typing import TYPE_CHECKING
from wsgiref.simple_server import make_server

import httpx
import pytest

from kafkabal.cli.framework.library_logs import direct_logs

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment


def _answer(_request: WSGIEnvironment, start: StartResponse) -> list[bytes]:
    start("200 OK", [])
    return [b""]


def test_logs_do_not_show_the_url_of_a_webhook(monkeypatch: pytest.MonkeyPatch) -> None:
    """All who know the URL can post, and logs are passed on with reports of faults."""
    monkeypatch.setattr(logging.root, "handlers", [])
    stderr = StringIO()
    direct_logs(stderr, everything=True)
    with make_server("127.0.0.1", 0, _answer) as server:
        Thread(target=server.handle_request).start()
        httpx.post(f"http://127.0.0.1:{server.server_port}/secret")
    logging.root.handlers[0].close()
    assert "127.0.0.1" in stderr.getvalue()
    assert "secret" not in stderr.getvalue()
