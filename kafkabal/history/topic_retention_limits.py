"""How large a partition becomes before Kafka deletes as much as is written.

::

    kept by time  = rate x (retention.ms + check / 2) + segment / 2
    kept by bytes = retention.bytes + segment / 2 + rate x check / 2
    segment       = min(segment.bytes, rate x segment.ms)
    steady state  = the smaller one

Kafka deletes whole segments: each once its newest record is older than ``retention.ms``, or once the others hold
``retention.bytes`` without it. It checks every ``log.retention.check.interval.ms``, so a log varies by one segment, and
half of it is the mean. With tiered storage the local limits replace the others (KIP-405). What compaction leaves of a
log is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from kafkabal.clusters import Capability, Cluster, ConfigResource, ResourceKind
from kafkabal.errors import KafkabalError
from kafkabal.model import (
    CLEANUP_POLICY,
    F64,
    LOCAL_RETENTION_BYTES,
    LOCAL_RETENTION_MS,
    RETENTION_BYTES,
    RETENTION_MS,
    SEGMENT_BYTES,
    SEGMENT_MS,
    Bools,
    ClusterState,
    is_tiered,
)
from kafkabal.units import DAY_S

_MS: Final = 1000.0
_UNLIMITED_MS: Final = 100 * 365 * DAY_S * _MS
"""A retention of so long, such as the largest 64-bit number, is written in place of -1: no cluster lives to see it."""
_UNLIMITED_BYTES: Final = 2.0**60
"""The same of a partition's bytes: more than a billion GB."""
_AS_RETENTION: Final = -2.0
"""Value of a local limit that means: the same as the limit of the whole log."""
_CHECK_KEY: Final = "log.retention.check.interval.ms"
# names of the brokers' defaults, by precedence, and how many units of the topic's config one of their units is
_BROKER_KEYS: Final[Mapping[str, tuple[tuple[str, float], ...]]] = {
    RETENTION_MS: (("log.retention.ms", 1), ("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)),
    RETENTION_BYTES: (("log.retention.bytes", 1),),
    SEGMENT_BYTES: (("log.segment.bytes", 1),),
    SEGMENT_MS: (("log.roll.ms", 1), ("log.roll.hours", 3_600_000)),
    LOCAL_RETENTION_MS: (("log.local.retention.ms", 1),),
    LOCAL_RETENTION_BYTES: (("log.local.retention.bytes", 1),),
}
_BUILT_IN: Final[Mapping[str, float]] = {
    RETENTION_MS: 604_800_000,
    RETENTION_BYTES: -1,
    SEGMENT_BYTES: 2**30,
    SEGMENT_MS: 604_800_000,
    LOCAL_RETENTION_MS: _AS_RETENTION,
    LOCAL_RETENTION_BYTES: _AS_RETENTION,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionDefaults:
    """Defaults for topics that set nothing themselves; Kafka's own unless the brokers report others."""

    values: Mapping[str, float]
    """By the topic's config, in its unit; negative for no limit."""
    cleanup_policy: str = "delete"
    check_s: float = 300.0
    """How often the brokers check for segments to delete."""
    is_read: bool = False
    """Whether a broker reported them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Retention:
    """Limits of every partition, on one broker; infinite if there is none."""

    keep_s: F64
    keep_bytes: F64
    segment_bytes: F64
    segment_s: F64
    is_compacted: Bools
    """Compaction is on, so what stays in the log is unknown."""
    check_s: float

    def steady_bytes(self, in_bytes_per_s: F64) -> F64:
        """float64, shape (n_partitions,): mean bytes of each log at this write rate; infinite without a limit."""
        segment = np.minimum(self.segment_bytes, in_bytes_per_s * self.segment_s)
        late = in_bytes_per_s * self.check_s / 2
        # infinite retention of nothing is nothing, not unknown
        with np.errstate(invalid="ignore"):
            by_time = np.where(in_bytes_per_s > 0, in_bytes_per_s * self.keep_s, 0.0)
        by_time = np.where(np.isinf(self.keep_s), np.inf, by_time) + late + segment / 2
        return np.asarray(np.minimum(by_time, self.keep_bytes + late + segment / 2))


def kafka_defaults() -> RetentionDefaults:
    """Kafka's own defaults."""
    return RetentionDefaults(values=_BUILT_IN)


def read_defaults(cluster: Cluster, brokers: tuple[int, ...]) -> RetentionDefaults:
    """A broker's defaults for topics that set nothing; Kafka's own if no broker can be asked.

    Parameters
    ----------
    brokers
        Ids of live brokers; the first that responds is enough, because with differing defaults no size would become
        steady anyway.
    """
    if Capability.CONFIGS not in cluster.capabilities:
        return kafka_defaults()
    keys = [name for names in _BROKER_KEYS.values() for name, _ in names] + ["log.cleanup.policy", _CHECK_KEY]
    for broker in brokers[:3]:
        try:
            found, _ = cluster.configs([ConfigResource(ResourceKind.BROKER, str(broker))], keys)
        except KafkabalError:
            continue
        for values in found.values():
            return _defaults({key: value.value for key, value in values.items()})
    return kafka_defaults()


def retention_of(state: ClusterState, defaults: RetentionDefaults) -> Retention:
    """The limits of every partition of a state that includes topic configs."""
    topic = state.partitions.topic
    configs = [config or {} for config in state.topics.configs]

    def column(key: str) -> F64:
        default = defaults.values[key]
        return np.fromiter((_number(config.get(key), default) for config in configs), np.float64, len(configs))

    tiered = is_tiered(state)
    policy = [config.get(CLEANUP_POLICY, defaults.cleanup_policy).replace(" ", "").split(",") for config in configs]
    deletes = np.fromiter(("delete" in words for words in policy), np.bool_, len(configs))
    compacts = np.fromiter(("compact" in words for words in policy), np.bool_, len(configs))
    keep_ms = _local(column(RETENTION_MS), column(LOCAL_RETENTION_MS), tiered)
    keep_bytes = _local(column(RETENTION_BYTES), column(LOCAL_RETENTION_BYTES), tiered)
    return Retention(
        keep_s=np.where(deletes, _limit(keep_ms, _UNLIMITED_MS) / _MS, np.inf)[topic],
        keep_bytes=np.where(deletes, _limit(keep_bytes, _UNLIMITED_BYTES), np.inf)[topic],
        segment_bytes=column(SEGMENT_BYTES)[topic],
        segment_s=(_limit(column(SEGMENT_MS), np.inf) / _MS)[topic],
        is_compacted=compacts[topic],
        check_s=defaults.check_s,
    )


def _local(whole: F64, local: F64, tiered: Bools) -> F64:
    return np.where(tiered & (local != _AS_RETENTION), local, whole)


def _limit(values: F64, unlimited_from: float) -> F64:
    return np.where((values < 0) | (values >= unlimited_from), np.inf, values)


def _defaults(found: Mapping[str, str | None]) -> RetentionDefaults:
    values = {}
    for key, names in _BROKER_KEYS.items():
        stated = [(found[name], unit) for name, unit in names if found.get(name)]
        values[key] = _number(stated[0][0], _BUILT_IN[key]) * stated[0][1] if stated else _BUILT_IN[key]
        if values[key] < 0 and key not in (LOCAL_RETENTION_MS, LOCAL_RETENTION_BYTES):
            values[key] = -1.0
    check_ms = _number(found.get(_CHECK_KEY), 300_000.0)
    policy = found.get("log.cleanup.policy") or "delete"
    return RetentionDefaults(values=values, cleanup_policy=policy, check_s=check_ms / _MS, is_read=True)


def _number(text: str | None, default: float) -> float:
    """A config as a number; the default if it is not set, or not a number."""
    try:
        value = float(text) if text else default
    except ValueError:
        return default
    return value if np.isfinite(value) else default
