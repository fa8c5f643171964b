"""A command that waits without a display says so."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from kafkabal.cli.commands.rebalance import status
from kafkabal.cli.framework.slow_notice import saying_if_slow
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.testing.cluster_builders import brokers, cluster, topic
from tests.cli.simulated import simulate


def test_a_fast_block_says_nothing() -> None:
    """Its timer is stopped at the end."""
    said: list[str] = []
    with saying_if_slow(said.append, "slow", after_s=60.0):
        timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
    for timer in timers:
        timer.join(30.0)
    assert not said
    assert not any(timer.is_alive() for timer in timers)


def test_a_status_that_waits_for_the_cluster_says_so(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a dead controller, where every broker is asked in turn."""
    simulation = simulate(InMemoryCluster.of(cluster(brokers(2), [topic("t", [1, 2])])), run_cli, monkeypatch)
    read, has_said = InMemoryCluster.records, threading.Event()

    def slow(*arguments: Any) -> Any:
        assert has_said.wait(60.0)
        return read(*arguments)

    def at_once(say: Callable[[str], None], text: str) -> Any:
        def said(text: str) -> None:
            say(text)
            has_said.set()

        return saying_if_slow(said, text, after_s=0.01)

    monkeypatch.setattr(InMemoryCluster, "records", slow)
    monkeypatch.setattr(status, "saying_if_slow", at_once)
    shown = simulation.run("rebalance", "status")
    assert (shown.code, shown.err) == (0, "still waiting for the cluster to respond\n")
