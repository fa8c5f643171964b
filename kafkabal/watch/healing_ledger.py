"""Record of what was healed, when and at what cost, for budgets, back-off and the rule against moving twice.

It is one small file next to the journals, so that a restarted ``watch`` knows what was done today. A field that is
added has a default, so that earlier ledgers can be read; earlier versions ignore it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from kafkabal.atomic_files import make_folder_of, replacing
from kafkabal.errors import InputFileError
from kafkabal.input_files import DOCUMENT, FormatVersion, decode_json, exists, read_bytes
from kafkabal.json_decoders import json_decoder
from kafkabal.plan import Plan
from kafkabal.units import DAY_S
from kafkabal.user_folders import cluster_folder
from kafkabal.watch.repeated_absences import BrokerPresence

_VERSION: Final = 1
_DEMOTE: Final = "demote"
_REPAIR: Final = "repair"
_FOLDER: Final = "watch"


class HealingEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One healing that was begun."""

    at_s: float
    """Seconds since the epoch."""
    kind: str
    reason: str = ""
    """What it was for; empty for the kind ``resume``."""
    moved_bytes: int
    """Planned bytes while it runs, copied bytes once it has ended."""
    succeeded: bool
    plan: Plan | None = None
    """What was moved; kept for a day, so that no later plan moves it again. None if nothing could be moved."""
    ended_at_s: float | None = None
    """None while it runs, and if the watch was killed meanwhile."""
    continues: bool = False
    """Whether it continues an earlier healing: the same action, planned again."""
    was_cancelled: bool = False
    """Whether an operator has cancelled its run."""
    is_complete: bool = False
    """Whether its run has done all of its plan."""

    @property
    def last_s(self) -> float:
        """When it last moved anything: bytes copied after midnight count for that day."""
        return self.at_s if self.ended_at_s is None else self.ended_at_s


