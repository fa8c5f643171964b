"""Throttles of other people: kept, merged, skipped or restored; and what happens if ours may not be set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest
from kafka.admin import (
    ACL,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourceType,
)
from msgspec.structs import replace

from kafkabal.clusters.cluster_protocol import Cluster
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ConfigSource, ConfigValue, ResourceKind
from kafkabal.clusters.open_cluster import connect
from kafkabal.config.connection_settings import (
    ConnectionSettings,
    OAuthSettings,
    SaslMechanism,
    SaslSettings,
    SecurityProtocol,
)
from kafkabal.errors import NotAuthorizedError
from kafkabal.executor.execute_run import apply
from kafkabal.executor.run_options import Throttle
from kafkabal.executor.state.run_states import RunOutcome
from kafkabal.model.kafka_configs import FOLLOWER_RATE, LEADER_RATE, LEADER_REPLICAS
from tests.live.executor.stage import Stage

_OURS = "100000"


def _broker(number: int) -> ConfigResource:
    return ConfigResource(ResourceKind.BROKER, str(number))


def test_throttles_of_others(stage: Stage) -> None:
    """A lower rate is kept, a higher one lowered, lists merged; what others set meanwhile stays, and is reported."""
    lower = ConfigChange(_broker(2), LEADER_RATE, "50000")
    assert not stage.cluster.alter_configs([lower])
    stage.until(lambda: stage.found_configs()[_broker(2)][LEADER_RATE].value == lower.value)
    before = stage.found_configs()
    process = stage.begin(stage.slow)
    stage.until(lambda: stage.in_flight(stage.moving(0)))
    stage.soon(lambda: _check_during(stage))
    meanwhile = [
        ConfigChange(_broker(4), FOLLOWER_RATE, "6000000"),
        ConfigChange(_broker(2), LEADER_RATE, "7000000"),
    ]
    assert not stage.cluster.alter_configs(meanwhile)
    stage.hasten()
    code, said = process.end()
    assert code == 0, said
    before[_broker(4)][FOLLOWER_RATE] = ConfigValue("6000000", ConfigSource.OWN)
    before[_broker(2)][LEADER_RATE] = ConfigValue("7000000", ConfigSource.OWN)
    stage.assert_configs(before)


def _check_during(stage: Stage) -> None:
    during = stage.found_configs()
    assert [during[_broker(b)][LEADER_RATE].value for b in (1, 2, 3)] == [_OURS, "50000", "900000000"]
    assert during[_broker(4)][FOLLOWER_RATE].value == _OURS
    listed = during[ConfigResource(ResourceKind.TOPIC, stage.moves)][LEADER_REPLICAS].value
    assert {"3:1", "77:7", "0:1", "0:2"} <= set(listed.split(","))


@pytest.fixture
def loop(stage: Stage) -> Iterator[Cluster]:
    """The cluster as seen by a principal that may move replicas and read configs, but not change any."""
    allowed = [
        (ResourceType.CLUSTER, "kafka-cluster", ["DESCRIBE", "DESCRIBE_CONFIGS", "ALTER"]),
        (ResourceType.TOPIC, "*", ["DESCRIBE", "DESCRIBE_CONFIGS"]),
    ]
    acls = [
        ACL(
            principal="User:loop",
            host="*",
            operation=ACLOperation[operation],
            permission_type=ACLPermissionType.ALLOW,
            resource_pattern=ResourcePattern(kind, name, ACLResourcePatternType.LITERAL),
        )
        for kind, name, operations in allowed
        for operation in operations
    ]
    sasl = SaslSettings(mechanism=SaslMechanism.OAUTHBEARER, oauth=OAuthSettings(unsecured_subject="loop"))
    settings = ConnectionSettings(
        bootstrap_servers=tuple(stage.sandbox.bootstrap_servers_of("SASL").split(",")),
        security_protocol=SecurityProtocol.SASL_PLAINTEXT,
        sasl=sasl,
    )
    with closing(_admin(stage)) as admin:
        admin.create_acls(acls)
    with connect(settings) as cluster:
        stage.until(lambda: _is_known_to_all(stage, cluster))
        yield cluster


def _is_known_to_all(stage: Stage, cluster: Cluster) -> bool:
    """Whether every broker has heard what is allowed."""
    seen = cluster.partition_status(stage.sizes).keys()
    with suppress(NotAuthorizedError):
        cluster.replica_logs(stage.cluster.broker_ids(), seen)
        return len(seen) == len(stage.start)
    return False


def _admin(stage: Stage) -> Any:
    return KafkaAdminClient(bootstrap_servers=list(stage.servers))


def test_without_permission_for_throttles(stage: Stage, loop: Cluster) -> None:
    """A throttled run is refused before anything moves; an unthrottled one is applied."""
    with pytest.raises(NotAuthorizedError) as refused:
        apply(stage.environment(cluster=loop), stage.plan, stage.slow)
    assert "--throttle none" in (refused.value.hint or "")
    stage.assert_as_at_start()
    result = apply(stage.environment(cluster=loop), stage.plan, replace(stage.fast, throttle=Throttle()))
    assert result is not None
    assert result.outcome is RunOutcome.COMPLETE
    stage.assert_as_planned()
