"""From a plan to a run: show preflight checks, prompt, apply."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafkabal.cli.framework.slow_notice import saying_if_slow
from kafkabal.errors import BusyError, ExitCode, FindingsError, KafkabalError, NotAuthorizedError, UnsafeError
from kafkabal.printable import printable
from kafkabal.wording import counted_noun, first_of

if TYPE_CHECKING:
    from kafkabal.cli.commands.rebalance.run_command_options import RunCommandOptions, StartCommandOptions
    from kafkabal.cli.commands.rebalance.run_session import RunSession
    from kafkabal.executor import ClusterLoad, FoundRun, RunEnvironment, RunOptions
    from kafkabal.model import ClusterState
    from kafkabal.plan import Plan


@dataclass(frozen=True, slots=True)
class ApplyCommand:
    """A command that applies a plan."""

    command: RunSession
    begin: StartCommandOptions
    command_options: RunCommandOptions
    skip_drifted: bool = False
    is_from_file: bool = False
    """Whether the plan may be old: then a topic that was deleted since is a reason to look at it again."""
    all_rows: bool = False
    """A dry run lists all changes, not only the first ones."""

    def resume_unfinished(self) -> ApplyCommand:
        """Finish an unfinished run of this host without a prompt.

        Returns
        -------
        ApplyCommand
            The environment to continue in; with --yes, --max-runtime counts from now.

        Raises
        ------
        KafkabalError
            If it could not be finished, or a signal came as it ended; then no new run is started.
        """
        from kafkabal.cli.commands.rebalance.run_command_options import OnUnfinished
        from kafkabal.cli.commands.rebalance.run_session import HOW_TO_END_PAUSE
        from kafkabal.executor import find_run

        if self.begin.dry_run:
            self._refuse_live_run()
            return self
        # before anything is read: otherwise a live holder would be taken for one that crashed
        self.command.take_lock()
        if not self.begin.yes:
            return self
        timed = self._counting_from_now()
        command, environment = timed.command, timed.command.environment
        with command.saying_if_slow():
            found = find_run(environment)
        if found is not None:
            self._restore_late_throttles(found)
        is_ours = found is not None and found.is_open and found.record.host == environment.host
        if found is None or not is_ours or self.begin.on_unfinished is OnUnfinished.REFUSE:
            return timed
        if found.has_only_dead_left(environment.cluster):
            # otherwise a run that met a dead broker would keep every later one from replacing its replicas
            return timed
        if command.is_pause_requested():
            # the operator who paused it did not intend the next cron job to resume it
            raise BusyError(f"run {found.record.run_id} is paused, and its process has ended", hint=HOW_TO_END_PAUSE)
        from kafkabal.executor import resume
        from kafkabal.reporting.runs.result_report import summary

        command.context.say(
            f"run {found.record.run_id} is unfinished (phase: {found.state.phase_in_words}); resuming it first"
        )
        with command.stopping_on_signals():
            options = self._with_given_rate(found.record.options)
            result = resume(command.environment, options=options, lock=command.take_lock())
        if result.is_complete:
            command.context.say(summary(result))
        else:
            command.end(result)
        command.end_if_stopped("a new plan was made")
        return timed

    def _restore_late_throttles(self, found: FoundRun) -> None:
        """Restore throttles that a broker which hung has set after the end of the latest run of this host.

        Otherwise the next run would take them for an operator's, and keep them.
        """
        from kafkabal.executor import repair_run, throttles_after_end
        from kafkabal.reporting.runs.result_report import summary

        command, late = self.command, list[str]()
        with suppress(NotAuthorizedError):  # a run without a throttle need not read them
            late = throttles_after_end(command.cluster, found, only_unanswered=True)
        if not late:
            return
        what = f"throttles of run {found.record.run_id} set by a request that arrived after its end: {first_of(late)}"
        command.context.say(f"{what}; restoring them first")
        with command.stopping_on_signals():
            result = repair_run(command.environment, lock=command.take_lock())
        if result.pending:
            command.end(result, only_restores=True)
        command.context.say(summary(result, only_restores=True))
        command.end_if_stopped("a new plan was made")

    def _with_given_rate(self, options: RunOptions) -> RunOptions | None:
        """Options of a run that is resumed first, with this command's rate if one was given; None keeps its own.

        All else stays as that run was given it. Above all, a rate on this command line must not end its window.
        """
        from msgspec.structs import replace as changed

        settings = self.command.settings
        if settings.origin("throttle") != "--throttle" or settings.throttle in ("auto", "none"):
            return None
        return changed(options, throttle=self.command.run_options(self.command_options).throttle)

    def _counting_from_now(self) -> ApplyCommand:
        """The same command, with --max-runtime counting from here: without a prompt, it limits all that is done."""
        environment, most_s = self._environment, self.command_options.max_runtime_s
        if most_s is None:
            return self
        timed = replace(environment, ends_at_s=environment.clock.monotonic() + most_s)
        return replace(self, command=replace(self.command, environment=timed))

    def _refuse_live_run(self) -> None:
        """A dry run takes no lock, so that any number may run; only its holder can tell live from crashed runs.

        Raises
        ------
        BusyError
            If the latest run is active in another process; one that crashed is left to the preflight checks.
        """
        from kafkabal.executor import find_run

        with self.command.saying_if_slow():
            found = find_run(self._environment)
        if found is not None and found.is_open:
            self.command.take_lock()
            self.command.lock.release()

    def apply(self, plan: Plan) -> ExitCode:
        """Check, prompt and apply a plan; or show the requests that would be sent.

        Returns
        -------
        ExitCode
            FAILED if the answer to the prompt was no; whether anything stays broken is for :meth:`refuse_broken`.

        Raises
        ------
        KafkabalError
            With the exit code of the contract.
        """
        from kafkabal.executor import apply, moves_of_plan

        command, begin = self.command, self.begin
        if not plan.partitions:
            command.context.say("nothing to do")
            self.report_nothing(plan)
            return ExitCode.DONE
        moves = moves_of_plan(plan.partitions)
        load = command.measured_load(moves, within_brokers=bool(plan.log_dir_bytes))
        options = command.run_options(self.command_options, load, moves)
        checked = self._check(plan, options, load)
        if begin.dry_run:
            self._show_dry_run(plan, options, self.as_far_as_known(checked).command.environment.read_state())
            return ExitCode.DONE
        if not command.confirm(f"apply {counted_noun(len(plan.partitions), 'change')}?", yes=begin.yes):
            return ExitCode.FAILED
        with command.stopping_on_signals():
            result = apply(
                self._environment,
                plan,
                options,
                rollback_file=begin.rollback_file,
                skip_drifted=self.skip_drifted or (begin.yes and not self.is_from_file),
                lock=command.take_lock(),
            )
        if result is None:
            command.context.say("nothing to do: all partitions are as planned")
            command.report_nothing()
            return ExitCode.DONE
        return command.end(result)

    def without_document(self) -> ApplyCommand:
        """The same command for further runs: ``-o json`` writes one document, which describes the first run."""
        if not self._in_json:
            return self
        from kafkabal.cli.commands.rebalance.run_command_options import RunFormat

        output = replace(self.command.output, output=RunFormat.TABLE)
        quiet = replace(self.command.context, quiet=True)
        return replace(self, command=replace(self.command, output=output, context=quiet))

    def refuse_broken(self, plan: Plan, before: ClusterState) -> None:
        """End a command that did everything planned with a finding if something is broken.

        Parameters
        ----------
        before
            The cluster before the run.

        Raises
        ------
        FindingsError
            Naming what is broken now, or in a dry run what the plan would leave: a cron job must report it.
        """
        from kafkabal.cli.commands.rebalance.await_healthy_cluster import (
            await_healthy_cluster,
            refuse_unhealthy_cluster,
        )
        from kafkabal.executor import Overridable

        self._refuse_unrepaired(plan)
        if Overridable.UNDER_REPLICATED in self.begin.allowed:
            return
        if self.begin.dry_run:
            refuse_unhealthy_cluster(before)
        else:
            await_healthy_cluster(self.command, before, has_run=bool(plan.partitions))

    def _refuse_unrepaired(self, plan: Plan) -> None:
        left = plan.unrepaired
        if left and not self.begin.dry_run:
            # not as of planning: brokers may have returned during a run of hours
            left = self._still_unrepaired(plan)
        if left:
            raise FindingsError(
                f"not repaired: {'; '.join(left)}",
                hint="see 'kafkabal inspect'; restore the brokers, or add brokers or disk space",
            )

    def _still_unrepaired(self, plan: Plan) -> tuple[str, ...]:
        """What is still broken of what the plan could not repair; all of it if that cannot be read any more."""
        from kafkabal.cli.framework.cluster_access import read_cluster
        from kafkabal.clusters import FOR_REPORTS
        from kafkabal.planner import still_unrepaired

        command = self.command
        try:
            state = read_cluster(command.cluster, command.settings, command.context, FOR_REPORTS).state
            return still_unrepaired(state, plan)
        except KafkabalError as error:
            command.context.warn(f"cannot check what is still broken: {error.in_one_line}")
            return plan.unrepaired

    @property
    def _environment(self) -> RunEnvironment:
        return self.command.environment

    def as_far_as_known(self, state: ClusterState) -> ApplyCommand:
        """The same command for a cluster as it was just read: a controller that did not respond is not asked again."""
        if state.reassignments_known:
            return self
        from kafkabal.clusters import InFlight

        environment = replace(self._environment, in_flight=InFlight.OMITTED)
        return replace(self, command=replace(self.command, environment=environment))

    def _check(self, plan: Plan, options: RunOptions, load: ClusterLoad | None) -> ClusterState:
        from kafkabal.executor import CheckVerdict, enforce, find_run, preflight
        from kafkabal.plan import find_drift

        environment, context = self._environment, self.command.context
        state = environment.completed(load.state) if load is not None else environment.read_state()
        drifts = find_drift(plan, state)
        # where topics come and go every second, no plan would ever begin if it needed all of them
        are_deleted = not self.is_from_file and all(drift.is_deleted for drift in drifts)
        with self.command.saying_if_slow():
            checks = preflight(
                environment,
                plan,
                options,
                find_run(environment),
                state=state,
                skip_drifted=self.skip_drifted or are_deleted,
                recently_dead=self._recently_dead(plan, state),
            )
        for check in checks:
            if check.verdict is CheckVerdict.OK:
                context.detail(f"preflight check {check.name}: {check.message}")
            elif not check.stops(self.begin.allowed):
                context.warn(check.message)
        try:
            enforce(checks, self.begin.allowed)
        except UnsafeError:
            if not self.begin.dry_run:
                # a process that was suspended may see the run of another that has taken its lock since: that is busy
                self.command.take_lock()
            raise
        return state

    def _recently_dead(self, plan: Plan, state: ClusterState) -> frozenset[int]:
        from kafkabal.cli.commands.rebalance.dead_broker_grace import known_before, recently_dead

        settings, context, cluster = self.command.settings, self.command.context, self.command.cluster
        before = known_before(cluster, settings, context)
        return frozenset(recently_dead(cluster, state, settings, context, drained=plan.drained, before=before))

    def report_nothing(self, plan: Plan | None = None) -> None:
        """Write the JSON and the textfile of a command that starts no run, if requested.

        Parameters
        ----------
        plan
            None if none was made.
        """
        if not self.begin.dry_run:
            self.command.report_nothing()
        elif self._in_json:
            from kafkabal.plan import Plan
            from kafkabal.reporting.runs.dry_run_report import DryRun, dry_run_report

            self.command.show_json(dry_run_report(plan or Plan(partitions=()), DryRun()))

    def _show_dry_run(self, plan: Plan, options: RunOptions, state: ClusterState) -> None:
        from kafkabal.cli.commands.rebalance.dry_run import simulate_run
        from kafkabal.reporting.runs.dry_run_report import dry_run_report, request_lines
        from kafkabal.units import format_duration

        context = self.command.context
        with saying_if_slow(context.say, f"still simulating {counted_noun(len(plan.partitions), 'change')}"):
            dry_run = simulate_run(plan, state, options)
        if self._in_json:
            self.command.show_json(dry_run_report(plan, dry_run))
        elif not context.quiet:
            lines = request_lines(dry_run, all_rows=self.all_rows)
            context.stdout.writelines(f"{printable(line)}\n" for line in lines)
        took = format_duration(dry_run.elapsed_s)
        context.say(f"{counted_noun(len(dry_run.requests), 'request')}, about {took}; nothing was sent")
        if dry_run.problems:
            name, reason = next(iter(dry_run.problems.items()))
            raise UnsafeError(
                f"{len(dry_run.problems)} of {counted_noun(len(plan.partitions), 'partition')} "
                f"would not be moved: {name}: {reason}"
            )
        if self.begin.exit_code and dry_run.requests:
            raise FindingsError("a plan is pending")

    @property
    def _in_json(self) -> bool:
        from kafkabal.cli.commands.rebalance.run_command_options import RunFormat

        return self.command.output.output is RunFormat.JSON
