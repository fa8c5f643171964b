"""kafkabal from Python: connect to a cluster, read, inspect, plan, apply, place and simulate as the commands do.

The functions return the same immutable objects that the commands work on. Every error that a user can cause is a
:class:`~kafkabal.errors.KafkabalError` with a hint. ``docs/python.md`` shows each function in use.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace as replace_field

from kafkabal.closing_context import ClosingContext
from kafkabal.clusters import Clock, Cluster, InFlight, ReadRequest, SystemClock
from kafkabal.clusters import connect as _open
from kafkabal.config import (
    DEFAULT_CHECK_TOLERANCE,
    DEFAULT_PLAN_TOLERANCE,
    Settings,
    SnapshotAddress,
    TopicSpec,
    cluster_address,
    settings_of,
    with_profile_disks,
)
from kafkabal.executor import (
    LockAcrossRuns,
    NullListener,
    Overridable,
    RunEnvironment,
    RunListener,
    RunOptions,
    RunResult,
    apply,
    enforce,
    find_run,
    measured_throttle,
    preflight,
)
from kafkabal.inspection import Inspection, Verdict, judge
from kafkabal.inspection import inspect_cluster as _inspect
from kafkabal.model import ClusterState
from kafkabal.placement import PlacedTopics, parse_policy
from kafkabal.placement import place_topics as _place
from kafkabal.plan import Plan
from kafkabal.planner import PlanOptions
from kafkabal.planner import make_plan as _plan
from kafkabal.routing import load_policy, policy_names, view_of
from kafkabal.scoring import Need, ScoreOptions, load_scores, refuse_weights, score_options, select_scores
from kafkabal.simulator import PolicyRuns, SimulationOptions, compare, load_workload
from kafkabal.user_folders import user_folder


@dataclass(frozen=True, slots=True)
class ClusterConnection(ClosingContext):
    """A cluster and the settings of its profile; use it in a ``with`` block."""

    cluster: Cluster
    settings: Settings

    def read(self) -> ClusterState:
        """Read the current state of the cluster, with the disk sizes that the profile states.

        Brokers that do not respond are included without log dirs. If no controller responds, it is unknown which
        reassignments are in flight (``reassignments_known`` of the state). Each is a warning.

        Raises
        ------
        UnreachableError
            If no broker responds.
        """
        reading = self.cluster.read(ReadRequest(deadline_s=self.broker_timeout_s, in_flight=InFlight.IF_KNOWN))
        for missing in reading.warnings:
            warnings.warn(missing, stacklevel=2)
        return with_profile_disks(reading.state, self.settings)

    @property
    def broker_timeout_s(self) -> float:
        """How long each broker may take to respond."""
        return self.settings.broker_timeout_s or ReadRequest().deadline_s

    @property
    def score_options(self) -> ScoreOptions:
        """Score options set in the profile, such as ``nic_rate``."""
        return score_options(self.settings)

    def close(self) -> None:
        """Close every connection."""
        self.cluster.close()


def connect(
    bootstrap_servers: str | None = None,
    *,
    profile: str | None = None,
    snapshot: str | Path | None = None,
    save_to: str | Path | None = None,
    command_config: str | Path | None = None,
    zookeeper: str | None = None,
) -> ClusterConnection:
    """Open a live cluster, or a snapshot saved with ``kafkabal inspect --save``.

    Whatever is not given comes from the environment (``KAFKABAL_BOOTSTRAP_SERVER``, ...), as it does for the commands.

    Parameters
    ----------
    bootstrap_servers
        ``host:port``, several separated by commas.
    profile
        Name of a profile in ``profiles.yaml``, which also sets capacities, tolerance and the like.
    snapshot
        A snapshot file to open in place of a live cluster.
    save_to
        File that receives the changed snapshot; without it a snapshot is read-only.
    command_config
        A Java ``client.properties``, for encryption and credentials.
    zookeeper
        ``host:port`` or ``host:port/path`` of ZooKeeper, for Kafka 3.9 and older.

    Raises
    ------
    ConfigError
        If no cluster is named.
    UsageError, InputFileError
        If a value or a file is wrong; the message names it.
    """
    settings = settings_of(
        bootstrap_servers=bootstrap_servers,
        profile=profile,
        snapshot=None if snapshot is None else str(snapshot),
        command_config=None if command_config is None else str(command_config),
        zookeeper=zookeeper,
    )
    address = cluster_address(settings)
    if isinstance(address, SnapshotAddress) and save_to is not None:
        address = replace(address, save_to=str(save_to))
    return ClusterConnection(_open(address), settings)


def inspect_cluster(
    state: ClusterState,
    *,
    scores: Sequence[str] = (),
    tolerance: float = DEFAULT_CHECK_TOLERANCE,
    options: ScoreOptions | None = None,
) -> Inspection:
    """Measure how balanced a cluster is: every score of every broker and log dir.

    Parameters
    ----------
    scores
        As ``NAME`` or ``package.module:object``; empty for the default ones.
    tolerance
        How far a share may be from 1, as a fraction: 0.10 is 10%.
    options
        :attr:`ClusterConnection.score_options`, if the profile sets any.

    Raises
    ------
    UsageError
        If a score is unknown or has a weight, or the cluster does not supply what it needs.
    """
    refuse_weights(scores)
    return _inspect(state, select_scores(state, scores, options), tolerance=tolerance)


def verdict(inspection: Inspection) -> Verdict:
    """What is wrong with a cluster in one sentence, how severe it is, and the command to run next."""
    return judge(inspection)


def make_plan(
    state: ClusterState,
    *,
    scores: Sequence[str] = (),
    tolerance: float = DEFAULT_PLAN_TOLERANCE,
    drain: Collection[int] = (),
    options: ScoreOptions | None = None,
    **more: Any,
) -> Plan:
    """Plan the changes that bring every score into its band with as few bytes moved as possible; changes nothing.

    Parameters
    ----------
    scores
        As ``NAME``, ``NAME=WEIGHT`` or ``package.module:object``; empty for the default ones.
    tolerance
        How far a share may be from 1, as a fraction: 0.09 is 9%.
    drain
        Ids of brokers to drain.
    options
        :attr:`ClusterConnection.score_options`, if the profile sets any; they apply to ``scores``.
    more
        Any other field of :class:`~kafkabal.planner.plan_options.PlanOptions`: ``max_bytes``, ``topics``, ...

    Raises
    ------
    UsageError
        If an option does not fit the cluster.
    InfeasibleError
        If a hard constraint that was asked for cannot be met.
    """
    selected = load_scores(scores, options) if scores else ()
    return _plan(state, PlanOptions(scores=selected, tolerance=tolerance, drain=frozenset(drain), **more))


def apply_plan(
    connection: ClusterConnection,
    plan: Plan,
    *,
    throttle_bytes_per_s: int | Literal["auto"] | None = "auto",
    options: RunOptions | None = None,
    allow: Collection[Overridable] = (),
    listener: RunListener | None = None,
    state_dir: Path | None = None,
    clock: Clock | None = None,
) -> RunResult | None:
    """Apply a plan as ``kafkabal rebalance apply`` does: locked, checked, throttled, journaled and resumable.

    Parameters
    ----------
    throttle_bytes_per_s
        Bytes per second and broker in each direction; ``auto`` adapts to the load of the cluster, None sets no
        throttle. Ignored on a snapshot.
    options
        All other options of the run; its throttle is replaced.
    allow
        Preflight checks that do not stop the run, as with ``--allow``.
    listener
        Receives the events of the run; an exception it raises never changes the run.
    state_dir
        Folder of the journals; None for the one that the command uses.
    clock
        Clock of a simulated cluster; None for the system's.

    Returns
    -------
    RunResult or None
        None if there was nothing to do.

    Raises
    ------
    BusyError
        If another run holds the cluster.
    DriftError, UnsafeError
        If the run is not safe; nothing was changed.
    KafkabalError
        The error that ended the run early, after throttles were restored and moves cancelled as far as possible.
    """
    if not plan.partitions:
        return None
    settings = connection.settings
    environment = RunEnvironment(
        cluster=connection.cluster,
        state_dir=state_dir or user_folder("state") / settings.runs_folder_name,
        listener=listener or NullListener(),
        clock=clock or SystemClock(),
        broker_timeout_s=connection.broker_timeout_s,
        completed=lambda state: with_profile_disks(state, settings),
    )
    wanted = None if settings.snapshot else throttle_bytes_per_s
    throttle = measured_throttle(environment, plan.partitions, wanted)
    options = replace_field(options or RunOptions(), throttle=throttle)
    lock = LockAcrossRuns(environment)
    try:
        # before the checks: they would take the run of another process that is alive for one that crashed
        held = lock.take()
        enforce(preflight(environment, plan, options, find_run(environment)), allow)
        return apply(environment, plan, options, lock=held)
    finally:
        lock.release()


def place_topics(
    state: ClusterState,
    topics: Sequence[TopicSpec],
    *,
    scores: Sequence[str] = (),
    placement: str = "score",
    exclude_brokers: Collection[int] = (),
    options: ScoreOptions | None = None,
) -> PlacedTopics:
    """Decide where the replicas of new topics go; returns the resulting state too. Creates nothing.

    Parameters
    ----------
    scores
        As ``NAME``, ``NAME=WEIGHT`` or ``package.module:object``, for the placement ``score``; empty for the default
        ones.
    placement
        ``score``, ``even``, ``brokers+2[:SEED]`` or ``binomial:P[:SEED]``, as ``kafkabal create --placement``.
    exclude_brokers
        Ids of brokers that get no replica.
    options
        :attr:`ClusterConnection.score_options`, if the profile sets any.

    Raises
    ------
    UsageError
        If a topic exists, there are too few brokers for a replication factor, or the placement is unknown.
    LimitExceededError
        If the disks lack room for the size that the topics are expected to reach.
    """
    return _place(
        state,
        topics,
        parse_policy(placement),
        scores=select_scores(state, scores, options).scores,
        exclude_brokers=exclude_brokers,
    )


def simulate_policies(
    state: ClusterState,
    topic: str,
    *,
    policies: Sequence[str] = (),
    workload: str = "records",
    records: int | None = None,
    scores: Sequence[str] = ("disk",),
    seeds: int = 1,
    options: ScoreOptions | None = None,
) -> Iterator[PolicyRuns]:
    """Simulate how each routing policy spreads a workload over a topic; one result per policy, in the given order.

    Parameters
    ----------
    policies
        As ``NAME`` or ``NAME:OPTION=VALUE``; empty for all.
    workload
        Name of a built-in workload, or a ``.yaml`` file.
    records
        How many to write; None for as many as the workload has.
    scores
        What the policy ``score`` balances.
    seeds
        How often each policy is simulated, with the seeds 0, 1, ...; the policies get the same records.
    options
        :attr:`ClusterConnection.score_options`, if the profile sets any.

    Raises
    ------
    UsageError
        If the topic, a policy or the workload is unknown.
    """
    view = view_of(state, topic, load_scores(scores, options), supplied=[Need.TELEMETRY])
    chosen = load_workload(workload).workload
    if records is not None:
        chosen = replace(chosen, records=records, total_bytes=None)
    choices = [load_policy(text) for text in policies or policy_names()]
    return compare(view, choices, chosen, range(seeds), SimulationOptions())
