"""Keep new replicas off brokers that are being drained, where the cluster can (KIP-1066, Kafka 4.3).

Without a cordon, every topic that is created meanwhile may put replicas on the broker again. A run that has emptied its
brokers leaves them cordoned, since they are to be stopped; one that is rolled back, cancelled or stopped restores what
was set before.
"""

from __future__ import annotations

from collections.abc import Collection

from kafkabal.clusters import Capability, Cluster, ConfigChange, ConfigResource, ConfigSource, ResourceKind
from kafkabal.errors import OperationError
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.state.run_record import Original
from kafkabal.model import CORDONED_LOG_DIRS

_ALL_DIRS = "*"


def read_cordons(cluster: Cluster, brokers: Collection[int]) -> tuple[Original, ...]:
    """What is set on these brokers now; those that are dead, do not know the config or do not answer are left out."""
    if not brokers or Capability.CONFIGS not in cluster.capabilities:
        return ()
    resources = {ConfigResource(ResourceKind.BROKER, str(b)) for b in set(brokers) & cluster.broker_ids()}
    try:
        values, _ = cluster.configs(resources, [CORDONED_LOG_DIRS])
    except OperationError:
        return ()
    known = {r: found[CORDONED_LOG_DIRS] for r, found in values.items() if CORDONED_LOG_DIRS in found}
    return tuple(Original.found(r, CORDONED_LOG_DIRS, known[r]) for r in sorted(known))


def cordon(context: RunContext) -> None:
    """Cordon all log dirs of the brokers of the run; a broker that refuses is warned of, and drained all the same."""
    _change(context, {o.of: _ALL_DIRS for o in context.record.cordons}, "cannot cordon")


def lift_cordons(context: RunContext) -> None:
    """Restore what was set before, except what another user has changed since."""
    ours = {o.of: o.own_value for o in context.record.cordons}
    if not ours:
        return
    values, _ = context.cluster.configs(set(ours), [CORDONED_LOG_DIRS])
    now = {r: found.get(CORDONED_LOG_DIRS) for r, found in values.items()}
    is_ours = {r for r, v in now.items() if v is not None and (v.value, v.source) == (_ALL_DIRS, ConfigSource.OWN)}
    changed = {r: value for r, value in ours.items() if r in is_ours and value != _ALL_DIRS}
    _change(context, changed, "cannot restore the cordons of")


def _change(context: RunContext, wanted: dict[ConfigResource, str | None], complaint: str) -> None:
    changes = [ConfigChange(resource, CORDONED_LOG_DIRS, value) for resource, value in sorted(wanted.items())]
    if not changes:
        return
    failed = context.retries.until_success(lambda: context.effects.alter_configs(changes))
    for resource, fault in failed.items():
        context.warn(f"{complaint} {resource}: {fault}")
