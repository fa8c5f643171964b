"""The loop: look, find what changed, report it, decide, heal.

::

    every 5 s    ask all brokers for an answer -> health of each
    every 30 s   read the whole cluster        -> offline dirs, replicas out of sync, imbalance
    then         report every change as an event
                 unless something is being healed: decide on the next healing, plan it on the state just read, begin it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kafkabal.clusters import Clock, Cluster
from kafkabal.errors import KafkabalError
from kafkabal.executor import StopSwitch
from kafkabal.model import ClusterState
from kafkabal.watch.broker_health import BrokerHealth, HealthChange, HealthMonitor, HealthRules
from kafkabal.watch.decide import Decision, Healing, HealKind, Sight, decide
from kafkabal.watch.heal import Healer, HealResult, plan_of
from kafkabal.watch.heal_policy import HealPolicy
from kafkabal.watch.ledger import Entry, Ledger, read_ledger, write_ledger
from kafkabal.watch.look import StateFindings, find, read_state, sample_brokers
from kafkabal.watch.watch_events import EventKind, WatchEvent, WatchListener

_EVENT_OF_HEALTH = {
    BrokerHealth.WELL: EventKind.BROKER_BACK,
    BrokerHealth.SLOW: EventKind.BROKER_SLOW,
    BrokerHealth.UNREACHABLE: EventKind.BROKER_UNREACHABLE,
    BrokerHealth.DEAD: EventKind.BROKER_DEAD,
}
_NAP_S = 0.5
_NOTHING_FOUND = StateFindings(frozenset(), frozenset(), frozenset(), 0, (), frozenset(), frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """How often what is looked at."""

    every_s: float = 5.0
    state_every_s: float = 30.0
    broker_timeout_s: float = 3.0
    rules: HealthRules = field(default_factory=HealthRules)
    policy: HealPolicy = field(default_factory=HealPolicy)


@dataclass(frozen=True, slots=True)
class Summary:
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
            *((f"{out_of_sync} partitions out of sync",) if out_of_sync else ()),
            *(f"imbalanced by {score}" for score in self.findings.imbalanced),
        )


class Watcher:
    """Watches one cluster.

    Parameters
    ----------
    completed
        Adds what the profile states of the disks.
    ledger_path
        Where it is remembered what was healed.
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
    ) -> None:
        self._cluster, self._options, self._clock = cluster, options, clock
        self._listener, self._healer, self._completed = listener, healer, completed
        self._ledger_path = ledger_path
        self._ledger: Ledger = read_ledger(ledger_path)
        self._monitor = HealthMonitor(options.rules)
        self._findings = _NOTHING_FOUND
        self._state: ClusterState | None = None
        self._state_at_s = float("-inf")
        self._imbalanced_looks = 0
        self._is_blind = False
        self._held_back = ""

    def run(self, stop: StopSwitch, after_look: Callable[[Summary], None] = lambda _: None) -> None:
        """Until the switch is turned; a healing in progress is then cancelled gracefully."""
        while stop.reason is None:
            next_s = self._clock.monotonic() + self._options.every_s
            self.look()
            after_look(self.summary())
            self._sleep_until(next_s, stop)
        if self._healer.healing is not None:
            self._healer.stop()

    def look(self) -> None:
        """One look, with everything that follows from it."""
        self._finish_healing()
        if not self._sample():
            return
        if self._clock.monotonic() - self._state_at_s >= self._options.state_every_s:
            self._read()
        if self._healer.healing is not None:
            self._yield_to_repair()
        elif self._state is not None:
            self._heal_next(self._state)

    def _sleep_until(self, at_s: float, stop: StopSwitch) -> None:
        while stop.reason is None and (left_s := at_s - self._clock.monotonic()) > 0:
            self._clock.sleep(min(left_s, _NAP_S))

    def summary(self) -> Summary:
        """What is wrong now."""
        health = {b: kind for kind in BrokerHealth for b in self._monitor.in_health(kind)}
        return Summary(health, self._findings)

    def _sample(self) -> bool:
        """Ask the brokers; False where not even one answers, so that nothing is known."""
        try:
            samples = sample_brokers(self._cluster, self._options.broker_timeout_s)
        except KafkabalError as error:
            self._report_blindness(error)
            return False
        if self._is_blind:
            self._is_blind = False
            self._report(EventKind.SEEING, "the cluster responds again")
        for change in self._monitor.update(samples, self._clock.monotonic()):
            self._report_health(change)
        return True

    def _read(self) -> None:
        """The whole state; a broker that holds replicas and is not registered is known from here on."""
        try:
            state = read_state(self._cluster, self._options.broker_timeout_s, self._completed)
        except KafkabalError as error:
            self._report_blindness(error)
            return
        self._state, self._state_at_s = state, self._clock.monotonic()
        self._know(frozenset(state.brokers.id.tolist()))
        found = find(state, self._options.policy.outer_tolerance)
        self._report_findings(found)
        self._imbalanced_looks = self._imbalanced_looks + 1 if found.imbalanced else 0
        self._findings = found

    def _know(self, brokers: frozenset[int]) -> None:
        """Brokers that died before this watch was started are followed from now on."""
        for change in self._monitor.expect(brokers, self._clock.monotonic()):
            self._report_health(change)

    def _heal_next(self, state: ClusterState) -> None:
        at_s, local = self._clock.utc_now().timestamp(), self._clock.utc_now().astimezone()
        decision = decide(self._sight(), self._options.policy, self._ledger, at_s=at_s, local=local)
        self._report_held_back(decision)
        if decision.healing is None:
            return
        try:
            plan = plan_of(decision.healing, state, self._options.policy, self._ledger, at_s)
        except KafkabalError as error:
            self._note(Entry(at_s=at_s, kind=decision.healing.kind, moved_bytes=0, succeeded=False))
            self._report(EventKind.HEALING_FAILED, f"{decision.healing.kind}: {error.message}")
            return
        if not plan.partitions:
            # nothing can be done about it now: counted, so that it is not planned again every five seconds
            self._note(Entry(at_s=at_s, kind=decision.healing.kind, moved_bytes=0, succeeded=False))
            self._forget_demotion(decision.healing)
            return
        # written before it begins: a watch that is killed meanwhile remembers what it was about to move
        entry = Entry(at_s=at_s, kind=decision.healing.kind, moved_bytes=plan.moved_bytes, succeeded=False, plan=plan)
        self._note(entry)
        self._report(EventKind.HEALING, f"{decision.healing.kind}: {decision.healing.reason}")
        self._healer.begin(decision.healing, plan)
        self._finish_healing()

    def _finish_healing(self) -> None:
        result = self._healer.poll()
        if result is None:
            return
        self._state_at_s = float("-inf")  # what was just changed is read before anything is decided on it
        if result.problem:
            self._report(EventKind.HEALING_FAILED, f"{result.healing.kind}: {result.problem}", run_id=result.run_id)
            return
        self._ledger = self._ledger.with_last_succeeded()
        self._remember_demotion(result)
        write_ledger(self._ledger, self._ledger_path)
        self._imbalanced_looks = 0
        self._report(EventKind.HEALED, f"{result.healing.kind}: {result.healing.reason}", run_id=result.run_id)

    def _remember_demotion(self, result: HealResult) -> None:
        demoted = dict(self._ledger.demoted)
        for broker in result.healing.brokers:
            if result.healing.kind is HealKind.DEMOTE and result.plan is not None:
                demoted[broker] = result.plan
            elif result.healing.kind is HealKind.PROMOTE:
                demoted.pop(broker, None)
        self._ledger = self._ledger.with_demoted(demoted)

    def _forget_demotion(self, healing: Healing) -> None:
        """A broker whose leadership others have changed since has nothing to be given back."""
        if healing.kind is HealKind.PROMOTE:
            kept = {b: plan for b, plan in self._ledger.demoted.items() if b not in healing.brokers}
            self._ledger = self._ledger.with_demoted(kept)
            write_ledger(self._ledger, self._ledger_path)

    def _yield_to_repair(self) -> None:
        """A broker that dies while something else is healed: that is cancelled, and the repair comes first."""
        healing = self._healer.healing
        if healing is None or healing.kind is HealKind.REPAIR:
            return
        sight = self._sight()
        if any(for_s >= self._options.policy.dead_after_s for for_s in sight.dead.values()):
            self._healer.stop()

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
        )

    def _note(self, entry: Entry) -> None:
        self._ledger = self._ledger.with_entry(entry)
        write_ledger(self._ledger, self._ledger_path)

    def _report_health(self, change: HealthChange) -> None:
        kind = _EVENT_OF_HEALTH[change.after]
        word = "is back" if kind is EventKind.BROKER_BACK else f"is {change.after}"
        self._report(kind, f"broker {change.broker} {word}: {change.detail}", broker=change.broker)

    def _report_findings(self, found: StateFindings) -> None:
        before = self._findings
        for broker, path in sorted(found.offline_dirs - before.offline_dirs):
            self._report(EventKind.LOG_DIR_OFFLINE, f"log dir {path} of broker {broker} is offline", broker, path)
        for broker, path in sorted(before.offline_dirs - found.offline_dirs):
            self._report(EventKind.LOG_DIR_ONLINE, f"log dir {path} of broker {broker} is online", broker, path)
        if found.out_of_sync and not before.out_of_sync:
            self._report(EventKind.OUT_OF_SYNC, f"{found.out_of_sync} partitions have replicas out of sync")
        elif before.out_of_sync and not found.out_of_sync:
            self._report(EventKind.IN_SYNC, "all replicas on live brokers are in sync")
        if found.imbalanced and not before.imbalanced:
            tolerance = self._options.policy.outer_tolerance
            names = ", ".join(found.imbalanced)
            self._report(EventKind.IMBALANCED, f"outside {tolerance:.0%} of the fair share by {names}")
        elif before.imbalanced and not found.imbalanced:
            self._report(EventKind.BALANCED, "every score is inside the outer band")

    def _report_blindness(self, error: KafkabalError) -> None:
        if not self._is_blind:
            self._is_blind = True
            self._report(EventKind.BLIND, f"the cluster cannot be read: {error.message}")

    def _report_held_back(self, decision: Decision) -> None:
        if decision.held_back and decision.held_back != self._held_back:
            self._report(EventKind.HELD_BACK, decision.held_back)
        self._held_back = decision.held_back

    def _report(
        self, kind: EventKind, message: str, broker: int | None = None, log_dir: str | None = None, run_id: str = ""
    ) -> None:
        at = self._clock.utc_now().isoformat(timespec="milliseconds")
        self._listener.on_event(
            WatchEvent(at=at, event=kind, message=message, broker=broker, log_dir=log_dir, run_id=run_id or None)
        )


def check_once(cluster: Cluster, options: WatchOptions, completed: Callable[[ClusterState], ClusterState]) -> Summary:
    """What one look shows: no history, so that no broker is found slow; what does not respond twice is unreachable.

    Raises
    ------
    KafkabalError
        If the cluster cannot be read.
    """
    samples = [sample_brokers(cluster, options.broker_timeout_s) for _ in range(2)]
    state = read_state(cluster, options.broker_timeout_s, completed)
    health = dict.fromkeys(state.brokers.id.tolist(), BrokerHealth.DEAD)
    for broker in samples[-1]:
        answered = any(looked.get(broker) and looked[broker].response_s is not None for looked in samples)
        health[broker] = BrokerHealth.WELL if answered else BrokerHealth.UNREACHABLE
    return Summary(health, find(state, options.policy.outer_tolerance))
