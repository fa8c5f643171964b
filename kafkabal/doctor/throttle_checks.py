"""Checks for throttles left on brokers and topics: they slow replicas that catch up, and every later reassignment."""

from __future__ import annotations

from collections.abc import Iterator

from kafkabal.clusters import Capability, Cluster, ConfigResource, ResourceKind
from kafkabal.doctor.check_result import CheckResult, CheckStatus
from kafkabal.executor import current_holder, find_leftover_throttles
from kafkabal.model import ClusterState
from kafkabal.wording import first_of

_AREA, _WHAT = "cluster", "throttles"
_WHERE = "; see 'kafkabal rebalance repair'"
_HINT = (
    "see 'kafkabal rebalance repair': it restores those of the latest run and lists the others, "
    "which '--remove' deletes"
)


def check_throttles(cluster: Cluster, state: ClusterState) -> Iterator[CheckResult]:
    """Throttles that no reassignment uses.

    Parameters
    ----------
    state
        The state as just read. If no controller responded, it is unknown which throttles are in use.
    """
    if Capability.CONFIGS not in cluster.capabilities or not state.reassignments_known:
        return
    search = find_leftover_throttles(cluster, _live_brokers_and_topics(state))
    if search.unread:
        unread = [f"{resource}: {fault}" for resource, fault in sorted(search.unread.items())]
        detail = f"cannot be read: {first_of(unread, separator='; ')}"
        yield CheckResult(area=_AREA, what=_WHAT, status=CheckStatus.SKIPPED, detail=detail)
    left = search.found
    if not left:
        return
    # a run sets them before its moves start; asked afterwards, so that a run that has just begun is not overlooked
    holder, _ = current_holder(cluster)
    if holder is not None:
        why = f"a run may be using its throttles now: cluster locked by {holder}"
        yield CheckResult(area=_AREA, what=_WHAT, status=CheckStatus.SKIPPED, detail=why)
        return
    lists = sorted({str(t.resource) for t in left if t.resource.kind is ResourceKind.TOPIC})
    rates = sorted({t.resource for t in left if t.resource.kind is ResourceKind.BROKER})
    found = [f"throttled replicas of {first_of(lists)}"] if lists else []
    found += [f"replication rates of {first_of(rates)}"] if rates else []
    yield CheckResult(
        area=_AREA,
        what=_WHAT,
        # many set rates for good: while no topic lists throttled replicas, they only limit later reassignments
        status=CheckStatus.WARNING if lists else CheckStatus.NOTE,
        detail=f"used by no reassignment: {'; '.join(found)}" + ("" if lists else _WHERE),
        hint=_HINT if lists else "",
    )


def _live_brokers_and_topics(state: ClusterState) -> set[ConfigResource]:
    live = state.brokers.id[state.brokers.is_live].tolist()
    topics = {ConfigResource(ResourceKind.TOPIC, name) for name in state.topics.name}
    return topics | {ConfigResource(ResourceKind.BROKER, str(broker)) for broker in live}
