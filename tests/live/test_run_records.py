"""Records of runs on real brokers."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from kafkabal.clusters.clock import SystemClock
from kafkabal.clusters.open_cluster import connect
from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.sandbox import Sandbox


class _Stepped(SystemClock):
    """A clock with a wrong time of day."""

    def __init__(self, off: timedelta) -> None:
        self._off = off

    def utc_now(self) -> datetime:
        """That of this host."""
        return super().utc_now() + self._off


@pytest.mark.parametrize("days", [-400, 2])
def test_a_host_whose_clock_is_wrong(three_brokers: Sandbox, days: int) -> None:
    """A host with a wrong clock writes and deletes records; brokers refuse times over an hour ahead (KIP-937)."""
    settings = ConnectionSettings(bootstrap_servers=tuple(three_brokers.bootstrap_servers.split(",")))
    with connect(settings, _Stepped(timedelta(days=days))) as wrong, connect(settings) as right:
        wrong.records().put("clock", b"wrong")
        assert right.records().get_all()["clock"] == b"wrong"
        wrong.records().put("clock", None)
        assert "clock" not in right.records().get_all()