class HealingLedger(msgspec.Struct, frozen=True, kw_only=True):
    """Healings of the last days, and demoted brokers."""

    kafkabal_watch: FormatVersion = _VERSION
    entries: tuple[HealingEntry, ...] = ()
    demoted: Mapping[int, Plan] = {}
    """By broker, the plan that moved its leadership away, to be reverted once the broker is well."""
    usual_s: Mapping[int, float] = {}
    """By slow broker, its usual response time: a restarted watch would take its present one for usual."""
    presence: Mapping[int, BrokerPresence] = {}
    """Of brokers that recently left or came back."""
    presence_at_s: float = 0.0
    """When that was kept, in seconds since the epoch."""

    def not_after(self, at_s: float) -> HealingLedger:
        """With times in the future, from before the clock was set back, replaced by the present time.

        They then count for one day from now; by the former clock they could block healing for years.
        """
        if all(e.at_s <= at_s and e.last_s <= at_s for e in self.entries):
            return self
        return msgspec.structs.replace(self, entries=tuple(_not_after(e, at_s) for e in self.entries))

    def shifted(self, by_s: float) -> HealingLedger:
        """With all times later by the time by which the clock was set ahead, so that each is as long ago as before."""
        entries = tuple(
            msgspec.structs.replace(
                e, at_s=e.at_s + by_s, ended_at_s=None if e.ended_at_s is None else e.ended_at_s + by_s
            )
            for e in self.entries
        )
        return msgspec.structs.replace(self, entries=entries, presence_at_s=self.presence_at_s + by_s)

    def since(self, at_s: float) -> tuple[HealingEntry, ...]:
        """Entries that moved anything in the day before a time."""
        return tuple(e for e in self.entries if e.last_s > at_s - DAY_S)

    def actions_of_day(self, at_s: float) -> int:
        """Number of actions within a day; a healing that found nothing to move, or was only planned again, is none."""
        return sum(e.plan is not None and not e.continues for e in self.since(at_s))

    def bytes_of_day(self, at_s: float) -> int:
        """Bytes moved within a day."""
        return sum(e.moved_bytes for e in self.since(at_s))

    def plans_of_day(self, at_s: float) -> tuple[Plan, ...]:
        """Plans applied within a day; nothing that they moved may move again."""
        return tuple(e.plan for e in self.since(at_s) if e.plan is not None)

    def repaired_of_day(self, at_s: float) -> dict[int, float]:
        """Brokers whose replicas were copied elsewhere within a day, dead or with a log dir offline, and when last."""
        repairs = [(e.plan, e.last_s) for e in self.since(at_s) if e.plan is not None and e.kind == _REPAIR]
        return {b: last_s for plan, last_s in repairs for change in plan.partitions for b in change.to_remove}

    def backs_off_until_s(self, kind: str, reason: str, back_off_s: float) -> float:
        """When a healing may be retried after its last failure in a row; 0 if there was none.

        Counted by what it is for, or a repair that is impossible would delay that of the next broker or log dir by a
        day. A healing that found nothing to move is retried when a moved replica has rested for its day: in the
        simulated quarter of seed 467, where two brokers failed within six hours, a score otherwise stayed outside its
        band for 13 hours longer (33 in all).
        """
        failed = _failed_in_a_row(e for e in self.entries if (e.kind, e.reason) == (kind, reason))
        if not failed:
            return 0.0
        last = failed[-1]
        until_s: float = last.last_s + min(back_off_s * 2 ** (len(failed) - 1), DAY_S)
        return until_s if last.plan is not None else min(until_s, self._rest_ends_after_s(last.last_s))

    def cancelled_until_s(self, back_off_s: float) -> float:
        """Until when nothing moves for balance after an operator has cancelled runs; 0 if none was cancelled.

        Of any kind: a rebalance copies the same replicas as a filling that was cancelled.
        """
        cancelled = [entry.last_s for entry in self.entries if entry.was_cancelled]
        return cancelled[-1] + min(back_off_s * 2 ** (len(cancelled) - 1), DAY_S) if cancelled else 0.0

    def last_s(self, kind: str) -> float:
        """When a healing of this kind last moved anything; minus infinity if none did within two days."""
        return max((e.last_s for e in self.entries if e.kind == kind and e.plan is not None), default=-math.inf)

    def has_failed(self, kind: str) -> bool:
        """Whether the last healing of this kind failed, or found nothing to move."""
        return bool(_failed_in_a_row(e for e in self.entries if e.kind == kind))

    def _rest_ends_after_s(self, at_s: float) -> float:
        """When the next moved replica may move again."""
        ends = (entry.last_s + DAY_S for entry in self.entries if entry.plan is not None and entry.moved_bytes)
        return min((end for end in ends if end > at_s), default=math.inf)

    def with_entry(self, entry: HealingEntry) -> HealingLedger:
        """With one more entry, and without those older than two days."""
        kept = tuple(e for e in self.entries if e.last_s > entry.at_s - 2 * DAY_S)
        return msgspec.structs.replace(self, entries=(*kept, entry))

    def entry_of(self, plan_id: str) -> HealingEntry | None:
        """The latest entry of a plan."""
        entries = (e for e in reversed(self.entries) if e.plan is not None and e.plan.plan_id == plan_id)
        return next(entries, None)

    def with_end(
        self,
        entry: HealingEntry,
        *,
        at_s: float,
        moved_bytes: int | None,
        succeeded: bool,
        was_cancelled: bool = False,
        is_complete: bool = False,
    ) -> HealingLedger:
        """With the end of an entry.

        Parameters
        ----------
        moved_bytes
            None if unknown: the planned bytes remain, so that the budget of the day is not exceeded.
        """
        moved = entry.moved_bytes if moved_bytes is None else moved_bytes
        ended = msgspec.structs.replace(
            entry,
            ended_at_s=at_s,
            moved_bytes=moved,
            succeeded=succeeded,
            was_cancelled=was_cancelled,
            is_complete=is_complete,
        )
        return msgspec.structs.replace(self, entries=tuple(ended if e is entry else e for e in self.entries))

    def without_latest(self, plan_id: str) -> HealingLedger:
        """Without the latest entry of a plan that could not begin."""
        entry = self.entry_of(plan_id)
        return msgspec.structs.replace(self, entries=tuple(e for e in self.entries if e is not entry))

    def without_never_begun(self, latest_plan_id: str, latest_began_at_s: float) -> HealingLedger:
        """Without entries that have no end and for which no run exists.

        Parameters
        ----------
        latest_plan_id, latest_began_at_s
            Of the latest run of the cluster. If it began after an entry, it may hide the run of that entry, which is
            kept.
        """
        kept = tuple(
            e
            for e in self.entries
            if e.plan is None
            or e.ended_at_s is not None
            or e.plan.plan_id == latest_plan_id
            or e.at_s <= latest_began_at_s
        )
        return msgspec.structs.replace(self, entries=kept)

    def hidden_by(self, latest_plan_id: str) -> tuple[HealingEntry, ...]:
        """Entries that have no end, and whose run is not the latest of the cluster."""
        unended = (e for e in self.entries if e.ended_at_s is None)
        return tuple(e for e in unended if e.plan is not None and e.plan.plan_id != latest_plan_id)

    def with_demotion(self, broker: int, plan: Plan) -> HealingLedger:
        """With a broker whose leadership a plan has taken away, in addition to what an earlier plan took.

        What it led only since another broker was demoted goes back to that one.
        """
        earlier = self.demoted[broker].partitions if broker in self.demoted else ()
        # what it led before the first of them is restored
        names = {change.name for change in earlier}
        of_others = {
            (change.name, frozenset(change.replicas))
            for other, demotion in self.demoted.items()
            if other != broker
            for change in demotion.partitions
        }
        new = (c for c in plan.partitions if c.name not in names and (c.name, frozenset(c.replicas)) not in of_others)
        both = (*earlier, *new)
        demotion = msgspec.structs.replace(plan, partitions=both)
        return msgspec.structs.replace(self, demoted={**self.demoted, broker: demotion})

    def with_usual(self, broker: int, usual_s: float) -> HealingLedger:
        """With the usual response time of a slow broker."""
        return msgspec.structs.replace(self, usual_s={**self.usual_s, broker: usual_s})

    def with_demotion_by(self, entry: HealingEntry) -> HealingLedger:
        """With the brokers whose leadership a healing has taken away, if it did, to give it back later."""
        if entry.kind != _DEMOTE or entry.plan is None:
            return self
        ledger = self
        for broker in entry.plan.options["demote"]:
            ledger = ledger.with_demotion(broker, entry.plan)
        return ledger

    def without_demotion(self, brokers: Collection[int]) -> HealingLedger:
        """Without brokers that have their leadership back."""
        demoted, usual_s = (
            {b: each for b, each in known.items() if b not in brokers} for known in (self.demoted, self.usual_s)
        )
        return msgspec.structs.replace(self, demoted=demoted, usual_s=usual_s)


