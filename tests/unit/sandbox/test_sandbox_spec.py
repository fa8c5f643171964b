"""Combinations of sandbox options that are allowed and refused."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.errors import UsageError
from kafkabal.sandbox import KafkaListener, SandboxSpec

MIB = 2**20


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"brokers": 0}, "--brokers: must be between 1 and 50: 0"),
        ({"brokers": 51}, "--brokers: must be between 1 and 50: 51"),
        ({"brokers": 2, "racks": 3}, r"--racks: must be between 0 and the number of brokers \(2\): 3"),
        ({"log_dirs": 0}, "--log-dirs: must be between 1 and 50: 0"),
        ({"log_dir_capacity_bytes": 0}, "--capacity: must be above 0"),
        ({"heap_bytes": MIB}, "--heap: must be at least 128 MiB"),
        ({"controllers": 2}, "--controllers: must be 1, 3 or 5: 2"),
        ({"controllers": 0}, "--controllers: must be 1, 3 or 5: 0"),
        ({"kafka_version": "2.8"}, r"--kafka-version: unknown version: 2\.8"),
        ({"zookeeper": True, "kafka_version": "4.1.2"}, "--kafka-version 4.1.2 and --zookeeper cannot be combined"),
        ({"zookeeper": True, "controllers": 3}, "--controllers and --zookeeper cannot be combined"),
        ({"properties": {"node.id": "7"}}, "reserved settings, set by the sandbox: node.id"),
        ({"broker_properties": {2: {"log.dirs": "/x"}}}, "reserved settings, set by the sandbox: log.dirs"),
        ({"broker_properties": {4: {}}}, "for unknown broker 4"),
        ({"broker_class_path": {9: ()}}, "for unknown broker 9"),
        (
            {"listeners": (KafkaListener(name="A", protocol="SSL"), KafkaListener(name="A", protocol="SSL"))},
            "duplicate listener name",
        ),
    ],
)
def test_invalid_specifications_are_refused(settings: dict[str, Any], complaint: str) -> None:
    """Every contradiction is named before anything starts."""
    with pytest.raises(UsageError, match=complaint):
        SandboxSpec(**settings)


@pytest.mark.parametrize("name", ["", "tls", "T LS", "PLAINTEXT", "CONTROLLER"])
def test_a_listener_has_a_name_of_its_own(name: str) -> None:
    """A listener name that Kafka refuses, or that the sandbox uses itself, is refused."""
    with pytest.raises(UsageError):
        KafkaListener(name=name, protocol="SSL")


@pytest.mark.parametrize(
    ("settings", "racks"),
    [
        ({"brokers": 6, "racks": 3}, ["r0", "r1", "r2", "r0", "r1", "r2"]),
        ({"brokers": 3, "racks": 2}, ["r0", "r1", "r0"]),
        ({"brokers": 2, "racks": 0}, [None, None]),
        ({"brokers": 2}, ["r0", "r1"]),
        ({"brokers": 4}, ["r0", "r1", "r2", "r0"]),
    ],
)
def test_racks_are_dealt_in_turn(settings: dict[str, Any], racks: list[str | None]) -> None:
    """Brokers are spread over the racks as evenly as their number allows."""
    spec = SandboxSpec(**settings)
    assert [spec.rack_of(broker) for broker in range(1, spec.brokers + 1)] == racks


@pytest.mark.parametrize(
    ("settings", "heap_bytes"),
    [({}, 256 * MIB), ({"expected_replicas": 5000}, 1006 * MIB), ({"heap_bytes": 512 * MIB}, 512 * MIB)],
)
def test_heap_grows_with_the_replicas(settings: dict[str, Any], heap_bytes: int) -> None:
    """A requested heap is used, otherwise one that suffices for the expected replicas."""
    assert SandboxSpec(**settings).broker_heap_bytes == heap_bytes


@pytest.mark.parametrize(
    ("settings", "version"), [({}, "4.1.2"), ({"zookeeper": True}, "3.9.2"), ({"kafka_version": "4.3.1"}, "4.3.1")]
)
def test_version(settings: dict[str, Any], version: str) -> None:
    """With ZooKeeper, the default is the last Kafka version that uses it."""
    assert SandboxSpec(**settings).version == version
