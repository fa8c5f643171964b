"""Configs of topics, brokers, the cluster and subscriptions to client metrics (KIP-226, 339, 714, 1142)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from kafka.protocol.admin import DescribeConfigsRequest, IncrementalAlterConfigsRequest, ListConfigResourcesRequest

from kafkabal.chunks import chunked
from kafkabal.clusters.cluster_protocol import Fault
from kafkabal.clusters.config_items import (
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    ConfigValue,
    ResourceKind,
)
from kafkabal.clusters.kafka.error_mapping import NO_ERROR, check, fault_of, fault_of_error
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.clusters.kafka.parallel_requests import run_all
from kafkabal.errors import KafkabalError, MissingCapabilityError, NoResponseError, UnreachableError

_RESOURCES_A_REQUEST = 500
"""A response lists every config of a topic: for 500 topics some hundreds of kB, which take a broker milliseconds."""
_DELETE = 1
_OPERATIONS = {ConfigOperation.SET: 0, ConfigOperation.APPEND: 2, ConfigOperation.SUBTRACT: 3}
_TYPES = {
    ResourceKind.TOPIC: 2,
    ResourceKind.BROKER: 4,
    ResourceKind.BROKER_DEFAULT: 4,
    ResourceKind.CLIENT_METRICS: 16,
}
_DYNAMIC_TOPIC, _DYNAMIC_BROKER, _DYNAMIC_DEFAULT, _STATIC = range(1, 5)
_DYNAMIC_CLIENT_METRICS = 7
_OWN = {
    ResourceKind.TOPIC: _DYNAMIC_TOPIC,
    ResourceKind.BROKER: _DYNAMIC_BROKER,
    ResourceKind.CLIENT_METRICS: _DYNAMIC_CLIENT_METRICS,
}
_INHERITED = {
    _DYNAMIC_DEFAULT: ConfigSource.CLUSTER_DEFAULT,
    # for a topic, a broker's setting counts as static, dynamic or not
    _DYNAMIC_BROKER: ConfigSource.STATIC,
    _STATIC: ConfigSource.STATIC,
}


def describe_configs(
    client: KafkaClient,
    resources: Collection[ConfigResource],
    keys: Collection[str] | None,
) -> tuple[dict[ConfigResource, dict[str, ConfigValue]], dict[ConfigResource, Fault]]:
    """Values of some keys (None: all), without keys that have no value; and the resources that failed."""
    found: dict[ConfigResource, dict[str, ConfigValue]] = {}
    faults: dict[ConfigResource, Fault] = {}

    def ask(group: Sequence[ConfigResource]) -> Any:
        return _ask_one_group(client, group, _describe_request(group, keys))

    for group, response in _ask_owners(client, resources, ask):
        if isinstance(response, KafkabalError):
            faults |= dict.fromkeys(group, fault_of_error(response))
            continue
        results = _by_resource(group, response.results)
        refused = _refused(results)
        faults |= refused
        found |= {
            resource: _values(resource, result) for resource, result in results.items() if resource not in refused
        }
    return found, faults


def alter_configs(client: KafkaClient, changes: Sequence[ConfigChange]) -> dict[ConfigResource, Fault]:
    """Change keys, all of one resource in one request; returns the resources that failed.

    The configs of a broker can only be changed through that broker, or through the controller's listener if the
    settings name one.
    """
    by_resource: dict[ConfigResource, list[ConfigChange]] = {}
    for change in changes:
        by_resource.setdefault(change.resource, []).append(change)
    faults: dict[ConfigResource, Fault] = {}

    def ask(group: Sequence[ConfigResource]) -> Any:
        return _put_change(client, group, _alter_request({r: by_resource[r] for r in group}))

    for group, response in _ask_owners(client, by_resource, ask):
        if isinstance(response, KafkabalError):
            faults |= dict.fromkeys(group, fault_of_error(response))
            continue
        faults |= _refused(_by_resource(group, response.responses))
    return faults


def client_metrics_subscriptions(client: KafkaClient) -> tuple[str, ...]:
    """Names of all subscriptions to client metrics, sorted.

    Raises
    ------
    MissingCapabilityError
        If the brokers are older than Kafka 3.7, or run with ZooKeeper.
    NotAuthorizedError
        If the principal may not describe the cluster's configs.
    """
    if not client.supports(ListConfigResourcesRequest, 0):
        raise MissingCapabilityError(
            "client metrics subscriptions not supported by these brokers",
            hint="they require Kafka 3.7 or later in KRaft mode",
        )
    response = client.call_any(ListConfigResourcesRequest(resource_types=[_TYPES[ResourceKind.CLIENT_METRICS]]))
    check(response.error_code, "list the subscriptions to client metrics", permission="DescribeConfigs on the cluster")
    return tuple(sorted(resource.resource_name for resource in response.config_resources))


def _by_resource(group: Iterable[ConfigResource], results: Iterable[Any]) -> dict[ConfigResource, Any]:
    """The part of a response about each requested resource."""
    by_name = {(result.resource_type, result.resource_name): result for result in results}
    return {resource: by_name[_TYPES[resource.kind], resource.name] for resource in group}


def _refused(results: Mapping[ConfigResource, Any]) -> dict[ConfigResource, Fault]:
    return {
        resource: fault_of(result.error_code, result.error_message)
        for resource, result in results.items()
        if result.error_code != NO_ERROR
    }


def _ask_owners(
    client: KafkaClient,
    resources: Iterable[ConfigResource],
    ask: Callable[[Sequence[ConfigResource]], Any],
) -> Iterable[tuple[Sequence[ConfigResource], Any]]:
    """Ask each broker for its own configs, and any broker for the rest in chunks, in parallel; yields responses or
    errors."""
    ordered = sorted(resources)
    brokers = [(resource,) for resource in ordered if resource.kind is ResourceKind.BROKER]
    others = [resource for resource in ordered if resource.kind is not ResourceKind.BROKER]
    groups = [*brokers, *map(tuple, chunked(others, _RESOURCES_A_REQUEST))]
    return run_all({group: partial(ask, group) for group in groups}, client.deadline_of_brokers()).items()


def _ask_one_group(client: KafkaClient, group: Sequence[ConfigResource], request: Any) -> Any:
    if group[0].kind is ResourceKind.BROKER:
        return client.call_broker(int(group[0].name), request)
    return client.call_any(request)


def _put_change(client: KafkaClient, group: Sequence[ConfigResource], request: Any) -> Any:
    if group[0].kind is not ResourceKind.BROKER:
        return client.call_controller(request, _codes)
    try:
        return client.call_broker(int(group[0].name), request)
    except NoResponseError:
        raise
    except UnreachableError:
        if not client.settings.bootstrap_controllers:
            raise
        return client.call_controller_listener(request, _codes)


def _codes(response: Any) -> set[int]:
    return {result.error_code for result in response.responses}


def _describe_request(group: Sequence[ConfigResource], keys: Collection[str] | None) -> Any:
    return DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=_TYPES[resource.kind],
                resource_name=resource.name,
                configuration_keys=None if keys is None else sorted(keys),
            )
            for resource in group
        ]
    )


def _alter_request(changes: Mapping[ConfigResource, Sequence[ConfigChange]]) -> Any:
    kind = IncrementalAlterConfigsRequest.AlterConfigsResource
    return IncrementalAlterConfigsRequest(
        resources=[
            kind(
                resource_type=_TYPES[resource.kind],
                resource_name=resource.name,
                configs=[
                    kind.AlterableConfig(
                        name=change.key,
                        config_operation=_DELETE if change.value is None else _OPERATIONS[change.operation],
                        value=change.value,
                    )
                    for change in own
                ],
            )
            for resource, own in changes.items()
        ],
        validate_only=False,
    )


def _values(resource: ConfigResource, result: Any) -> dict[str, ConfigValue]:
    return {
        entry.name: ConfigValue(entry.value, _source(resource.kind, entry.config_source))
        for entry in result.configs
        if entry.value is not None or entry.is_sensitive
    }


def _source(kind: ResourceKind, code: int) -> ConfigSource:
    return ConfigSource.OWN if code == _OWN.get(kind) else _INHERITED.get(code, ConfigSource.BUILT_IN)
