"""Sends the events of a watch: a message for each change; a condition that lasts is reported once."""

from __future__ import annotations

from collections.abc import Sequence

from kafkabal.clusters import Clock
from kafkabal.plan import Plan
from kafkabal.units import format_bytes, format_duration
from kafkabal.watch.broker_health import BrokerHealth, HealthChange
from kafkabal.watch.decide_healing import Decision, Healing, HealKind
from kafkabal.watch.finding_changes import FindingChange
from kafkabal.watch.heal import HealResult
from kafkabal.watch.watch_events import EventKind, WatchEvent, WatchListener
from kafkabal.wording import counted_noun

_EVENT_OF_HEALTH = {
    BrokerHealth.WELL: EventKind.BROKER_BACK,
    BrokerHealth.SLOW: EventKind.BROKER_SLOW,
    BrokerHealth.UNREACHABLE: EventKind.BROKER_UNREACHABLE,
    BrokerHealth.DEAD: EventKind.BROKER_DEAD,
}
_NAMED = 3
"""How many to name: enough to look one up; a message is one line."""


class WatchEventSender:
    """Sends events to a listener, and remembers what it has sent."""

    def __init__(self, clock: Clock, listener: WatchListener) -> None:
        self._clock, self._listener = clock, listener
        self._unread = ""
        """What cannot be read; empty if everything can."""
        self._failed: dict[str, str] = {}
        """By kind, why the last healing failed."""
        self._obstacle = ""
        self._unmet: dict[HealKind, tuple[str, ...]] = {}

    @property
    def is_held_back(self) -> bool:
        """Whether the last decision held a healing back."""
        return bool(self._obstacle)

    def blind(self, problem: str) -> None:
        """Report that the cluster cannot be read."""
        self._cannot_read("the cluster cannot be read", problem)

    def without_controller(self, problem: str) -> None:
        """Report that only brokers respond: healing needs the controller too."""
        self._cannot_read("reassignments in flight are unknown", problem)

    def _cannot_read(self, what: str, problem: str) -> None:
        if what != self._unread:
            self._unread = what
            self.report(EventKind.BLIND, f"{what}: {problem}")

    def seeing(self) -> None:
        """Report that the whole cluster can be read again."""
        if self._unread:
            self._unread = ""
            self.report(EventKind.SEEING, "the cluster can be read again")

    def health(self, change: HealthChange, *, is_flapping: bool = False) -> None:
        """Report that the health of a broker has changed, and whether it is flapping."""
        kind = _EVENT_OF_HEALTH[change.after]
        word = "is back" if kind is EventKind.BROKER_BACK else f"is {change.after}"
        again = "; it is flapping" if is_flapping else ""
        self.report(kind, f"broker {change.broker} {word}: {change.detail}{again}", broker=change.broker)

    def removed(self, broker: int) -> None:
        """Report that a dead broker holds no replica any more, so that it is no longer tracked."""
        message = f"broker {broker} is removed: not registered, and holds no replicas"
        self.report(EventKind.BROKER_REMOVED, message, broker=broker)

    def finding(self, change: FindingChange) -> None:
        """Report that a finding is new or gone."""
        self.report(change.event, change.message, change.broker, change.log_dir)

    def held_back(self, decision: Decision) -> None:
        """Report once per obstacle that a healing is held back; a failure to be retried was reported before."""
        is_news = decision.obstacle not in {"", self._obstacle} and not decision.is_backing_off
        if is_news:
            self.report(EventKind.HELD_BACK, decision.held_back)
        self._obstacle = decision.obstacle

    def nothing_to_heal(self, decision: Decision) -> None:
        """Report once that what a failed healing was for is gone, if nothing is to be healed any more."""
        if self._failed and decision.healing is None and not decision.obstacle:
            self._failed.clear()
            self.report(EventKind.NOTHING_TO_HEAL, "the finding whose healing failed is gone")

    def busy(self, healing: Healing, what: str) -> None:
        """Report that a healing has to wait for what another process does."""
        self.held_back(Decision(held_back=f"{healing.kind} held back: {what}", obstacle=f"{healing.kind} busy"))

    def on_standby(self, healing: Healing, why: str) -> None:
        """Report that a healing has to wait because another watch may act, or may have acted since."""
        self.held_back(Decision(held_back=f"{healing.kind} held back: {why}", obstacle="watch lock"))

    def unmet(self, healing: Healing, reasons: Sequence[str]) -> None:
        """Report what a plan could not reach, once until it changes."""
        if reasons and tuple(reasons) != self._unmet.get(healing.kind):
            for reason in reasons[:_NAMED]:
                self.report(EventKind.UNMET, f"{healing.kind}: {reason}")
            if len(reasons) > _NAMED:
                self.report(
                    EventKind.UNMET,
                    f"{healing.kind}: {counted_noun(len(reasons) - _NAMED, 'more limit')} cannot be met",
                )
        self._unmet[healing.kind] = tuple(reasons)

    def begun(self, healing: Healing, plan: Plan) -> None:
        """Report that a healing begins."""
        self.report(EventKind.HEALING, f"{healing.kind}: {healing.reason}; {_extent(plan)}")

    def ended(self, result: HealResult, why_stopped: str, begun_kind: str) -> None:
        """Report that a healing has ended; if another run kept it from beginning, report that it is held back.

        Parameters
        ----------
        begun_kind
            What its run was begun for, if it was resumed.
        """
        kind = result.healing.kind
        if result.is_busy:
            self.busy(result.healing, result.problem)
        elif result.was_stopped:
            why = why_stopped or "cancelled by 'kafkabal rebalance cancel', and tried again later"
            self.report(EventKind.HEALING_STOPPED, f"{kind}: {why}; {_done(result)}", run_id=result.run_id)
        elif result.problem:
            self.failed(kind, result.problem, result.run_id)
        else:
            for healed in (kind, begun_kind):
                self._failed.pop(healed, None)
            done = "; ".join(filter(None, (_done(result), result.left)))
            self.report(EventKind.HEALED, f"{kind}: {done}", run_id=result.run_id)
            # or its alert would end with a healing of something else
            for failed, problem in self._failed.items():
                self.report(EventKind.HEALING_FAILED, f"{failed}: not healed yet: {problem}")

    def rolled_back(self, kind: str, run_id: str) -> None:
        """Report that an operator has rolled back a healing that had ended, with its run if that is known."""
        how = "rolled back by 'kafkabal rebalance rollback'" if run_id else "its replicas were moved back since"
        message = f"{kind}: {how}; tried again later"
        self.report(EventKind.HEALING_STOPPED, message, run_id=run_id)

    def failed(self, kind: HealKind, problem: str, run_id: str = "") -> None:
        """Report that a healing failed."""
        self._failed[kind] = problem
        self.report(EventKind.HEALING_FAILED, f"{kind}: {problem}", run_id=run_id)

    def report(
        self, kind: EventKind, message: str, broker: int | None = None, log_dir: str | None = None, run_id: str = ""
    ) -> None:
        """Send one event."""
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
    if result.only_restores:
        return result.problem or f"all throttles restored in {format_duration(result.elapsed_s)}"
    copied = f", {format_bytes(result.moved_bytes)} copied" if result.moved_bytes else ""
    return (
        f"{result.done} of {counted_noun(result.total, 'partition')} in "
        f"place{copied} in {format_duration(result.elapsed_s)}"
    )
