"""Four brokers and three controllers, a plan that needs every kind of step, and processes that execute it.

Every test has its own topics and ends its run; whatever it kills, pauses or throttles is restored afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from kafkabal.clusters.open_cluster import connect
from kafkabal.config.connection_settings import ConnectionSettings, ZookeeperAddress
from kafkabal.sandbox import KafkaListener, Sandbox, SandboxSpec
from tests.live.conftest import SharedClusters

pytest.register_assert_rewrite(*(f"tests.live.executor.{name}" for name in ("hosts", "scenery", "stage")))

from tests.live.executor.broker_links import LINK, BrokerLinks, link_ports  # noqa: E402
from tests.live.executor.scenery import MOVES_BYTES, STAYS_BYTES  # noqa: E402 (asserts are rewritten on import)
from tests.live.executor.stage import Stage  # noqa: E402

_numbers = count(1)
SESSION_OF_A_TOKEN_S = 4.0
"""After so long brokers want new credentials of those who come by SASL (KIP-368), and close connections without."""
FOUR_BROKERS = SandboxSpec(
    brokers=4,
    racks=2,
    controllers=3,
    listeners=(KafkaListener(name="SASL", protocol="SASL_PLAINTEXT"),),
    properties={
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:operator",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.sasl.oauthbearer.sasl.jaas.config": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            'unsecuredLoginStringClaim_sub="broker";'
        ),
        "listener.name.sasl.oauthbearer.connections.max.reauth.ms": f"{SESSION_OF_A_TOKEN_S * 1000:.0f}",
        "group.min.session.timeout.ms": "1000",
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        "replica.high.watermark.checkpoint.interval.ms": "500",  # how soon a broker notices a failed disk
        "auto.leader.rebalance.enable": "false",  # the run's clock is the only one
    },
)


def make_stage(sandbox: Sandbox, folder: Path) -> Iterator[Stage]:
    """Create the topics of a test, and delete them afterwards."""
    servers = tuple(sandbox.bootstrap_servers.split(","))
    settings = ConnectionSettings(bootstrap_servers=servers)
    address = ZookeeperAddress(servers=sandbox.zookeeper, connection=settings) if sandbox.zookeeper else settings
    number = next(_numbers)
    moves, stays = f"moves-{number}", f"stays-{number}"
    sizes = {moves: MOVES_BYTES, stays: STAYS_BYTES}
    with connect(address) as cluster:
        made = Stage(sandbox, folder, cluster, sizes, moves, stays)
        made.prepare()
        try:
            yield made
        finally:
            made.tidy_up()


@pytest.fixture(scope="module")
def four_brokers(shared_clusters: SharedClusters) -> Sandbox:
    """Four brokers and three controllers, with an authorizer: named principals may do what they are allowed to."""
    return shared_clusters.get("executor", FOUR_BROKERS)


@pytest.fixture
def stage(four_brokers: Sandbox, tmp_path: Path) -> Iterator[Stage]:
    """Two of the four brokers nearly empty."""
    yield from make_stage(four_brokers, tmp_path)


@pytest.fixture(scope="session")
def links() -> Iterator[BrokerLinks]:
    """A proxy in front of each of four brokers."""
    made = BrokerLinks(4)
    yield made
    made.close()


@pytest.fixture(scope="module")
def linked_brokers(shared_clusters: SharedClusters, links: BrokerLinks) -> Sandbox:
    """Four brokers that reach each other only through the proxies, and three controllers."""
    properties = {**FOUR_BROKERS.properties, "inter.broker.listener.name": LINK, "replica.lag.time.max.ms": "4000"}
    spec = replace(FOUR_BROKERS, listeners=(*FOUR_BROKERS.listeners, links.listener()), properties=properties)
    sandbox = shared_clusters.get("linked", spec)
    links.serve(link_ports(sandbox))
    return sandbox


@pytest.fixture
def linked_stage(linked_brokers: Sandbox, tmp_path: Path) -> Iterator[Stage]:
    """The same stage on brokers that can be disconnected from each other."""
    yield from make_stage(linked_brokers, tmp_path)


@pytest.fixture
def zookeeper_stage(zookeeper_brokers: Sandbox, tmp_path: Path) -> Iterator[Stage]:
    """The same stage on a cluster with a ZooKeeper."""
    yield from make_stage(zookeeper_brokers, tmp_path)
