"""A ledger of who reads what of an epoch, in a file that all readers share, so that fast readers take work from slow
ones.

::

    each shard of the epoch (what one reader would read alone) begins as one segment, its reader's own
    a reader reserves the next few samples of its segment before it gives them out
    a reader whose segment is finished takes the later part of the segment that would take its owner longest, of those
        that have begun the epoch, cut in proportion to the rates of both; what is reserved stays with its owner

A sample belongs to the reader that reserved it, so none is yielded twice, even if a reader dies or stalls between two
calls. The file is replaced as a whole, under a kernel lock that ends with its process.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Final

import msgspec

from kafkabal.errors import BusyError, InputFileError, OperationError, OutputError
from kafkabal.file_locks import acquire_file_lock
from kafkabal.json_decoders import json_decoder
from kafkabal.wording import system_fault

_FIRST_PORTION: Final = 16
"""Until a reader's rate is known: small, because what a slow reader reserves cannot be taken from it."""
_PORTION_S: Final = 0.25
"""Samples are reserved for this long: a lock costs 0.1 ms, and reserved samples cannot be taken over."""
_LEAST_TAKEN: Final = 4
"""Fewer samples are not worth fetching a block again."""
_MOST_PER_S: Final = 1e12
"""No reader yields a sample per picosecond."""
_PREDECESSOR_S: Final = 15.0
"""How long to wait for a process that was this reader: it may be killed some seconds after the others, and a restarted
one may be there before."""


class _Segment(msgspec.Struct, array_like=True):
    shard: int
    reserved: int
    """Samples before this number of the shard were yielded, or will be by the owner."""
    end: int
    owner: int


class _Ledger(msgspec.Struct):
    run: str
    """Random; different for every start of the readers."""
    segments: list[_Segment]
    run_id: str = ""
    """See :attr:`RankStart.run_id`."""
    joined: list[int] = []
    finished: list[int] = []
    rates: dict[int, float] = {}
    """Samples per second, by reader."""
    starts: dict[int, str] = {}
    """By rank, the start that its readers are of."""


@dataclass(frozen=True, slots=True)
class RankStart:
    """A start of a rank, which all of its readers are of: the workers of a data loader may live on for a moment if it
    is killed, and read the ledger that the next start finds."""

    rank: int
    token: str
    """Random."""
    run_id: str
    """What all ranks that are started together have in common, empty if nothing is known. The ranks of a killed run do
    not end at the same moment: one that had not begun in it would otherwise join those that are still there."""

    @classmethod
    def of(cls, rank: int, run_id: str = "") -> RankStart:
        """A new one."""
        return cls(rank, secrets.token_hex(4), run_id)


@dataclass(slots=True)
class Segment:
    """A part of a shard that one reader works on."""

    shard: int
    begin: int
    end: int
    """Another reader may take its last part meanwhile."""
    number: int
    """Its number in the ledger."""


