"""The loop: observe, find what changed, report it, decide, heal.

::

    every 5 s    ask all brokers for an answer -> health of each
    every 30 s   read the whole cluster        -> offline dirs, replicas out of sync, imbalance
    then         report every change as an event
                 while something is healed: stop it where a repair comes first, its window closed, or its plan is old
                 else: decide on the next healing, plan it on the state just read, begin it

What is changed on the cluster is written to the ledger first: a watch that is killed knows what it was about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from kafkabal.clusters import Clock, Cluster, ReadRequest
from kafkabal.errors import KafkabalError
from kafkabal.model import ClusterState
from kafkabal.plan import Plan
from kafkabal.units import format_bytes, format_duration
from kafkabal.watch.broker_health import BrokerHealth, BrokerSample, HealthChange, HealthMonitor
from kafkabal.watch.decide_healing import MOVES_FOR_BALANCE, Decision, Healing, HealKind, Sight, decide
from kafkabal.watch.finding_changes import changes_between
from kafkabal.watch.heal import Healer, HealResult, plan_of
from kafkabal.watch.heal_policy import HealLevel
from kafkabal.watch.healing_ledger import HealingEntry, HealingLedger, read_ledger, write_ledger
from kafkabal.watch.state_findings import NOTHING_FOUND, StateFindings, find
from kafkabal.watch.watch_events import EventKind, WatchEvent, WatchListener
from kafkabal.watch.watch_options import WatchOptions
from kafkabal.wording import counted_noun

_EVENT_OF_HEALTH = {
    BrokerHealth.WELL: EventKind.BROKER_BACK,
    BrokerHealth.SLOW: EventKind.BROKER_SLOW,
    BrokerHealth.UNREACHABLE: EventKind.BROKER_UNREACHABLE,
    BrokerHealth.DEAD: EventKind.BROKER_DEAD,
}
_NAP_S = 0.5
"""A signal is obeyed within this time."""
_LAST_WAIT_S = 300.0
"""For a run that is cancelled when the watch ends; the service manager is asked to wait a little longer."""
_NAMED = 3


@dataclass(frozen=True, slots=True)
class WatchSummary:
    """What is wrong now, for ``--once`` and for metrics."""

    health: dict[int, BrokerHealth]
    findings: StateFindings

    @property
    def problems(self) -> tuple[str, ...]:
        """One line each; empty where nothing is wrong."""
        out_of_sync = self.findings.out_of_sync
        return (
            *(f"broker {b} {health}" for b, health in sorted(self.health.items()) if health != BrokerHealth.WELL),
            *(f"log dir {path} of broker {b} offline" for b, path in sorted(self.findings.offline_dirs)),
            *((f"{counted_noun(out_of_sync, 'partition')} out of sync",) if out_of_sync else ()),
            *(f"imbalanced by {score}" for score in self.findings.imbalanced),
        )


class Watcher:
    """Watches one cluster.

    Parameters
    ----------
    ledger_path
        Where it is recorded what was healed.
    completed
        Adds what the profile states of the disks.
    may_heal
        Asked before anything is changed: whether this is still the only watch of the cluster.
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
        may_heal: Callable[[], bool] = lambda: True,
    ) -> None:
        self._cluster, self._options, self._clock = cluster, options, clock
        self._listener, self._healer, self._completed = listener, healer, completed
        self._ledger_path, self._may_heal = ledger_path, may_heal
        self._ledger: HealingLedger = read_ledger(ledger_path)
        self._is_saved = True
        self._monitor = HealthMonitor(options.rules)
        self._findings = NOTHING_FOUND
        self._state: ClusterState | None = None
        self._state_at_s = float("-inf")
        self._imbalanced_looks = 0
        self._is_blind = False
        self._obstacle = ""
        self._unmet: dict[HealKind, tuple[str, ...]] = {}
        self._begun_at_s = 0.0
        self._why_stopped = ""
        self._continued: Healing | None = None
        # a watch that was killed may have left a run, and so may a healing that failed
        self._may_be_unfinished = options.policy.level is not HealLevel.NONE
        self._asked_at_s = float("-inf")

    def run(self, should_end: Callable[[], bool], after_look: Callable[[WatchSummary], None] = lambda _: None) -> None:
        """Until it is to end; a healing in progress is then cancelled gracefully."""
        while not should_end():
            next_s = self._clock.monotonic() + self._options.every_s
            self.look()
            after_look(self.summary())
            while not should_end() and (left_s := next_s - self._clock.monotonic()) > 0:
                self._clock.sleep(min(left_s, _NAP_S))
        self.end()

    def look(self) -> None:
        """One observation, with everything that follows from it."""
        self._finish_healing()
        if not self._sample():
            return
        if self._clock.monotonic() - self._state_at_s >= self._options.state_every_s - _NAP_S:
            self._read()
        if self._healer.healing is not None:
            self._tend_healing()
        elif self._state is not None and self._is_state_current():
            self._heal_next(self._state)

    def end(self) -> None:
        """Cancel what is being healed, wait until it has ended, and write that down."""
        if self._healer.healing is None:
            return
        self._stop_healing("the watch ends", gently=False)
        self._healer.wait(_LAST_WAIT_S)
        self._finish_healing()

    @property
    def demoted(self) -> frozenset[int]:
        """Brokers whose leadership was taken away, and not given back yet."""
        return frozenset(int(b) for b in self._ledger.demoted)

    @property
    def is_waiting(self) -> bool:
        """Whether something is due that is held back, or was stopped to be planned again."""
        return bool(self._obstacle) or self._continued is not None or self._may_be_unfinished

    def summary(self) -> WatchSummary:
        """What is wrong now."""
        health = {b: kind for kind in BrokerHealth for b in self._monitor.in_health(kind)}
        return WatchSummary(health, self._findings)

    def _sample(self) -> bool:
        """Ask the brokers; False where not even one answers, so that nothing is known."""
        at_s = self._clock.monotonic()
        try:
            samples = _sample_brokers(self._cluster, self._options.broker_timeout_s)
        except KafkabalError as error:
            self._report_blindness(error)
            return False
        if self._is_blind:
            self._is_blind = False
            self._report(EventKind.SEEING, "the cluster responds again")
        for change in self._monitor.update(samples, at_s):
            self._report_health(change)
        return True

    def _read(self) -> None:
        """The whole state; a broker that holds replicas and is not registered is known from here on."""
        try:
            state = _read_state(self._cluster, self._options.broker_timeout_s, self._completed)
            found = find(state, self._options.policy.outer_tolerance)
        except KafkabalError as error:
            self._report_blindness(error)
            return
        self._state, self._state_at_s = state, self._clock.monotonic()
        self._know(frozenset(state.brokers.id.tolist()))
        self._report_findings(found)
        self._imbalanced_looks = self._imbalanced_looks + 1 if found.imbalanced else 0
        self._findings = found
        if not self._is_saved:
            self._save()

    def _is_state_current(self) -> bool:
        """Whether the state was read when it was last due: nothing is planned on an older one."""
        age_s = self._clock.monotonic() - self._state_at_s
        return age_s < self._options.state_every_s + 2 * self._options.every_s

    def _know(self, brokers: frozenset[int]) -> None:
        """Brokers that died before this watch was started are followed from now on."""
        for change in self._monitor.expect(brokers, self._clock.monotonic()):
            self._report_health(change)

    def _heal_next(self, state: ClusterState) -> None:
        at_s, local = self._clock.utc_now().timestamp(), self._clock.utc_now().astimezone()
        if self._may_be_unfinished and self._resume_unfinished(at_s):
            return
        decision = decide(self._sight(), self._options.policy, self._ledger, at_s=at_s, local=local)
        if decision.healing is not None and not self._may_heal():
            text = f"{decision.healing.kind} held back: this watch lost its lock and is retaking it"
            decision = Decision(held_back=text, obstacle="watch lock")
        self._report_held_back(decision)
        if decision.healing is not None:
            self._heal(decision.healing, state, at_s)

    def _heal(self, healing: Healing, state: ClusterState, at_s: float) -> None:
        is_continued = healing == self._continued
        if is_continued:
            self._continued = None
        entry = HealingEntry(at_s=at_s, kind=healing.kind, moved_bytes=0, succeeded=False, continues=is_continued)
        try:
            plan = plan_of(healing, state, self._options.policy, self._ledger, at_s)
        except KafkabalError as error:
            self._note(entry)
            self._report(EventKind.HEALING_FAILED, f"{healing.kind}: {error.message}")
            return
        if not plan.partitions:
            # nothing can be done about it now: counted, so that it is not planned again every five seconds
            self._note(entry)
            self._forget_demotion(healing)
            if not is_continued:
                self._report_unmet(healing, plan.warnings or ("nothing can be moved for it now",))
            return
        # written before it begins: a watch that is killed meanwhile knows later what it was about to move
        if not self._note(replace(entry, moved_bytes=plan.moved_bytes, plan=plan)):
            return
        self._report(EventKind.HEALING, f"{healing.kind}: {healing.reason}; {_extent(plan)}")
        self._report_unmet(healing, plan.warnings)
        self._begun_at_s, self._why_stopped = self._clock.monotonic(), ""
        self._healer.begin(healing, plan)
        self._finish_healing()

    def _resume_unfinished(self, at_s: float) -> bool:
        """Bring a run that this watch began to its end; False where there is none, or it has to wait."""
        if at_s < self._ledger.backs_off_until_s(HealKind.RESUME, self._options.policy.back_off_s):
            return False
        if self._asked_at_s == self._state_at_s:
            return False  # asked since the state was read
        self._asked_at_s = self._state_at_s
        try:
            found = self._healer.unfinished()
            if found is None or not self._ledger.has_begun(found.record.plan_id):
                self._may_be_unfinished = False
                return False
            if not self._healer.can_resume(found) or not self._may_heal():
                return False
        except KafkabalError:
            return False  # asked again when the state has been read again
        healing = Healing(HealKind.RESUME, reason=f"run {found.record.run_id} was left unfinished")
        self._report(EventKind.HEALING, f"{healing.kind}: {healing.reason}", run_id=found.record.run_id)
        self._begun_at_s, self._why_stopped = self._clock.monotonic(), ""
        self._healer.begin_resume(healing, found)
        self._finish_healing()
        return True

    def _finish_healing(self) -> None:
        result = self._healer.poll()
        if result is None:
            return
        self._state_at_s = float("-inf")  # what was just changed is read before anything is decided on it
        at_s, kind = self._clock.utc_now().timestamp(), result.healing.kind
        has_failed = bool(result.problem) and not (result.is_busy or result.was_stopped)
        self._ledger = self._ledger.with_end(
            result.plan_id, at_s=at_s, moved_bytes=result.moved_bytes, succeeded=not has_failed
        )
        self._may_be_unfinished = bool(result.problem) and (kind is HealKind.RESUME or not result.is_busy)
        if has_failed and kind is HealKind.RESUME:
            failure = HealingEntry(at_s=at_s, kind=kind, moved_bytes=0, succeeded=False)
            self._ledger = self._ledger.with_entry(failure)
        if not has_failed and not result.is_busy and not result.was_stopped:
            self._remember_demotion(result)
        self._save()
        self._imbalanced_looks = 0
        self._report_end(result)

    def _report_end(self, result: HealResult) -> None:
        kind = result.healing.kind
        if result.is_busy:
            obstacle = f"{kind} busy"
            self._report_held_back(Decision(held_back=f"{kind} held back: {result.problem}", obstacle=obstacle))
            # tried again when the state has been read again, not at once
            self._state_at_s = self._clock.monotonic()
        elif result.was_stopped:
            self._report(
                EventKind.HEALING_STOPPED, f"{kind}: {self._why_stopped}; {_done(result)}", run_id=result.run_id
            )
        elif result.problem:
            self._report(EventKind.HEALING_FAILED, f"{kind}: {result.problem}", run_id=result.run_id)
        else:
            self._report(EventKind.HEALED, f"{kind}: {_done(result)}", run_id=result.run_id)

    def _remember_demotion(self, result: HealResult) -> None:
        demoted = dict(self._ledger.demoted)
        plans = {e.plan.plan_id: e.plan for e in self._ledger.entries if e.plan is not None}
        for broker in result.healing.brokers:
            if result.healing.kind is HealKind.DEMOTE and result.plan_id in plans:
                demoted[broker] = plans[result.plan_id]
            elif result.healing.kind is HealKind.PROMOTE:
                demoted.pop(broker, None)
        self._ledger = self._ledger.with_demoted(demoted)

    def _forget_demotion(self, healing: Healing) -> None:
        """A broker whose leadership others have changed since has nothing to be given back."""
        if healing.kind is HealKind.PROMOTE:
            kept = {b: plan for b, plan in self._ledger.demoted.items() if b not in healing.brokers}
            self._ledger = self._ledger.with_demoted(kept)
            self._save()

    def _tend_healing(self) -> None:
        """Stop what is being healed where something else comes first, or where it is no longer what it should be."""
        healing, policy = self._healer.healing, self._options.policy
        if healing is None or self._why_stopped or healing.kind in {HealKind.REPAIR, HealKind.RESUME}:
            return
        sight = self._sight()
        due = {b for b, for_s in sight.dead.items() if for_s >= policy.dead_after_s} & sight.dead_with_replicas
        if due and policy.level is HealLevel.ALL:
            self._stop_healing(f"a repair comes first: broker {min(due)} is dead", gently=False)
        elif healing.kind in MOVES_FOR_BALANCE and not policy.allows_moves_at(self._clock.utc_now().astimezone()):
            self._stop_healing(f"the window {policy.window} has closed", gently=False)
        elif healing.kind in MOVES_FOR_BALANCE and self._is_plan_old():
            self._continued = healing
            self._stop_healing(f"planned again after {format_duration(policy.replan_after_s)}", gently=True)

    def _is_plan_old(self) -> bool:
        return self._clock.monotonic() - self._begun_at_s >= self._options.policy.replan_after_s

    def _stop_healing(self, why: str, *, gently: bool) -> None:
        self._why_stopped = why
        self._healer.stop(gently=gently)

    def _sight(self) -> Sight:
        now_s, found = self._clock.monotonic(), self._findings
        durations = {
            kind: {b: now_s - self._monitor.since_s(b) for b in self._monitor.in_health(kind)} for kind in BrokerHealth
        }
        dead = durations[BrokerHealth.DEAD]
        return Sight(
            dead=dead,
            dead_with_replicas=found.lost_on_dead & dead.keys(),
            slow=durations[BrokerHealth.SLOW],
            unreachable=frozenset(durations[BrokerHealth.UNREACHABLE]),
            well=durations[BrokerHealth.WELL],
            has_offline_dir=found.lost_on_dirs,
            out_of_sync=found.out_of_sync,
            empty=found.empty & durations[BrokerHealth.WELL].keys(),
            imbalanced_looks=self._imbalanced_looks,
            led=found.led,
            continued=self._continued,
        )

    def _note(self, entry: HealingEntry) -> bool:
        """Add an entry to the ledger; where it cannot be written it is dropped again, and False."""
        before, self._ledger = self._ledger, self._ledger.with_entry(entry)
        if entry.plan is not None and not self._save():
            self._ledger = before
        return self._is_saved

    def _save(self) -> bool:
        """Write the ledger; a full disk is reported, and keeps the watch from healing but not from watching."""
        try:
            write_ledger(self._ledger, self._ledger_path)
        except (KafkabalError, OSError) as error:
            if self._is_saved:
                reason = error.message if isinstance(error, KafkabalError) else str(error)
                self._report(EventKind.NOT_SAVED, f"nothing is healed until this can be written: {reason}")
            self._is_saved = False
        else:
            if not self._is_saved:
                self._report(EventKind.SAVED, f"{self._ledger_path}: written again")
            self._is_saved = True
        return self._is_saved

    def _report_health(self, change: HealthChange) -> None:
        kind = _EVENT_OF_HEALTH[change.after]
        word = "is back" if kind is EventKind.BROKER_BACK else f"is {change.after}"
        self._report(kind, f"broker {change.broker} {word}: {change.detail}", broker=change.broker)

    def _report_findings(self, found: StateFindings) -> None:
        for change in changes_between(self._findings, found, self._options.policy.outer_tolerance):
            self._report(change.event, change.message, change.broker, change.log_dir)

    def _report_blindness(self, error: KafkabalError) -> None:
        if not self._is_blind:
            self._is_blind = True
            self._report(EventKind.BLIND, f"the cluster cannot be read: {error.message}")

    def _report_held_back(self, decision: Decision) -> None:
        """Once, until it is held back by something else; a failure that is tried again was reported as such."""
        is_news = decision.obstacle not in {"", self._obstacle} and not decision.is_backing_off
        if is_news:
            self._report(EventKind.HELD_BACK, decision.held_back)
        self._obstacle = decision.obstacle

    def _report_unmet(self, healing: Healing, reasons: Sequence[str]) -> None:
        """Once, until it is something else."""
        if reasons and tuple(reasons) != self._unmet.get(healing.kind):
            for reason in reasons[:_NAMED]:
                self._report(EventKind.UNMET, f"{healing.kind}: {reason}")
            if len(reasons) > _NAMED:
                self._report(
                    EventKind.UNMET,
                    f"{healing.kind}: {counted_noun(len(reasons) - _NAMED, 'more limit')} cannot be met",
                )
        self._unmet[healing.kind] = tuple(reasons)

    def _report(
        self, kind: EventKind, message: str, broker: int | None = None, log_dir: str | None = None, run_id: str = ""
    ) -> None:
        at = self._clock.utc_now().isoformat(timespec="milliseconds")
        self._listener.on_event(
            WatchEvent(at=at, event=kind, message=message, broker=broker, log_dir=log_dir, run_id=run_id or None)
        )


