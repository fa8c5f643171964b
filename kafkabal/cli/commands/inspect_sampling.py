"""How ``kafkabal inspect`` reads a cluster: once, or twice to measure rates."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kafkabal.cli.framework.cluster_access import read_cluster
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.config import Settings
from kafkabal.errors import NotAuthorizedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkabal.clusters import Cluster, Reading, ReadRequest
    from kafkabal.model import ClusterState


def state_with_rates(
    cluster: "Cluster", settings: Settings, context: CommandContext, *, sample_s: float | None, detailed: bool
) -> "ClusterState":
    """The one cluster of a command; with ``sample_s``, with rates."""
    if sample_s is not None:
        context.say(f"sampling rates for {sample_s:g} s")
    read = partial(read_cluster, cluster, settings, context)
    return reading_with_rates(read, cluster, context, sample_s=sample_s, detailed=detailed).state


def read_plainly(cluster: "Cluster", settings: Settings, request: "ReadRequest") -> "Reading":
    """One of several clusters, in a thread: nothing is shown or cached."""
    from kafkabal.config import with_profile_disks

    if settings.broker_timeout_s is not None:
        request = replace(request, deadline_s=settings.broker_timeout_s)
    reading = cluster.read(request)
    return replace(reading, state=with_profile_disks(reading.state, settings))


def reading_with_rates(
    read: "Callable[[ReadRequest], Reading]",
    cluster: "Cluster",
    context: CommandContext,
    *,
    sample_s: float | None,
    detailed: bool,
) -> "Reading":
    """The state; with ``sample_s``, read again after so many seconds, with the rates between."""
    from kafkabal.clusters import Capability, InFlight, ReadRequest

    groups = sample_s is not None and Capability.GROUP_OFFSETS in cluster.capabilities
    request = ReadRequest(
        configs=detailed,
        offsets=detailed or sample_s is not None,
        group_offsets=groups,
        in_flight=InFlight.IF_KNOWN,
    )
    before, request = _first_reading(read, request, context)
    started_s = context.monotonic()
    if sample_s is None:
        return before
    from kafkabal.telemetry import with_rates

    context.sleep(sample_s)
    if before.in_flight_problem:
        request = replace(request, in_flight=InFlight.OMITTED)  # one warning and one wait are enough
    after = read(request)
    elapsed_s = context.monotonic() - started_s
    state = with_rates(before.state, after.state, elapsed_s, group_offsets=request.group_offsets)
    return replace(after, state=state, in_flight_problem=after.in_flight_problem or before.in_flight_problem)


def _first_reading(
    read: "Callable[[ReadRequest], Reading]", request: "ReadRequest", context: CommandContext
) -> "tuple[Reading, ReadRequest]":
    """The first reading, and what to request again: no offsets of groups that may not be described."""
    try:
        return read(request), request
    except NotAuthorizedError as error:
        if not request.group_offsets:
            raise
        without = replace(request, group_offsets=False)
        found = read(without)  # raises again if anything else is refused
        context.warn(f"{error.in_one_line}; what consumers read is unknown")
        return found, without
