"""The result of one observation of a cluster: who responds, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from kafkabal.clusters import Cluster, InFlight, Reading, ReadRequest, count_under_min_isr
from kafkabal.config import DEFAULT_LOG_DIR_LIMIT
from kafkabal.model import ClusterState
from kafkabal.units import percent_as_option
from kafkabal.watch.broker_health import BrokerHealth, BrokerSample
from kafkabal.watch.finding_changes import partition_problems
from kafkabal.watch.state_findings import StateFindings, find
from kafkabal.watch.watch_events import EventKind
from kafkabal.watch.watch_options import WatchOptions
from kafkabal.wording import counted_noun, first_brokers, first_of


@dataclass(frozen=True, slots=True)
class WatchSummary:
    """What is wrong now, for ``--once`` and for metrics."""

    health: dict[int, BrokerHealth]
    findings: StateFindings
    read_at_s: float | None = None
    """When the whole cluster was last read, its controller included, in seconds since the epoch; None before."""
    responses_s: Mapping[int, float] = field(default_factory=dict)
    """Latest response time of each broker that responded, in seconds."""
    controller_problem: str = ""
    """Why the controller's part of the state is unknown; empty if it is known."""

    @property
    def problems(self) -> tuple[str, ...]:
        """One line each; empty if nothing is wrong."""
        partitions = {kind: str(problem) for kind, problem in partition_problems(self.findings).items()}
        out_of_sync = partitions.pop(EventKind.OUT_OF_SYNC, "")
        unreported = [b for b in sorted(self.findings.without_dirs) if self.health.get(b) is BrokerHealth.WELL]
        return (
            *((self.controller_problem,) if self.controller_problem else ()),
            *partitions.values(),
            *(f"broker {b} {health}" for b, health in sorted(self.health.items()) if health != BrokerHealth.WELL),
            *(f"log dir {path} of broker {b} offline" for b, path in sorted(self.findings.offline_dirs)),
            *((f"{first_brokers(unreported)} did not report log dirs",) if unreported else ()),
            *((_full(self.findings.full_dirs),) if self.findings.full_dirs else ()),
            *((out_of_sync,) if out_of_sync else ()),
            *((f"imbalanced by {', '.join(self.findings.imbalanced)}",) if self.findings.imbalanced else ()),
        )


def _full(dirs: Collection[tuple[int, str]]) -> str:
    """One clause: the disks of a cluster often fill up together."""
    named = first_of([f"{path} of broker {broker}" for broker, path in sorted(dirs)])
    return f"{counted_noun(len(dirs), 'disk')} more than {percent_as_option(DEFAULT_LOG_DIR_LIMIT)} full: {named}"


def check_once(
    cluster: Cluster, options: WatchOptions, completed: Callable[[ClusterState], ClusterState]
) -> WatchSummary:
    """Observe once: without history no broker counts as slow; two lost responses count as unreachable.

    Raises
    ------
    KafkabalError
        If the cluster cannot be read.
    """
    samples = [sample_brokers(cluster, options.broker_timeout_s) for _ in range(2)]
    reading = read_state(cluster, options.broker_timeout_s, completed)
    state = reading.state
    health = dict.fromkeys(state.brokers.id.tolist(), BrokerHealth.DEAD)
    for broker in samples[-1]:
        answered = any(each.get(broker) and each[broker].response_s is not None for each in samples)
        health[broker] = BrokerHealth.WELL if answered else BrokerHealth.UNREACHABLE
    found = find(state, options.policy.outer_tolerance)
    findings = replace(found, under_min_isr=count_under_min_isr(cluster, state))
    return WatchSummary(health, findings, controller_problem=reading.in_flight_problem)


def sample_brokers(cluster: Cluster, deadline_s: float) -> dict[int, BrokerSample]:
    """Ask every registered broker to respond, all at once, each with its own deadline."""
    return {
        broker: BrokerSample(is_registered=True, response_s=None)
        if time is None
        else BrokerSample(is_registered=True, response_s=time.mean_s, lateness_s=time.lateness_s)
        for broker, time in cluster.response_times(deadline_s).items()
    }


def read_state(cluster: Cluster, deadline_s: float, completed: Callable[[ClusterState], ClusterState]) -> Reading:
    """The whole state, with what the profile says about the disks; if no controller responds, what brokers report."""
    reading = cluster.read(ReadRequest(deadline_s=deadline_s, in_flight=InFlight.IF_KNOWN))
    return replace(reading, state=completed(reading.state))
