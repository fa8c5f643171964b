"""Options with which clients of stores are created."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from kafkabal.sources.remote_files import RemoteFolder

fsspec = pytest.importorskip("fsspec")
aiohttp = pytest.importorskip("aiohttp")


class Client(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """Stands for gcsfs, whose requests have no time limit unless it is given one."""

    protocol = ("gs", "gcs")
    cachable = False

    def __init__(self, requests_timeout: Any = None, **options: Any) -> None:
        super().__init__(**options)
        self.requests_timeout = requests_timeout


@pytest.mark.parametrize("protocol", ["gs", "gcs"])
def test_a_google_bucket_is_not_waited_for_forever(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request gives up when nothing arrives; a limit that the user has configured is kept."""
    monkeypatch.setitem(import_module("fsspec.registry")._registry, protocol, Client)
    limit = RemoteFolder(f"{protocol}://bucket/set")._files.requests_timeout
    assert limit.sock_connect < 100
    assert limit.sock_read < 100
    assert limit.total is None  # a large file may take longer
    monkeypatch.setitem(fsspec.config.conf, "gs", {"requests_timeout": 7})
    assert RemoteFolder(f"{protocol}://bucket/set")._files.requests_timeout == 7
