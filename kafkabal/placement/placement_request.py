"""Placement requests: topics whose numbers are all decided and feasible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafkabal.config import TopicSpec
from kafkabal.errors import UsageError
from kafkabal.model import ClusterState, move_bytes
from kafkabal.placement.check_topic_specs import check_specs, check_total
from kafkabal.placement.eligible_brokers import EligibleBrokers
from kafkabal.placement.placement_policy import Layout, PlacementPolicy


class TopicExistsError(UsageError):
    """A topic to create exists, since before the cluster was read or since then."""

    def __init__(self, name: str) -> None:
        super().__init__(f"topic {name} already exists", hint="use --if-not-exists to skip existing topics")


class TopicCollidesError(UsageError):
    """A topic to create differs only in '.' and '_' from one that exists, since before the cluster was read or since
    then."""

    def __init__(self, name: str, rival: str) -> None:
        super().__init__(
            f"topic {name} collides with {rival}: Kafka treats '.' and '_' as equal in metric names",
            hint="choose a name that differs in more than '.' and '_'",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRequest:
    """A topic to place."""

    spec: TopicSpec
    partitions: int
    replication_factor: int
    partition_bytes: int
    """Expected size of each partition."""


def placement_requests(
    specs: Sequence[TopicSpec], sites: EligibleBrokers, policy: PlacementPolicy
) -> tuple[PlacementRequest, ...]:
    """Decide all numbers, and refuse infeasible ones before anything is placed.

    Raises
    ------
    UsageError
        If a name is taken or duplicate, a number is missing or does not fit the layout, there are too few brokers for
        the replication factor, or too many replicas in total.
    """
    check_specs(specs, policy)
    _check_names([spec.name for spec in specs], sites.state.topics.name)
    n_eligible = int(sites.takes.sum())
    mean = mean_partition_bytes(sites.state)
    requests = tuple(_request(spec, n_eligible, policy, mean) for spec in specs)
    check_total(sum(request.partitions * request.replication_factor for request in requests))
    return requests


def mean_partition_bytes(state: ClusterState) -> int:
    """Mean size of the partitions whose size is known; 0 if none is."""
    each = move_bytes(state)
    known = each[each >= 0]
    return round(float(known.mean())) if known.size else 0


def _check_names(names: Sequence[str], existing: Sequence[str]) -> None:
    # Kafka's metric names do not distinguish '.' from '_', so Kafka refuses a topic that differs only in these
    taken = {_metric_name(name): name for name in sorted(existing, reverse=True)}
    exact = {*existing}
    for name in names:
        if name in exact:
            raise TopicExistsError(name)
        exact.add(name)
        rival = taken.setdefault(_metric_name(name), name)
        if rival != name:
            raise TopicCollidesError(name, rival)


def _metric_name(topic: str) -> str:
    return topic.replace(".", "_")


def _request(spec: TopicSpec, n_eligible: int, policy: PlacementPolicy, mean_bytes: int) -> PlacementRequest:
    if not n_eligible:
        raise UsageError(
            f"topic {spec.name}: no broker accepts new replicas",
            hint="all are dead, cordoned, excluded or without a working log dir: see 'kafkabal inspect'",
        )
    partitions = _partitions(spec, n_eligible, policy)
    factor = spec.replication_factor
    assert factor is not None  # checked above
    if factor > n_eligible:
        accept = "broker accepts" if n_eligible == 1 else "brokers accept"
        raise UsageError(
            f"topic {spec.name}: replication factor {factor} needs as many brokers; only {n_eligible} {accept} "
            "new replicas",
            hint="use a lower replication factor, or add brokers",
        )
    expected = mean_bytes if spec.partition_bytes is None else spec.partition_bytes
    return PlacementRequest(spec=spec, partitions=partitions, replication_factor=factor, partition_bytes=expected)


def _partitions(spec: TopicSpec, n_eligible: int, policy: PlacementPolicy) -> int:
    if policy.layout is Layout.BROKERS_PLUS_2:
        if spec.partitions not in (None, n_eligible + 2):
            raise UsageError(
                f"topic {spec.name}: placement {policy.layout} creates {n_eligible + 2} partitions on this cluster, "
                f"not {spec.partitions}",
                hint="leave out the number of partitions",
            )
        return n_eligible + 2
    assert spec.partitions is not None
    return spec.partitions
