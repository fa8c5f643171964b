"""What the checks of a live cluster conclude from what its brokers respond."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kafkabal.clusters import SystemClock
from kafkabal.clusters.kafka.broker_reachability import BrokerReachability
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.config import ConnectionSettings
from kafkabal.doctor import cluster_checks
from kafkabal.doctor.check_result import CheckStatus
from kafkabal.doctor.cluster_checks import _check_servers, _check_versions, _with_timeout, check_cluster
from kafkabal.errors import UnreachableError
from kafkabal.testing.cluster_builders import brokers, cluster, topic


def _broker(release: str) -> BrokerReachability:
    """A broker that responds; an empty release stands for one that does not."""
    if not release:
        return BrokerReachability(address="b:9092", response_s=None, versions={}, error=UnreachableError("hangs"))
    return BrokerReachability(address="b:9092", response_s=0.01, release=release, versions={3: (0, int(release[-1]))})


@pytest.mark.parametrize(
    ("releases", "detail"),
    [
        (["4.1", "4.1"], "all brokers run Kafka 4.1"),
        (["4.1", "", "4.1"], "2 of 3 brokers responded; they run Kafka 4.1"),
        (["4.0", "", "4.1"], "brokers run different versions: Kafka 4.0, 4.1"),
        ([""], "no broker responds"),
    ],
)
def test_versions_are_stated_of_brokers_that_responded(releases: list[str], detail: str) -> None:
    """During a rolling upgrade, the broker that does not respond may be the one with another version."""
    assert _check_versions([_broker(release) for release in releases]).detail == detail


@pytest.mark.parametrize(("deadline_s", "request_s"), [(3.0, 9.0), (10.0, 30.0), (60.0, 30.0)])
def test_no_check_waits_longer_than_the_brokers_may_take(deadline_s: float, request_s: float) -> None:
    """With a controller that hangs, each of several checks would else wait for the whole request timeout."""
    settings = _with_timeout(ConnectionSettings(bootstrap_servers=("b:9092",), request_timeout_s=30.0), deadline_s)
    assert (settings.request_timeout_s, settings.broker_timeout_s) == (request_s, deadline_s)


def test_a_controller_that_does_not_respond_is_a_finding() -> None:
    """It is named beside what brokers report, which is still checked."""
    memory = InMemoryCluster.of(cluster(brokers(2), [topic("t", [1, 2])]))
    memory.kafka.kill(2)
    memory.kafka.parts.controller_responds = False
    capabilities, controller, dead, *_ = check_cluster(memory, 3.0, Path("/nowhere"))
    assert (capabilities.status, dead.what) == (CheckStatus.OK, "dead brokers")
    assert (controller.what, controller.status) == ("controller", CheckStatus.FAILED)
    assert controller.detail == "no controller responded within 3 s"


def test_bootstrap_servers_are_asked_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that hang cost the time of one; they are reported in the order in which they were given."""
    servers = tuple(f"b{number}:9092" for number in range(8))
    all_asked = threading.Barrier(len(servers))

    def ask(server: str, *_: object) -> tuple[str, float]:
        all_asked.wait(10)
        raise UnreachableError(f"{server} did not respond")

    monkeypatch.setattr(cluster_checks, "_ask_server", ask)
    checks = list(_check_servers(ConnectionSettings(bootstrap_servers=servers), SystemClock()))
    assert [check.what for check in checks] == [f"bootstrap server {server}" for server in servers]
    assert all("did not respond" in check.detail for check in checks)
