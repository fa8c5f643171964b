"""The cluster of a command: opened, read, and completed with volumes and capacities from the settings."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from kafkabal.cli.framework.command_settings import cluster_label, names_cluster
from kafkabal.cli.framework.slow_notice import saying_if_slow
from kafkabal.errors import ConfigError, KafkabalError, OperationError, UnreachableError, UsageError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.cli.framework.shared_options import SaveOptions
    from kafkabal.clusters import Cluster, Reading, ReadRequest
    from kafkabal.config import ConnectionSettings, Settings
    from kafkabal.executor import Sightings
    from kafkabal.model import ClusterState

_STARTING_S: Final = 3.0
"""A starting broker opens its port within seconds; a mistyped address should not cost more time."""
_PAUSE_S: Final = 0.25
"""A refused connection costs a millisecond."""
_WAITING: Final = "still waiting for the cluster to respond"


def open_cluster(settings: Settings, context: CommandContext, save_to: Path | None = None) -> Cluster:
    """Open the cluster that the settings name; use it in a ``with`` block.

    Parameters
    ----------
    save_to
        File for the changed snapshot.

    Raises
    ------
    ConfigError
        If the settings name no cluster.
    UnreachableError
        If no broker responds.
    """
    from kafkabal.clusters import connect
    from kafkabal.config import SnapshotAddress, cluster_address

    address = cluster_address(settings)
    if isinstance(address, SnapshotAddress) and save_to is not None:
        address = replace(address, save_to=str(save_to))
    cluster = connect(address)
    context.detail(f"cluster: {cluster.name}")
    return cluster


def open_cluster_to_change(
    settings: Settings, saving: SaveOptions, context: CommandContext, *, dry_run: bool = False, yes: bool = False
) -> Cluster:
    """Open the cluster that the settings name, for a command that changes it.

    A snapshot is only read: the changed one goes to the file of ``--save``. If that is the same file, the user is asked
    first.

    Parameters
    ----------
    dry_run
        Nothing will be changed.
    yes
        Do not ask.

    Raises
    ------
    UsageError
        If a snapshot would be changed without ``--save``, or ``--save`` has nothing to save.
    OperationError
        If the user declines to overwrite the snapshot.
    """
    saved = saving.save
    if settings.snapshot is None:
        if saved is not None:
            raise UsageError(
                "--save requires --snapshot: a live cluster is changed itself",
                hint="to save a snapshot of a live cluster: kafkabal inspect --save FILE",
            )
        return open_cluster(settings, context)
    if dry_run:
        return open_cluster(settings, context)
    if saved is None:
        raise UsageError(
            f"--snapshot is only read, never written to ({settings.snapshot})",
            hint="add --save FILE for the changed snapshot, or --dry-run where the command has it",
        )
    is_same = saved.exists() and settings.snapshot.exists() and saved.samefile(settings.snapshot)
    if is_same and not yes and not context.confirm(f"overwrite {saved}?", flag="--yes"):
        raise OperationError("nothing changed", hint="to keep this snapshot, name another file with --save")
    return open_cluster(settings, context, save_to=saved)


def expect_cluster(settings: Settings) -> None:
    """Refuse to continue without a cluster, for a command without the option ``--snapshot``.

    Raises
    ------
    ConfigError
        If the settings name none.
    """
    if not names_cluster(settings):
        raise ConfigError("no cluster given", hint="give --bootstrap-server HOST:PORT or --profile NAME")


def expect_live_cluster(settings: Settings, command: str) -> None:
    """Refuse a snapshot from a profile or the environment, for a command without that option.

    Raises
    ------
    ConfigError
        If the settings name a snapshot, or no cluster at all.
    """
    expect_cluster(settings)
    if settings.snapshot is not None:
        origin = settings.origin("snapshot")
        raise ConfigError(
            f"{command} requires a live cluster, not a snapshot ({origin})", hint="give --bootstrap-server HOST:PORT"
        )


def live_connection(settings: Settings, command: str) -> ConnectionSettings:
    """Connection settings of the live cluster that the settings name, for clients of other libraries.

    Raises
    ------
    ConfigError
        If the settings name no live cluster.
    """
    from kafkabal.config import ConnectionSettings, cluster_address

    expect_live_cluster(settings, command)
    address = cluster_address(settings)
    if not isinstance(address, ConnectionSettings):
        raise ConfigError(f"{command} requires a live cluster", hint="give --bootstrap-server HOST:PORT")
    return address


def saying_if_cluster_is_slow(settings: Settings, context: CommandContext) -> AbstractContextManager[None]:
    """Within the block, say once that the cluster is waited for if it responds late.

    A broker that hangs is waited for as long as ``--broker-timeout``; a large snapshot takes seconds to parse.
    """
    return saying_if_slow(context.say, f"still reading {settings.snapshot}" if settings.snapshot else _WAITING)


def await_broker(cluster: Cluster, context: CommandContext) -> None:
    """Wait a few seconds until a broker responds: it may just be starting.

    Call this before using any librdkafka client, which waits far longer and then cannot say what is wrong.

    Raises
    ------
    KafkabalError
        If none responds; the message says why, and the hint what to check.
    """
    end_s = context.monotonic() + _STARTING_S
    with saying_if_slow(context.say, _WAITING):
        while True:
            try:
                cluster.cluster_id()
            except UnreachableError:
                if context.monotonic() >= end_s:
                    raise
                context.sleep(_PAUSE_S)
            else:
                return


def name_in_metrics(cluster: Cluster, settings: Settings, context: CommandContext) -> str:
    """Value of the label ``cluster``: the name of the profile, or else the cluster's id.

    If the cluster does not respond, its servers: the command fails then, and metrics and notifications report it.
    """
    label = cluster_label(settings, context)
    if label:
        return label
    try:
        return cluster.cluster_id()
    except KafkabalError:
        return cluster.name


def read_cluster(cluster: Cluster, settings: Settings, context: CommandContext, request: ReadRequest) -> Reading:
    """Read the state, apply the profile's volumes and capacities, and cache the names for completion.

    What could not be read causes a warning, the first time; the rest of the state is valid.
    """
    from kafkabal.cli.framework.completion.cached_names import cache_names

    if settings.broker_timeout_s is not None:
        request = replace(request, deadline_s=settings.broker_timeout_s)
    with saying_if_cluster_is_slow(settings, context):
        reading = cluster.read(request)
    # needs numpy, which is not loaded before the first request has been sent
    from kafkabal.config import with_profile_disks

    for warning in reading.warnings:
        context.warn_once(warning)
    cache_names(reading.state, settings, context.cache_dir)
    if not settings.snapshot:
        note_brokers(reading.state, context)
    return replace(reading, state=with_profile_disks(reading.state, settings))


def note_brokers(state: ClusterState, context: CommandContext) -> Sightings:
    """Record on this host which brokers exist and which are dead; returns everything recorded so far."""
    from datetime import UTC, datetime

    from kafkabal.executor import record_brokers

    dead = state.brokers.id[~state.brokers.is_live].tolist()
    now = datetime.fromtimestamp(context.wall_clock(), UTC)
    return record_brokers(sightings_file(state.cluster_id, context), state.brokers.id.tolist(), dead, now)


def sightings_file(cluster_id: str, context: CommandContext) -> Path:
    """File in which this host records the brokers of a cluster, and since when some are dead."""
    # an id from outside must not lead out of the folder
    name = (
        cluster_id
        if cluster_id.replace("-", "").replace("_", "").isalnum()
        else sha256(cluster_id.encode()).hexdigest()
    )
    return context.state_dir / "brokers" / f"{name}.json"
