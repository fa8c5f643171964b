"""From a plan to a run: show preflight checks, prompt, apply."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kafkabal.cli.commands.rebalance.run_command import end, measured_load, run_options, work
from kafkabal.errors import ExitCode, FindingsError
from kafkabal.printable import printable

if TYPE_CHECKING:
    from kafkabal.cli.commands.rebalance.run_flags import BeginFlags, RunFlags, RunOutput
    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.config.settings import Settings
    from kafkabal.executor.run_environment import RunEnvironment
    from kafkabal.executor.run_options import RunOptions
    from kafkabal.model.cluster_state import ClusterState
    from kafkabal.plan.plan import Plan


def resume_unfinished(
    environment: RunEnvironment,
    begin: BeginFlags,
    flags: RunFlags,
    output: RunOutput,
    context: CommandContext,
    command: str,
) -> RunEnvironment:
    """Finish an unfinished run of this host without a prompt.

    Returns
    -------
    RunEnvironment
        Where to go on; the time that the command may take runs from before a run that was resumed.

    Raises
    ------
    KafkabalError
        If it could not be finished; then no new run is started.
    """
    from kafkabal.cli.commands.rebalance.run_flags import OnUnfinished
    from kafkabal.executor.run_actions import resume
    from kafkabal.executor.state.find_run import find_run
    from kafkabal.reporting.runs.result_report import summary

    if not begin.yes or begin.dry_run or begin.on_unfinished is OnUnfinished.REFUSE:
        return environment
    found = find_run(environment)
    if found is None or not found.is_open or found.record.host != environment.host:
        return environment
    if flags.max_runtime_s is not None:
        environment = replace(environment, ends_at_s=environment.clock.monotonic() + flags.max_runtime_s)
    context.say(f"run {found.record.run_id} is unfinished (phase: {found.state.phase}); resuming it first")
    result = work(environment, context, lambda: resume(environment))
    assert result is not None
    if result.is_complete:
        context.say(summary(result))
    else:
        end(result, output, context, command)
    return environment


def apply_plan(
    plan: Plan,
    environment: RunEnvironment,
    settings: Settings,
    begin: BeginFlags,
    flags: RunFlags,
    output: RunOutput,
    context: CommandContext,
    command: str,
    *,
    skip_drifted: bool = False,
) -> ExitCode:
    """Check, prompt and apply a plan; or show the requests that would be sent.

    Raises
    ------
    KafkabalError
        With the exit code of the contract.
    """
    from kafkabal.cli.commands.rebalance.dead_after import known_before, recently_dead
    from kafkabal.executor.observe.cluster_load import moves_of_plan
    from kafkabal.executor.run_actions import apply

    if not plan.partitions:
        _nothing_to_do("nothing to do", output, context, command)
        return _done(plan)
    moves = moves_of_plan(plan.partitions)
    load = measured_load(settings, environment, context, moves)
    options = run_options(settings, flags, environment.cluster, load, moves)
    state = environment.completed(load.state) if load is not None else environment.read_state()
    before = known_before(environment.cluster, settings, context)
    waiting = recently_dead(environment.cluster, state, settings, context, drained=plan.drained, before=before)
    dead = frozenset(waiting)
    _check(environment, plan, options, begin, context, state, skip_drifted=skip_drifted, recently_dead=dead)
    if begin.dry_run:
        _dry_run(plan, environment, options, begin, context)
        return _done(plan)
    if not begin.yes and not context.confirm(f"apply {len(plan.partitions)} changes?", flag="--yes"):
        context.say("nothing changed")
        return ExitCode.DONE
    result = work(
        environment,
        context,
        lambda: apply(environment, plan, options, rollback_file=begin.rollback_file, skip_drifted=skip_drifted),
    )
    if result is None:
        _nothing_to_do("nothing to do: all partitions are as planned", output, context, command)
        return _done(plan)
    end(result, output, context, command)
    return _done(plan)


def _done(plan: Plan) -> ExitCode:
    """The end of a command that did what was planned.

    Raises
    ------
    FindingsError
        If the plan leaves something broken: whoever runs it from cron must hear of it.
    """
    if plan.unrepaired:
        raise FindingsError(
            f"not repaired: {'; '.join(plan.unrepaired)}",
            hint="see 'kafkabal inspect'; bring the brokers back, or add brokers or room",
        )
    return ExitCode.DONE


def _nothing_to_do(text: str, output: RunOutput, context: CommandContext, command: str) -> None:
    from kafkabal.cli.commands.rebalance.run_flags import RunFormat
    from kafkabal.cli.framework.output import show
    from kafkabal.cli.framework.shared_options import Format, OutputOptions
    from kafkabal.reporting.runs.result_report import nothing_report

    context.say(text)
    if output.output is RunFormat.JSON:
        show(nothing_report(command), OutputOptions(output=Format.JSON), context)


def _check(
    environment: RunEnvironment,
    plan: Plan,
    options: RunOptions,
    begin: BeginFlags,
    context: CommandContext,
    state: ClusterState,
    *,
    skip_drifted: bool,
    recently_dead: frozenset[int],
) -> None:
    from kafkabal.executor.safety.preflight import Verdict, enforce, preflight
    from kafkabal.executor.state.find_run import find_run

    checks = preflight(
        environment,
        plan,
        options,
        find_run(environment),
        state=state,
        skip_drifted=skip_drifted,
        recently_dead=recently_dead,
    )
    for check in checks:
        if check.verdict is Verdict.OK:
            context.detail(f"preflight check {check.name}: {check.message}")
        elif not check.stops(begin.allowed):
            context.warn(check.message)
    enforce(checks, begin.allowed)


def _dry_run(
    plan: Plan, environment: RunEnvironment, options: RunOptions, begin: BeginFlags, context: CommandContext
) -> None:
    from kafkabal.cli.commands.rebalance.dry_run import rehearse
    from kafkabal.units import format_duration

    rehearsal = rehearse(plan, environment.read_state(), options)
    for line in rehearsal.calls:
        context.stdout.write(printable(line) + "\n")
    context.say(f"{len(rehearsal.calls)} requests, about {format_duration(rehearsal.elapsed_s)}; nothing changed")
    if begin.exit_code and rehearsal.calls:
        raise FindingsError("a plan is pending")
