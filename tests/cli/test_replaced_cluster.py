"""A run whose cluster is replaced by another one at the same addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkabal.clusters import Capability
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import ExitCode
from tests.cli.simulated import SLOWLY, half_empty_cluster, simulate

_CHANGES = ("alter_reassignments", "alter_configs", "move_log_dirs", "elect_preferred_leaders")


@pytest.mark.parametrize("lock", ["of the cluster", "of this host"])
@pytest.mark.parametrize("gap_s", [0.0, 60.0], ids=["at once", "after a minute"])
def test_a_run_changes_nothing_on_another_cluster(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, lock: str, gap_s: float
) -> None:
    """As after a switch of DNS: no move is started there, and no throttle is set or restored; the command ends with 4.
    Where the former cluster responds again, its run is resumed."""
    simulation = simulate(half_empty_cluster(), run_cli, monkeypatch)
    kafka = simulation.memory.kafka
    clock, ours, changed = kafka.clock, kafka.parts.cluster_id, []
    if lock == "of this host":
        capabilities = simulation.memory.capabilities - {Capability.LOCK}
        monkeypatch.setattr(InMemoryCluster, "capabilities", property(lambda _: capabilities))
    for name in _CHANGES:
        _record_calls(monkeypatch, name, lambda name=name: changed.append((kafka.parts.cluster_id, name)))

    def switch() -> None:
        kafka.parts.cluster_id = "another"
        for broker in kafka.parts.brokers:
            kafka.start(broker)

    begin_s = clock.monotonic()
    for broker in kafka.parts.brokers if gap_s else ():
        clock.at(begin_s + 10, lambda broker=broker: kafka.kill(broker))
    clock.at(begin_s + 10 + gap_s, switch)
    ended = simulation.run(*SLOWLY)
    assert ended.code == ExitCode.UNSAFE, ended.err
    error, hint = ended.err.splitlines()[-2:]
    assert f" is cluster another now, not {ours}: run " in error
    assert hint.endswith("resume it at the addresses that the former cluster has now: -b HOST:PORT")
    assert {cluster_id for cluster_id, _ in changed} == {ours}

    kafka.parts.cluster_id = ours
    clock.sleep(60)  # until the session of the lock has expired
    resumed = simulation.run("rebalance", "resume", "--yes")
    assert (resumed.code, "partitions moved" in resumed.out) == (ExitCode.DONE, True), resumed.err


def _record_calls(monkeypatch: pytest.MonkeyPatch, name: str, record: Callable[[], None]) -> None:
    request = getattr(InMemoryCluster, name)

    def recorded(*arguments: Any, **options: Any) -> Any:
        record()
        return request(*arguments, **options)

    monkeypatch.setattr(InMemoryCluster, name, recorded)