class SharedWorkLedger:
    """One reader's access to the ledger of an epoch.

    Parameters
    ----------
    folder
        On a file system that all readers share, with support for locks.
    name
        Identifies the epoch and what remained of it when the readers started.
    reader, readers
        Number of this reader, and number of readers.
    start
        The start that this reader is of.
    count
        Number of samples in each shard.
    now_s
        The clock, in seconds.

    Raises
    ------
    OutputError
        If the folder cannot be used.
    InputFileError
        If the file is not a ledger.
    BusyError
        If another process, or another object of this one, is already this reader.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        reader: int,
        readers: int,
        start: RankStart,
        count: Callable[[int], int],
        now_s: Callable[[], float],
    ) -> None:
        self._path = folder / f"{name}.json"
        self._reader = reader
        self._readers = readers
        self._start = start
        self._counts = [count(shard) for shard in range(readers)]
        self._now_s = now_s
        self._began_s = now_s()
        self._reserved = 0
        self._run = ""
        self._alive_lock = acquire_file_lock(self._alive_path(reader), self._busy_error, _PREDECESSOR_S)
        self._join()

    def claim(self) -> Segment | None:
        """The reader's own segment, or a part of another's; None if nothing is left to take."""
        with self._locked_ledger() as ledger:
            for number, segment in enumerate(ledger.segments):
                if segment.owner == self._reader and segment.reserved < segment.end:
                    return Segment(segment.shard, segment.reserved, segment.end, number)
            taken = self._take_from_slowest(ledger)
            if taken is None:
                ledger.finished = sorted({*ledger.finished, self._reader})
            return taken

    def reserve(self, segment: Segment) -> int:
        """Reserve the next samples of a segment; returns the number of the first sample that is not reserved."""
        with self._locked_ledger() as ledger:
            own = ledger.segments[segment.number]
            elapsed_s = self._now_s() - self._began_s
            if elapsed_s > 0 and self._reserved:
                ledger.rates[self._reader] = self._reserved / elapsed_s
            portion = max(1, round(ledger.rates.get(self._reader, _FIRST_PORTION / _PORTION_S) * _PORTION_S))
            before, own.reserved = own.reserved, min(own.end, own.reserved + portion)
            self._reserved += own.reserved - before
            return own.reserved

    def close(self) -> None:
        """Let other readers see that this one is gone."""
        self._alive_lock.release()

    def _take_from_slowest(self, ledger: _Ledger) -> Segment | None:
        rates = ledger.rates
        mean = sum(rates.values()) / len(rates) if rates else 1.0
        # nothing from readers that are not there yet: if all are killed now, one of them might begin the next run with
        # this ledger, in which all others are finished, and the others with a new one, in which its samples are left
        there = [each for each in ledger.segments if each.owner in ledger.joined]
        victim = max(there, key=lambda each: (each.end - each.reserved) / rates.get(each.owner, mean))
        theirs, own = rates.get(victim.owner, mean), rates.get(self._reader, mean)
        cut = victim.reserved + ceil((victim.end - victim.reserved) * theirs / (theirs + own))
        if victim.end - cut < _LEAST_TAKEN:
            return None
        ledger.segments.append(_Segment(victim.shard, cut, victim.end, self._reader))
        taken = Segment(victim.shard, cut, victim.end, len(ledger.segments) - 1)
        victim.end = cut
        return taken

    def _join(self) -> None:
        with self._locked_ledger() as ledger:
            start = self._start
            is_of_old_run = (
                ledger.run_id != start.run_id
                or self._reader in ledger.joined
                or ledger.starts.get(start.rank, start.token) != start.token
                or any(not self._is_alive(reader) for reader in set(ledger.joined) - set(ledger.finished))
            )
            if is_of_old_run:
                new = self._new_ledger()
                ledger.run, ledger.segments, ledger.run_id = new.run, new.segments, new.run_id
                ledger.joined, ledger.finished, ledger.rates, ledger.starts = [], [], {}, {}
            ledger.starts[start.rank] = start.token
            ledger.joined.append(self._reader)
            self._run = ledger.run

    def _new_ledger(self) -> _Ledger:
        run = secrets.token_hex(4)
        segments = [_Segment(shard, 0, count, shard) for shard, count in enumerate(self._counts)]
        return _Ledger(run, segments, self._start.run_id)

    def _alive_path(self, reader: int) -> Path:
        """A file that a reader keeps locked as long as it lives."""
        return self._path.with_suffix(f".reader-{reader}")

    def _busy_error(self) -> BusyError:
        return BusyError(
            f"reader {self._reader} of {self._readers} is running already: {self._path}",
            hint="end the process that has it, or drop its TopicReader in this process",
        )

    def _is_alive(self, reader: int) -> bool:
        try:
            acquire_file_lock(self._alive_path(reader), self._busy_error).release()
        except BusyError:
            return True
        return False

    @contextmanager
    def _locked_ledger(self) -> Iterator[_Ledger]:
        """The ledger; no other reader can change it inside this block."""
        with acquire_file_lock(self._path.with_suffix(".lock")):
            ledger = self._load()
            if self._run and ledger.run != self._run:
                raise OperationError(
                    f"reader {self._reader} of {self._readers} is of an earlier run: {self._path}",
                    hint="start all ranks together, from the same state",
                )
            if self._run and not self._is_possible(ledger):  # one of an earlier run may be of another manifest
                raise self._damaged()
            yield ledger
            temporary = self._path.with_suffix(".tmp")
            try:
                temporary.write_bytes(msgspec.json.encode(ledger))
                temporary.replace(self._path)
            except OSError as error:
                raise OutputError(f"{self._path}: cannot write: {system_fault(error)}") from error

    def _load(self) -> _Ledger:
        try:
            ledger = json_decoder(_Ledger).decode(self._path.read_bytes())
        except FileNotFoundError:
            return self._new_ledger()
        except OSError as error:
            raise InputFileError(self._path, f"cannot read: {system_fault(error)}") from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise self._damaged() from error
        if {each.shard for each in ledger.segments} != set(range(self._readers)):
            raise InputFileError(self._path, "not a ledger of so many readers", hint="remove it and start all ranks")
        return ledger

    def _is_possible(self, ledger: _Ledger) -> bool:
        """Whether readers of this epoch can have written it: with other numbers, samples would be lost or repeated."""
        left: Counter[int] = Counter()
        for segment in ledger.segments:
            shard, is_owned = segment.shard, 0 <= segment.owner < self._readers
            if not (is_owned and 0 <= segment.reserved <= segment.end <= self._counts[shard]):
                return False
            left[shard] += segment.end - segment.reserved
        return all(left[shard] <= count for shard, count in enumerate(self._counts)) and all(
            0 < rate < _MOST_PER_S for rate in ledger.rates.values()
        )

    def _damaged(self) -> InputFileError:
        return InputFileError(self._path, "not a ledger of readers", hint="remove it and start all ranks")
