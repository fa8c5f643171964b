"""What was healed, when and at what price: the memory that budgets and the rule against moving twice go by.

It is kept in one small file beside the journals, so that a ``watch`` that is started again knows what was done today.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from kafkabal.errors import InputFileError
from kafkabal.files import replacing
from kafkabal.input_files import decode_json, read_bytes
from kafkabal.plan import Plan

DAY_S = 86_400.0
_VERSION = 1


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One healing that was begun."""

    at_s: float
    """Seconds since the epoch."""
    kind: str
    moved_bytes: int
    succeeded: bool
    plan: Plan | None = None
    """What was moved; kept for a day, so that no later plan moves it again."""


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """Healings of the last days, and brokers that were demoted."""

    kafkabal_watch: int = _VERSION
    entries: tuple[Entry, ...] = ()
    demoted: Mapping[int, Plan] = {}
    """What took the leadership of a broker away, by broker: what to undo once it is well."""

    def since(self, at_s: float) -> tuple[Entry, ...]:
        """Entries of the day that ends at a time."""
        return tuple(e for e in self.entries if e.at_s > at_s - DAY_S)

    def bytes_of_day(self, at_s: float) -> int:
        """Bytes moved within a day."""
        return sum(e.moved_bytes for e in self.since(at_s))

    def plans_of_day(self, at_s: float) -> tuple[Plan, ...]:
        """Plans applied within a day; nothing of them may move again."""
        return tuple(e.plan for e in self.since(at_s) if e.plan is not None)

    def backs_off_until_s(self, kind: str, back_off_s: float) -> float:
        """When something of this kind may be tried again, after the last that failed in a row; 0 if none did.

        By kind, or a rebalance that finds nothing to do would keep a repair waiting.
        """
        alike = [entry for entry in self.entries if entry.kind == kind]
        failed = 0
        for entry in reversed(alike):
            if entry.succeeded:
                break
            failed += 1
        return alike[-1].at_s + min(back_off_s * 2 ** (failed - 1), DAY_S) if failed else 0.0

    def with_entry(self, entry: Entry) -> Ledger:
        """With one more, and without those older than two days."""
        kept = tuple(e for e in self.entries if e.at_s > entry.at_s - 2 * DAY_S)
        return msgspec.structs.replace(self, entries=(*kept, entry))

    def with_last_succeeded(self) -> Ledger:
        """With the last entry marked as done."""
        *before, last = self.entries
        return msgspec.structs.replace(self, entries=(*before, msgspec.structs.replace(last, succeeded=True)))

    def with_demoted(self, demoted: Mapping[int, Plan]) -> Ledger:
        """With other demoted brokers."""
        return msgspec.structs.replace(self, demoted=dict(demoted))


def read_ledger(path: Path) -> Ledger:
    """The ledger of a file; an empty one where there is no file.

    Raises
    ------
    InputFileError
        If it cannot be read, or was written by a later version.
    """
    if not path.exists():
        return Ledger()
    ledger = decode_json(msgspec.json.Decoder(Ledger), read_bytes(path), path, "not a ledger of kafkabal watch")
    if ledger.kafkabal_watch > _VERSION:
        raise InputFileError(path, f"version {ledger.kafkabal_watch} is later than {_VERSION}")
    return ledger


def write_ledger(ledger: Ledger, path: Path) -> None:
    """Write it whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(msgspec.json.encode(ledger))
