"""``kafkabal rebalance --drain ID``: whether brokers can be drained, and whether they are safe to stop then."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kafkabal.cli.framework.cluster_access import open_cluster, read_cluster
from kafkabal.cli.framework.command_settings import cluster_options, rebalance_command
from kafkabal.cli.framework.shared_options import Format, OutputOptions
from kafkabal.cli.framework.show_report import show_report
from kafkabal.cli.framework.slow_notice import saying_if_planning_is_slow
from kafkabal.errors import ExitCode, FindingsError, KafkabalError, PartialFailureError, UsageError
from kafkabal.gc_pause import cycle_collection_paused
from kafkabal.wording import brokers_by_id, counted_noun, first_of

if TYPE_CHECKING:
    from kafkabal.cli.commands.rebalance.check_and_apply import ApplyCommand
    from kafkabal.cli.commands.rebalance.run_command_options import RunOutput
    from kafkabal.cli.commands.rebalance.run_session import RunSession
    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.config import Settings
    from kafkabal.executor import SafeToStop
    from kafkabal.model import ClusterState, TopicPartition
    from kafkabal.plan import Plan
    from kafkabal.planner import PlanOptions

_MOST_ROUNDS: Final = 10
"""How often a broker is drained again of replicas of topics created meanwhile: a round takes seconds, so if more are
needed, something creates topics without end."""


def check_of_drain(
    context: "CommandContext", settings: "Settings", brokers: frozenset[int] | None, output: "RunOutput"
) -> ExitCode:
    """Show whether brokers can be drained; exit 4 if they cannot."""
    from kafkabal.cli.commands.rebalance.dead_broker_grace import gone_brokers
    from kafkabal.cli.commands.rebalance.run_command_options import RunFormat
    from kafkabal.clusters import InFlight, ReadRequest

    if not brokers:
        raise UsageError("--check requires brokers to drain", hint="add --drain ID")
    if output.output is RunFormat.JSONL:
        raise UsageError("--check has no -o jsonl", hint="use -o json")
    # millions of rows, none of them in a reference cycle
    with cycle_collection_paused():
        with open_cluster(settings, context) as cluster:
            request = ReadRequest(configs=True, in_flight=InFlight.IF_KNOWN)
            state = read_cluster(cluster, settings, context, request).state
            left = brokers - gone_brokers(cluster, state, settings, context, brokers)
            voters = left & (cluster.quorum_voters() or frozenset())
        from kafkabal.executor import FIRST_LEAST_BYTES_PER_S
        from kafkabal.planner import check_drain
        from kafkabal.reporting.drain_report import drain_report

        given = settings.throttle if isinstance(settings.throttle, int) else None
        rate = given or FIRST_LEAST_BYTES_PER_S
        with saying_if_planning_is_slow(context.say, state):
            found = check_drain(state, left, throttle_bytes_per_s=rate, excluded=settings.exclude_brokers)
    if output.output is RunFormat.JSON or left:
        report = drain_report(
            found,
            rate,
            is_assumed=given is None,
            voters=sorted(voters),
            rebalance=rebalance_command(settings),
            cluster_options=cluster_options(settings, context),
        )
        show_report(report, OutputOptions(output=Format(output.output.value)), context)
    return ExitCode.DONE if found.can_drain else ExitCode.UNSAFE


@contextmanager
def saying_whether_safe_to_stop(command: "RunSession", brokers: Collection[int]) -> Iterator[None]:
    """Within the block, a run that moves only part of what it should is followed by what still needs these brokers."""
    try:
        yield
    except (PartialFailureError, FindingsError):
        _say_whether_safe_to_stop(command, brokers)
        raise


def _say_whether_safe_to_stop(command: "RunSession", brokers: Collection[int]) -> None:
    from kafkabal.clusters import ReadRequest
    from kafkabal.executor import prove_safe_to_stop

    if not brokers:
        return
    try:
        state = read_cluster(command.cluster, command.settings, command.context, ReadRequest()).state
        for one in prove_safe_to_stop(command.cluster, state, brokers):
            command.context.say(one.in_words())
    except KafkabalError as error:
        ids = brokers_by_id(sorted(brokers))
        command.context.warn(f"cannot check whether {ids} can be stopped: {error.in_one_line}")


def finish_drain(applying: "ApplyCommand", planned: "PlanOptions", before: "ClusterState") -> None:
    """Drain what has arrived on the brokers meanwhile, and report whether they are safe to stop.

    Parameters
    ----------
    planned
        The options of the plan that was applied.
    before
        The cluster before the run.

    Raises
    ------
    FindingsError
        If they still hold replicas that no option keeps there.
    """
    from kafkabal.clusters import ReadRequest
    from kafkabal.executor import prove_safe_to_stop
    from kafkabal.planner import Mode, make_plan

    command, further = applying.command, applying.without_document()
    settings, context, cluster = command.settings, command.context, command.cluster
    drained = sorted(planned.drain)
    options = replace(planned, mode=Mode.REPAIR_ONLY)
    is_limited = _is_limited(options)
    at_first = _partitions_on(before, drained)
    # a budget is for the whole command: another plan within it would spend it once more
    for rounds_left in reversed(range(1 if is_limited else _MOST_ROUNDS + 1)):
        state = read_cluster(cluster, settings, context, ReadRequest()).state
        now = _partitions_on(state, drained)
        if not rounds_left or not now - at_first or (at_first and at_first <= now):
            break  # nothing has arrived there; or nothing was moved, for example because the answer was no
        plan = make_plan(state, options)
        if not plan.partitions:
            break
        command.end_if_stopped("the drain of new partitions")
        context.say(
            f"{counted_noun(len(now), 'partition')} on the drained brokers, new ones among them: draining again"
        )
        with saying_whether_safe_to_stop(command, drained):
            code = further.apply(plan)
        if code is not ExitCode.DONE:
            break  # the answer was no
    found = prove_safe_to_stop(cluster, state, drained)
    for one in found:
        context.say(one.in_words())
    if not (is_limited or _is_scoped(settings)) and (not at_first or not at_first <= now):
        _refuse_leftovers(found, _hint(state, now))


def refuse_incomplete_drain(
    plan: "Plan", state: "ClusterState", options: "PlanOptions", settings: "Settings", context: "CommandContext"
) -> None:
    """Raise if something broken keeps replicas on the brokers to drain, and no option does.

    Parameters
    ----------
    state
        The cluster that the plan is for.

    Raises
    ------
    FindingsError
        Naming why they stay.
    """
    if not options.drain or not plan.unrepaired or _is_limited(options) or _is_scoped(settings):
        return
    drained = sorted(options.drain)
    left = _partitions_on(state, drained) - {c.name for c in plan.partitions if options.drain.isdisjoint(c.replicas)}
    if left:
        ids = ",".join(map(str, drained))
        check = f"kafkabal rebalance --drain {ids} --check {cluster_options(settings, context)}".strip()
        raise FindingsError(
            f"{brokers_by_id(drained)} not drained: {'; '.join(plan.unrepaired)}", hint=f"see what blocks it: {check}"
        )


def _is_limited(options: "PlanOptions") -> bool:
    from kafkabal.planner import BUDGETS

    return any(getattr(options, budget) is not None for budget in BUDGETS)


def _is_scoped(settings: "Settings") -> bool:
    return bool(settings.topics or settings.exclude_topics)


def _partitions_on(state: "ClusterState", brokers: list[int]) -> "frozenset[TopicPartition]":
    """Partitions that have a replica on one of the brokers."""
    rows = [row for row in map(state.brokers.index_of, brokers) if row >= 0]
    held = {p for row in rows for p in state.replicas.partition[state.replicas.broker == row].tolist()}
    return frozenset(map(state.topic_partition, held))


def _hint(state: "ClusterState", left: "frozenset[TopicPartition]") -> str:
    """What to do about the partitions that are left: those without an online replica in sync cannot be copied."""
    from kafkabal.model import has_readable_copy

    unreadable = map(state.topic_partition, (~has_readable_copy(state)).nonzero()[0].tolist())
    stuck = [name for name in unreadable if name in left]
    if not stuck:
        return "run the drain again"
    missing = f"no in-sync replica of {first_of(stuck)} is online"
    return f"{missing}: bring its broker or log dir back, then run the drain again"


def _refuse_leftovers(found: "tuple[SafeToStop, ...]", hint: str) -> None:
    """Raise if replicas are left although no scope or limit explains them."""
    left = [one for one in found if one.replicas]
    if left:
        raise FindingsError("; ".join(one.in_words() for one in left), hint=hint)
