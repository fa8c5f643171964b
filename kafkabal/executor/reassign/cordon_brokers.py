"""Keep new replicas off brokers that are being drained, if the cluster can (KIP-1066, Kafka 4.3).

Without a cordon, every topic created meanwhile may put replicas on the broker again. A run that has drained its brokers
leaves them cordoned, since they will be stopped; a run that is rolled back, cancelled or stopped restores what was set
before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafkabal.clusters import Capability, Cluster, ConfigChange, ConfigResource, ConfigSource, Fault, ResourceKind
from kafkabal.errors import OperationError
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.state.run_record import Original
from kafkabal.model import CORDONED_LOG_DIRS

_ALL_DIRS = "*"


def read_cordons(cluster: Cluster, brokers: Collection[int]) -> tuple[Original, ...]:
    """The current config of these brokers, except those that are dead, lack the config or do not respond."""
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
    """Cordon all log dirs of the brokers to drain; warn of a broker that refuses, and drain it all the same."""
    for resource, fault in _change(context, {o.of: _ALL_DIRS for o in context.record.cordons}).items():
        context.warn(f"cannot cordon {resource}: {fault}")


def lift_cordons(context: RunContext) -> None:
    """Restore what was set before, except what another user has changed since."""
    ours = {o.of: o.own_value for o in context.record.cordons}
    if not ours:
        return
    values, faults = context.retries.until_success(lambda: context.cluster.configs(set(ours), [CORDONED_LOG_DIRS]))
    now = {r: found.get(CORDONED_LOG_DIRS) for r, found in values.items()}
    is_ours = {r for r, v in now.items() if v is not None and (v.value, v.source) == (_ALL_DIRS, ConfigSource.OWN)}
    # a dead broker reports nothing, but controllers, if given, accept configs for it
    changed = {r: value for r, value in ours.items() if r in is_ours | faults.keys() and value != _ALL_DIRS}
    for resource, fault in _change(context, changed).items():
        # nothing else lifts the cordon: once back, the broker would get no replica, with no visible reason
        option = _option(changed[resource])
        context.warn(
            f"{resource} stays cordoned: {fault}; 'kafka-configs --alter {option}' restores what was set before"
        )


def _change(context: RunContext, values: Mapping[ConfigResource, str | None]) -> Mapping[ConfigResource, Fault]:
    """Set the config on these brokers; returns those that refused."""
    changes = [ConfigChange(resource, CORDONED_LOG_DIRS, value) for resource, value in sorted(values.items())]
    return context.retries.until_success(lambda: context.effects.alter_configs(changes)) if changes else {}


def _option(value: str | None) -> str:
    return f"--delete-config {CORDONED_LOG_DIRS}" if value is None else f"--add-config {CORDONED_LOG_DIRS}=[{value}]"