def _extent(plan: Plan) -> str:
    count = len(plan.partitions)
    return (
        f"{counted_noun(count, 'partition')}, {format_bytes(plan.moved_bytes)} to copy"
        if plan.moved_bytes
        else counted_noun(count, "partition")
    )


def _done(result: HealResult) -> str:
    copied = f", {format_bytes(result.moved_bytes)} copied" if result.moved_bytes else ""
    return (
        f"{result.done} of {counted_noun(result.total, 'partition')} in "
        f"place{copied} in {format_duration(result.elapsed_s)}"
    )


def check_once(
    cluster: Cluster, options: WatchOptions, completed: Callable[[ClusterState], ClusterState]
) -> WatchSummary:
    """What one observation shows: no history, so that no broker is found slow; two lost answers are unreachable.

    Raises
    ------
    KafkabalError
        If the cluster cannot be read.
    """
    samples = [_sample_brokers(cluster, options.broker_timeout_s) for _ in range(2)]
    state = _read_state(cluster, options.broker_timeout_s, completed)
    health = dict.fromkeys(state.brokers.id.tolist(), BrokerHealth.DEAD)
    for broker in samples[-1]:
        answered = any(looked.get(broker) and looked[broker].response_s is not None for looked in samples)
        health[broker] = BrokerHealth.WELL if answered else BrokerHealth.UNREACHABLE
    return WatchSummary(health, find(state, options.policy.outer_tolerance))


def _sample_brokers(cluster: Cluster, deadline_s: float) -> dict[int, BrokerSample]:
    """Ask every registered broker for a sign of life, all at once, each with its own deadline."""
    return {
        broker: BrokerSample(is_registered=True, response_s=response_s)
        for broker, response_s in cluster.response_times(deadline_s).items()
    }


def _read_state(cluster: Cluster, deadline_s: float, completed: Callable[[ClusterState], ClusterState]) -> ClusterState:
    """The whole state, with what the profile states of the disks."""
    return completed(cluster.read(ReadRequest(deadline_s=deadline_s)).state)
