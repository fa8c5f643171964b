"""The loop: observe, find what changed, report it, decide, heal.

::

    every 5 s    ask all brokers for an answer -> health of each
    every 30 s   read the whole cluster        -> offline dirs, replicas out of sync, imbalance
                 without a controller: what brokers report; nothing is healed before it responds
    then         report every change as an event
                 while a healing is in progress: stop it if a repair takes precedence, its window closed, or its plan is
                 old
                              otherwise: decide on the next healing, plan it on the state just read, begin it

Every change of the cluster is written to the ledger first: a watch that was killed knows what it was doing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace as replace_field
from pathlib import Path

from msgspec.structs import replace

from kafkabal.clusters import Clock, Cluster, UnderMinIsrCounter
from kafkabal.errors import KafkabalError
from kafkabal.executor import FoundRun, Phase
from kafkabal.model import ClusterState
from kafkabal.plan import Plan
from kafkabal.units import format_duration
from kafkabal.watch.broker_health import BrokerHealth, HealthMonitor
from kafkabal.watch.decide_healing import MOVES_FOR_BALANCE, Decision, Healing, HealKind, Situation, decide
from kafkabal.watch.ends_of_healings import moved_back, never_began, rolled_back, with_ends_of_runs, with_result
from kafkabal.watch.finding_changes import FindingChanges
from kafkabal.watch.heal import Healer
from kafkabal.watch.heal_policy import HealLevel
from kafkabal.watch.healing_ledger import HealingEntry
from kafkabal.watch.kept_ledger import KeptLedger
from kafkabal.watch.one_observation import WatchSummary, read_state, sample_brokers
from kafkabal.watch.plan_healing import plan_of
from kafkabal.watch.possible_demotions import PossibleDemotions
from kafkabal.watch.repeated_absences import RepeatedAbsences
from kafkabal.watch.state_findings import NOTHING_FOUND, StateFindings, find
from kafkabal.watch.watch_event_sender import WatchEventSender
from kafkabal.watch.watch_events import EventKind, WatchListener
from kafkabal.watch.watch_options import WatchOptions

_NOT_THERE = frozenset({BrokerHealth.UNREACHABLE, BrokerHealth.DEAD})
_NAP_S = 0.5
"""A signal takes effect within this time."""
_LAST_WAIT_S = 300.0
"""Longest wait for a run that is cancelled when the watch ends; the service manager is set to wait a little longer."""


class Watcher:
    """Watches one cluster.

    Parameters
    ----------
    ledger_path
        File that records what was healed.
    completed
        Adds what the profile says about the disks.
    why_not_alone
        Asked before any change: why another watch may have acted since this was last asked; empty if none can have.
    cluster_id
        Id of the cluster; None accepts any.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: WatchOptions,
        clock: Clock,
        listener: WatchListener,
        healer: Healer,
        ledger_path: Path,
        completed: Callable[[ClusterState], ClusterState] = lambda state: state,
        why_not_alone: Callable[[], str] = lambda: "",
        cluster_id: str | None = None,
    ) -> None:
        self._cluster, self._options, self._clock = cluster, options, clock
        self._under_min_isr = UnderMinIsrCounter(cluster, clock)
        self._events, self._healer, self._completed = WatchEventSender(clock, listener), healer, completed
        self._why_not_alone, self._why_on_standby = why_not_alone, ""
        self._cluster_id, self._successor = cluster_id, ""
        self._heals = options.policy.level is not HealLevel.NONE
        self._kept = KeptLedger(ledger_path, clock, self._events, is_needed=self._heals)
        self._monitor = HealthMonitor(options.rules)
        self._absences = RepeatedAbsences(options.policy.dead_after_s)
        self._are_absences_kept = True
        self._were_slow: Mapping[int, float] = {}
        self._found = self._findings = NOTHING_FOUND
        self._changes = FindingChanges()
        self._state: ClusterState | None = None
        self._state_at_s = float("-inf")
        self._read_at_s: float | None = None
        self._responses_s: Mapping[int, float] = {}
        self._imbalanced_readings = 0
        self._begun_at_s = 0.0
        self._begun_kind = ""
        """What the healing in progress does; of one that is resumed, what it was begun for."""
        self._why_stopped = ""
        self._continued: Healing | None = None
        # a killed watch may have left a run, and so may a failed healing
        self._may_be_unfinished = self._heals
        self._asked_at_s = float("-inf")
        self._foreign_run = ""
        self._planned_in_vain: tuple[Healing, float] | None = None
        """A healing whose plan could not begin, and the time of the reading that it was made from."""
        self._demotions = PossibleDemotions(options.policy)

    def run(
        self,
        should_end: Callable[[], bool],
        after_observation: Callable[[WatchSummary], None] = lambda _: None,
        on_cancel: Callable[[Healing], None] = lambda _: None,
    ) -> None:
        """Observe until it should end; then cancel a healing in progress gracefully.

        Parameters
        ----------
        on_cancel
            Called with the healing before it is cancelled, which may take minutes.
        """
        while not should_end():
            next_s = self._clock.monotonic() + self._options.every_s
            self.observe()
            after_observation(self.summary())
            while not should_end() and (left_s := next_s - self._clock.monotonic()) > 0:
                self._clock.sleep(min(left_s, _NAP_S))
        if self._healer.healing is not None:
            on_cancel(self._healer.healing)
        self.end()

    def observe(self) -> None:
        """Make one observation and act on it."""
        self._finish_healing()
        self._follow_clock()
        if not self._sample():
            return
        if self._clock.monotonic() - self._state_at_s >= self._options.state_every_s - _NAP_S:
            self._read()
        if self._healer.healing is not None:
            self._tend_healing()
        elif self._state is not None and self._is_state_current():
            self._heal_next(self._state)

    def give_way(self, why: str) -> None:
        """Cancel a healing in progress: another watch acts now."""
        if self._healer.healing is not None and not self._why_stopped:
            self._stop_healing(why, gently=False)

    def end(self) -> None:
        """Cancel a healing in progress, wait until it has ended, and record the result and what is missing."""
        if self._healer.healing is not None:
            self._stop_healing("the watch ends", gently=False)
            self._healer.wait(_LAST_WAIT_S)
            self._finish_healing()
        if self._heals and self._absences.kept(self._clock.monotonic()):
            self._are_absences_kept = False  # what is missing has been so for longer than was recorded
            self._is_alone()

    @property
    def demoted(self) -> frozenset[int]:
        """Demoted brokers: their leadership was moved away and has not been restored yet."""
        return frozenset(int(b) for b in self._kept.ledger.demoted)

    @property
    def successor(self) -> str:
        """Id of another cluster that is at the same addresses now, so that this watch must end; else empty."""
        return self._successor

    @property
    def is_waiting(self) -> bool:
        """Whether a healing is held back, or was stopped to be planned again."""
        return self._events.is_held_back or self._continued is not None or self._may_be_unfinished

    def summary(self) -> WatchSummary:
        """What is wrong now."""
        health = {b: kind for kind in BrokerHealth for b in self._monitor.in_health(kind)}
        return WatchSummary(health, self._findings, self._read_at_s, self._responses_s)

    def _sample(self) -> bool:
        """Ask the brokers to respond; returns False if none does, so that nothing is known."""
        at_s, self._responses_s = self._clock.monotonic(), {}
        try:
            samples = sample_brokers(self._cluster, self._options.broker_timeout_s)
        except KafkabalError as error:
            self._events.blind(error.message)
            self._state_at_s = float("-inf")  # read as soon as a broker responds again
            return False
        self._responses_s = {b: each.response_s for b, each in samples.items() if each.response_s is not None}
        changes = self._monitor.update(samples, at_s)
        unreachable, dead = (self._monitor.in_health(kind) for kind in (BrokerHealth.UNREACHABLE, BrokerHealth.DEAD))
        there = self._monitor.in_health(BrokerHealth.WELL, BrokerHealth.SLOW)
        if self._absences.update(there, unreachable, dead, at_s):
            self._are_absences_kept = False
        for change in changes:
            self._events.health(change, is_flapping=change.broker in self._absences.flapping(at_s))
            if {change.before, change.after} & _NOT_THERE:
                # a plan from the last reading would drain a broker that has just come back
                self._state_at_s = float("-inf")
        return True

    def _read(self) -> None:
        """Read the whole state; brokers that hold replicas but are not registered are tracked from here on."""
        try:
            reading = read_state(self._cluster, self._options.broker_timeout_s, self._completed)
            state = reading.state
            if self._cluster_id not in (None, state.cluster_id):
                self._state, self._successor = None, state.cluster_id
                return
            if state is not self._state:  # only a simulated cluster knows that nothing has changed
                found = find(state, self._options.policy.outer_tolerance)
                self._found = replace_field(found, under_min_isr=self._under_min_isr.count(state))
                self._demotions.forget()
        except KafkabalError as error:
            self._events.blind(error.message)
            return
        if reading.in_flight_problem:
            self._events.without_controller(reading.in_flight_problem)
        else:
            self._events.seeing()
            self._read_at_s = self._clock.utc_now().timestamp()
        if not self._kept.is_loaded:
            self._load()
        if not self._monitor.in_health(*_NOT_THERE):
            # a watch that was suspended for too long reports beside the one that took over, until it asks; but where a
            # broker is missing, the lock may not be available either, and waiting for it would delay observations
            self._is_alone()
        found = self._found.remembering(self._findings)
        self._state, self._state_at_s = state, self._clock.monotonic()
        self._know(frozenset(state.brokers.id.tolist()))
        self._follow_findings(found)
        if self._kept.is_loaded and not self._kept.is_saved and self._is_alone():
            self._kept.save()

    def _follow_findings(self, found: StateFindings) -> None:
        """Report what is new or gone since the last reading, and count those of imbalance."""
        before, self._findings = self._findings, found
        may_return = self._situation().may_return(self._options.policy.dead_after_s)
        if may_return:
            # otherwise each broker that dies begins an alert of imbalance too, or ends one
            self._findings = found.with_imbalance_of(before)
        for change in self._changes.between(before, self._findings, self._options.policy.outer_tolerance):
            self._events.finding(change)
        if found.reassignments_known:
            counts = found.imbalanced and not may_return
            self._imbalanced_readings = self._imbalanced_readings + 1 if counts else 0

    def _follow_clock(self) -> None:
        """Record the times by a clock that was set: the next watch would take budgets and days of rest for over."""
        if self._kept.is_loaded:
            self._kept.now_s()
            if self._kept.has_former_times and self._is_alone():
                self._kept.save()

    def _is_state_current(self) -> bool:
        """Whether the last due reading succeeded: nothing is planned on an older state, or on one whose moves in flight
        are unknown."""
        age_s = self._clock.monotonic() - self._state_at_s
        return self._findings.reassignments_known and age_s < self._options.state_every_s + 2 * self._options.every_s

    def _know(self, brokers: frozenset[int]) -> None:
        """Track brokers that died or slowed down before this watch began, and no longer those that were removed."""
        at_s = self._clock.monotonic()
        for change in (*self._monitor.expect(brokers, at_s), *self._monitor.expect_slow(self._were_slow, at_s)):
            self._events.health(change)
        self._were_slow = {}
        for broker in self._monitor.forget_removed(brokers):
            self._events.removed(broker)

    def _decide(self) -> Decision:
        at_s, policy = self._kept.now_s(), self._options.policy
        return decide(self._situation(), policy, self._kept.ledger, at_s=at_s, local=self._clock.utc_now().astimezone())

    def _heal_next(self, state: ClusterState) -> None:
        if not self._kept.is_loaded:
            return
        at_s = self._kept.now_s()
        self._kept.ledger = self._kept.ledger.not_after(at_s)
        if self._may_be_unfinished and self._resume_unfinished(at_s):
            return
        if not self._kept.is_saved:
            return  # a plan that cannot be recorded is not applied; after each reading the ledger is written again
        decision = self._decide()
        if decision.healing is None:
            self._events.held_back(decision)
            if not self._may_be_unfinished:
                self._events.nothing_to_heal(decision)
        elif not self._is_alone():
            self._events.on_standby(decision.healing, self._why_on_standby)
        elif (what := self._healer.obstacle_to(decision.healing)) is not None:
            self._events.busy(decision.healing, what)
        elif self._planned_in_vain != (decision.healing, self._state_at_s) and not self._notes_rollback(state, at_s):
            self._heal(decision, decision.healing, state, at_s)

    def _notes_rollback(self, state: ClusterState, at_s: float) -> bool:
        """Record that an operator has rolled back a healing; otherwise the same would begin again at once."""
        try:
            found = self._healer.latest_run()
        except KafkabalError:
            return False  # the healing finds out
        entry = rolled_back(self._kept.ledger, found)
        run_id = found.record.run_id if entry is not None and found is not None else ""
        entry = entry or moved_back(self._kept.ledger, state, at_s)
        if entry is None:
            return False
        self._kept.ledger = self._kept.ledger.with_end(
            entry, at_s=at_s, moved_bytes=None, succeeded=False, was_cancelled=True
        )
        self._kept.save()
        self._events.rolled_back(entry.kind, run_id)
        return True

    def _is_alone(self) -> bool:
        """Whether no other watch may have healed since the ledger was read; if one may have, reads it again.

        Otherwise a watch of this host that was suspended would move again what the one in between has moved, and
        replace the record of it.
        """
        self._why_on_standby = self._why_not_alone()
        if not self._why_on_standby:
            self._keep_absences()
            return True
        self._kept.read_again()
        # a run of that watch, if it was killed
        self._may_be_unfinished, self._asked_at_s = self._heals, float("-inf")
        return False

    def _heal(self, decision: Decision, healing: Healing, state: ClusterState, at_s: float) -> None:
        try:
            plan, problem = plan_of(healing, state, self._options.policy, self._kept.ledger, at_s), ""
        except KafkabalError as error:
            plan, problem = Plan(partitions=()), error.message
        if plan.partitions and (what := self._healer.obstacle_to(healing, plan)) is not None:
            # a healing that cannot begin must not count as an action: a long run would use up the actions of the day
            self._planned_in_vain = (healing, self._state_at_s)
            self._events.busy(healing, what)
            return
        self._events.held_back(decision)
        is_continued = healing == self._continued
        if is_continued:
            self._continued = None
        entry = HealingEntry(
            at_s=at_s,
            kind=healing.kind,
            reason=healing.reason,
            moved_bytes=0,
            succeeded=False,
            continues=is_continued,
        )
        if problem:
            self._kept.add(entry)
            self._events.failed(healing.kind, problem)
            return
        if not plan.partitions:
            # nothing can be done now: recorded, so that it is not planned again every five seconds
            self._kept.add(entry)
            self._forget_demotion(healing)
            if not is_continued and healing.kind is not HealKind.PROMOTE:
                self._events.unmet(healing, plan.warnings or ("no move helps now",))
            return
        if healing.kind is HealKind.DEMOTE:
            self._remember_usual(healing)
        # recorded before it begins: a watch that is killed meanwhile knows later what it was about to move
        if not self._kept.add(replace(entry, moved_bytes=plan.moved_bytes, plan=plan)):
            return
        self._events.begun(healing, plan)
        self._events.unmet(healing, plan.warnings)
        self._begun_at_s, self._begun_kind, self._why_stopped = self._clock.monotonic(), healing.kind, ""
        self._healer.begin(healing, plan)
        self._finish_healing()

    def _resume_unfinished(self, at_s: float) -> bool:
        """Finish a run that this watch began; returns False if there is none, or if others may begin before it."""
        if self._asked_at_s == self._state_at_s:
            return False  # already asked since the state was read
        if not self._is_alone():
            if (healing := self._decide().healing) is not None:
                self._events.on_standby(healing, self._why_on_standby)
            return True
        self._asked_at_s = self._state_at_s
        try:
            found = self._healer.latest_run()
            entry = self._kept.ledger.entry_of(found.record.plan_id) if found is not None else None
            if found is None or not found.is_open or entry is None:
                self._may_be_unfinished = False
                self._settle_entries(found, at_s)
                self._report_foreign(found)
                return False
            if at_s < self._kept.ledger.backs_off_until_s(HealKind.RESUME, "", self._options.policy.back_off_s):
                return False
            if not self._healer.can_resume(found) or self._healer.holder() is not None:
                return False
            if self._situation().missing_at_once > self._options.policy.max_dead:
                return False  # nothing else begins then either
        except KafkabalError:
            return False  # asked again after the next reading
        healing = Healing(HealKind.RESUME, reason=f"run {found.record.run_id} was left unfinished")
        # one that is closed only restores throttles
        kind = HealKind.RESUME if found.state.phase is Phase.CLOSED else entry.kind
        why_not = self._why_not_now(kind)
        what = f"{healing.kind}: {healing.reason}" + (f", and is cancelled: {why_not}" if why_not else "")
        self._events.report(EventKind.HEALING, what, run_id=found.record.run_id)
        self._begun_at_s, self._begun_kind, self._why_stopped = self._clock.monotonic(), kind, why_not
        self._healer.begin_resume(healing, found, is_cancelled=bool(why_not))
        self._finish_healing()
        return True

    def _why_not_now(self, kind: str) -> str:
        """Why a run of this kind may not move anything now; empty if it may."""
        policy = self._options.policy
        if policy.level is HealLevel.LEADERS and kind in MOVES_FOR_BALANCE | {HealKind.REPAIR}:
            return f"--heal {policy.level} moves no replica"
        if kind in MOVES_FOR_BALANCE and not policy.allows_moves_at(self._clock.utc_now().astimezone()):
            return f"the window {policy.window} has closed"
        return ""

    def _report_foreign(self, found: FoundRun | None) -> None:
        """Report once that a run of another process is unfinished: its throttles may be set, and it blocks healings."""
        if found is None or not found.is_open or self._healer.holder() is not None:
            return
        record = found.record
        if record.run_id == self._foreign_run:
            return
        self._foreign_run = record.run_id
        what = f"run {record.run_id} of {record.host} is unfinished, and no watch of this state folder began it"
        message = f"{HealKind.RESUME} held back: {what}: finish it with 'kafkabal rebalance resume'"
        self._events.report(EventKind.HELD_BACK, message, run_id=record.run_id)

    def _settle_entries(self, latest: FoundRun | None, at_s: float) -> None:
        """Complete what a killed watch recorded."""
        ledger = with_ends_of_runs(self._kept.ledger, latest, at_s)
        if ledger != self._kept.ledger:
            self._kept.ledger = ledger
            self._kept.save()

    def _finish_healing(self) -> None:
        result = self._healer.poll()
        if result is None:
            return
        self._state_at_s = float("-inf")  # read the result of the change before the next decision
        self._is_alone()
        at_s = self._kept.now_s()
        # otherwise what an operator has cancelled would begin again at once
        is_cancelled = result.was_stopped and not self._why_stopped
        has_failed = is_cancelled or (bool(result.problem) and not (result.is_busy or result.was_stopped))
        # the entry of a run that another process has taken over stays: that process records its end, or this one later
        self._may_be_unfinished |= bool(result.problem or result.left) and not never_began(result)
        self._kept.ledger = with_result(
            self._kept.ledger, result, at_s, has_failed=has_failed, is_cancelled=is_cancelled
        )
        self._kept.save()
        if not (has_failed or result.is_busy):
            # otherwise the imbalance is still there, and its failure is not over
            self._imbalanced_readings = 0
        self._events.ended(result, self._why_stopped, self._begun_kind)
        if result.is_busy:
            # planned again on the next reading, not at once on this one: it would meet the same obstacle
            self._state_at_s = self._clock.monotonic()
            self._planned_in_vain = (result.healing, self._state_at_s)

    def _remember_usual(self, healing: Healing) -> None:
        """Remember how fast slow brokers usually respond, for a watch that is started while they are slow."""
        for broker in healing.brokers:
            usual_s = self._monitor.median_s(broker)
            if usual_s is not None:
                self._kept.ledger = self._kept.ledger.with_usual(broker, usual_s)

    def _forget_demotion(self, healing: Healing) -> None:
        """Forget a demoted broker whose leadership others have changed since: there is nothing to restore."""
        if healing.kind is HealKind.PROMOTE:
            self._kept.ledger = self._kept.ledger.without_demotion(healing.brokers)
            self._kept.save()

    def _tend_healing(self) -> None:
        """Stop a healing in progress if something takes precedence, or if it is no longer up to date."""
        healing = self._healer.healing
        if healing is None or self._why_stopped or self._begun_kind in {HealKind.REPAIR, HealKind.RESUME}:
            return
        why = self._why_to_stop()
        is_old = not why and healing.kind in MOVES_FOR_BALANCE and self._is_plan_old()
        if is_old:
            why = f"its plan is older than {format_duration(self._options.policy.replan_after_s)}"
        if not why:
            return
        if self._healer.is_paused():  # by an operator, for whom the next run would not wait
            self._events.busy(healing, f"its run is paused, although {why}; 'kafkabal rebalance resume' continues it")
            return
        if is_old:
            self._continued = healing
        self._stop_healing(why, gently=is_old)

    def _why_to_stop(self) -> str:
        """What takes precedence over the healing in progress; empty if nothing does."""
        first = self._decide().healing
        # one that failed, or found nothing that it could copy, backs off: stopping for it would begin and stop forever
        if first is not None and first.kind is HealKind.REPAIR:
            return f"a repair comes first: {first.reason}"
        return self._why_not_now(self._begun_kind)

    def _is_plan_old(self) -> bool:
        return self._clock.monotonic() - self._begun_at_s >= self._options.policy.replan_after_s

    def _stop_healing(self, why: str, *, gently: bool) -> None:
        self._why_stopped = why
        self._healer.stop(gently=gently)

    def _situation(self) -> Situation:
        now_s, found = self._clock.monotonic(), self._findings
        durations = {
            kind: {b: now_s - self._monitor.since_s(b) for b in self._monitor.in_health(kind)} for kind in BrokerHealth
        }
        flapping = self._absences.flapping(now_s)
        dead = {b: max(for_s, flapping.get(b, 0.0)) for b, for_s in durations[BrokerHealth.DEAD].items()}
        return Situation(
            dead=dead,
            absent=self._absences.missing(now_s),
            flapping=frozenset(flapping),
            dead_with_replicas=found.lost_on_dead & dead.keys(),
            slow=durations[BrokerHealth.SLOW],
            # only the reading shows a broker that died after it was last asked
            unreachable=frozenset(durations[BrokerHealth.UNREACHABLE]) | (found.lost_on_dead - dead.keys()),
            well=durations[BrokerHealth.WELL],
            has_offline_dir=found.lost_on_dirs,
            out_of_sync=found.out_of_sync,
            empty=(found.empty & durations[BrokerHealth.WELL].keys()) - self._options.policy.exclude_brokers,
            without_replicas=found.without_replicas,
            imbalanced_readings=self._imbalanced_readings,
            led=self._led(frozenset(durations[BrokerHealth.SLOW])),
            continued=self._continued,
        )

    def _led(self, slow: frozenset[int]) -> frozenset[int]:
        """Brokers that lead partitions, without demoted slow ones that lead only what no other broker could lead."""
        alone = (
            b
            for b in self.demoted & self._findings.led & slow
            if not self._demotions.takes_leadership(b, slow, self._kept.ledger, self._state)
        )
        return self._findings.led.difference(alone)

    def _load(self) -> None:
        """Read what earlier watches have done and seen."""
        if not self._kept.load():
            return
        self._were_slow = self._kept.ledger.usual_s
        ago_s = self._kept.now_s() - self._kept.ledger.presence_at_s
        # if the clock was set back meanwhile, it counts from now
        self._absences.restore(self._kept.ledger.presence, max(ago_s, 0.0), self._clock.monotonic())

    def _keep_absences(self) -> None:
        """Record which brokers are flapping, for a watch that is started again."""
        if self._are_absences_kept or not (self._heals and self._kept.is_loaded):
            return
        kept, at_s = self._absences.kept(self._clock.monotonic()), self._kept.now_s()
        self._kept.ledger = replace(self._kept.ledger, presence=kept, presence_at_s=at_s)
        self._are_absences_kept = True
        self._kept.save()