def _failed_in_a_row(entries: Iterable[HealingEntry]) -> list[HealingEntry]:
    """Those since the last success."""
    failed: list[HealingEntry] = []
    for entry in entries:
        failed = [] if entry.succeeded else [*failed, entry]
    return failed


def _not_after(entry: HealingEntry, at_s: float) -> HealingEntry:
    ended_at_s = None if entry.ended_at_s is None else min(entry.ended_at_s, at_s)
    return msgspec.structs.replace(entry, at_s=min(entry.at_s, at_s), ended_at_s=ended_at_s)


_DECODER: Final = json_decoder(HealingLedger)


def ledger_path(state_dir: Path, cluster_id: str) -> Path:
    """Where the ledger of a cluster is."""
    path = cluster_folder(state_dir / _FOLDER, cluster_id)
    return path.with_name(f"{path.name}.json")


def read_ledger(path: Path) -> HealingLedger:
    """Read the ledger from a file; empty if the file is missing.

    Raises
    ------
    InputFileError
        If the file cannot be read, or was written by a later version.
    """
    if not exists(path):
        return HealingLedger()
    ledger = decode_json(_DECODER, read_bytes(path, DOCUMENT), path, "not a ledger of kafkabal watch")
    if ledger.kafkabal_watch > _VERSION:
        raise InputFileError(
            path,
            f"version {ledger.kafkabal_watch} is later than {_VERSION}",
            hint="update kafkabal, or move the file away: budgets then start at zero",
        )
    return ledger


def write_ledger(ledger: HealingLedger, path: Path) -> None:
    """Write the ledger completely or not at all.

    Raises
    ------
    OutputError
        If it cannot be written; the file is then unchanged.
    """
    make_folder_of(path)
    with replacing(path) as file:
        file.write(msgspec.json.encode(ledger))
