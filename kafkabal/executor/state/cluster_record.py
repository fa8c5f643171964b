"""The latest run as recorded on the cluster itself, so that any host can resume it or clean up after it.

Records are small (a broker accepts 1 MB by default), so the compressed run is split into parts. The head is written
last and names the parts: until it is there, the new run does not exist, and the previous one still does.

Kafka cannot make a write depend on what is there: a process that was suspended just before a write sends it when it
wakes up. Under a shared key it would replace what another process has written since. So each run has a head of its own,
and each opening of it a state of its own. The head of the latest run counts whose parts are there: a new run first
deletes those of runs that have not begun, whose heads may still arrive. The state of the latest opening counts.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import NamedTuple, TypeVar

import msgspec

from kafkabal.clusters import RecordStore
from kafkabal.errors import OperationError
from kafkabal.executor.state.run_record import RunRecord
from kafkabal.executor.state.run_states import RunState
from kafkabal.executor.state.run_summary import RunSummary, summary_of
from kafkabal.json_decoders import json_decoder

_RUN = "run"
"""Prefix of the keys of runs; alone, the key of the head that earlier versions wrote, one for all runs."""
_HISTORY = "history"
_HEAD = "head"
_STATE = "state"
_MOST_SUMMARIES = 500
"""Summaries of earlier runs that the cluster keeps: more than a year of one run a day."""
_RUN_FORMAT = 1
_PART_BYTES = 256 * 1024
"""A quarter of the 1 MB that a broker accepts by default, since a topic may allow less; smaller parts need more
requests."""

_T = TypeVar("_T")


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    run_format: int = _RUN_FORMAT
    run_id: str
    parts: int
    sha256: str
    number: int = 0
    """Higher than that of every run that had begun before."""


class _Latest(NamedTuple):
    """The run that counts."""

    head: _Head
    packed: bytes | None
    """Its parts, joined; None if any is missing or damaged."""


class DamagedRunRecordError(OperationError):
    """Parts of the run record are missing or damaged."""

    def __init__(self, run_id: str, what: str) -> None:
        super().__init__(
            f"the run record of {run_id} on the cluster is {what}",
            hint="run 'kafkabal rebalance resume --journal FILE' where its journal is; if there is none, "
            "'kafkabal rebalance repair --remove', then delete topic __kafkabal",
        )


class ClusterRecord:
    """The run recorded on the cluster; there is never more than one."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store
        self._confirm: Callable[[], None] = _nothing
        """Called before every write."""
        self._opening = ("", 0)
        """The run whose state this process writes, and how often that run had been reopened by then."""
        self._state_key = ""
        """Where it writes that state."""

    @contextmanager
    def confirming(self, confirm: Callable[[], None]) -> Iterator[None]:
        """Call a function before every write; what it raises, the write raises.

        A process may be suspended between any two requests, while another one takes its lock and resumes the run. If it
        wrote after that, the stale state of the run would replace the other process's progress.
        """
        self._confirm = confirm
        try:
            yield
        finally:
            self._confirm = _nothing

    def _put(self, key: str, value: bytes | None, within_s: float | None = None) -> None:
        self._confirm()
        self._store.put(key, value, within_s=within_s)

    def begin(self, record: RunRecord, state: RunState) -> None:
        """Replace the recorded run with a new one."""
        before = self._store.get_all()
        others = [key for key in before if _is_of_run(key) and not key.startswith(f"{_RUN}/{record.run_id}/")]
        heads = [head for head in _heads(before) if head.run_id != record.run_id]
        begun = {head.run_id for head in heads}
        # without its parts, the head of a process that was suspended as it began a run comes too late
        unbegun = [key for key in others if "/" in key and key.split("/")[1] not in begun]
        for key in unbegun:
            self._put(key, None)
        packed = zlib.compress(msgspec.json.encode(record))
        parts = [packed[i : i + _PART_BYTES] for i in range(0, len(packed), _PART_BYTES)]
        for number, part in enumerate(parts):
            self._put(_part_key(record.run_id, number), part)
        self.update(record.run_id, state)
        # before the head: once the head is written, a process that stops need not return to the previous run
        self._keep_summary(before, record.run_id)
        # after everything that the run needs: a crash before this write leaves the previous run in place and complete
        head = _Head(
            run_id=record.run_id,
            parts=len(parts),
            sha256=hashlib.sha256(packed).hexdigest(),
            number=1 + max((head.number for head in heads), default=0),
        )
        self._put(_head_key(record.run_id), msgspec.json.encode(head))
        for key in others:
            if key not in unbegun:
                self._put(key, None)

    def _keep_summary(self, before: Mapping[str, bytes], run_id: str) -> None:
        """Keep a summary of the replaced run, and drop the oldest summaries beyond the limit."""
        latest = _latest(before)
        if latest is not None and latest.packed is not None and latest.head.run_id != run_id:
            with suppress(DamagedRunRecordError):
                known = _unpacked(before, latest.head.run_id, latest.packed)
                self._put(f"{_HISTORY}/{known[0].run_id}", msgspec.json.encode(summary_of(*known)))
        earlier = sorted(key for key in before if key.startswith(f"{_HISTORY}/"))
        for key in earlier[: max(0, len(earlier) - _MOST_SUMMARIES)]:
            self._put(key, None)

    def earlier_runs(self) -> tuple[RunSummary, ...]:
        """Runs that later ones have replaced, sorted by id, which is the order of time."""
        records = self._store.get_all()
        found = [key for key in sorted(records) if key.startswith(f"{_HISTORY}/")]
        return tuple(_decoded(RunSummary, records[key], key.split("/")[1]) for key in found)

    def was_replaced(self, run_id: str) -> bool:
        """Whether a later run has replaced this one."""
        return f"{_HISTORY}/{run_id}" in self._store.get_all()

    def update(self, run_id: str, state: RunState, *, within_s: float | None = None) -> None:
        """Record the state of the run."""
        # first, or an opening that was refused would count as the latest, and that of another process as this one's
        self._confirm()
        if self._opening != (run_id, state.openings):
            self._opening = run_id, state.openings
            self._state_key = _state_key(run_id, state)
        self._store.put(self._state_key, msgspec.json.encode(state), within_s=within_s)

    def is_as_left(self, run_id: str) -> bool:
        """Whether this process was the last to begin or reopen the recorded run, so that no other has continued it."""
        records = self._store.get_all()
        latest = _latest(records)
        if latest is None or (latest.head.run_id, run_id) != (run_id, self._opening[0]):
            return False
        states = _states(records, run_id)
        earlier = {key for key, state in states.items() if state.openings < self._opening[1]}
        return states.keys() - earlier == {self._state_key}

    def put_request(self, run_id: str, packed: bytes, *, within_s: float | None = None) -> None:
        """Store a request for the host that works on the run."""
        self._put(_request_key(run_id), packed, within_s)

    def request(self, run_id: str, *, within_s: float | None = None) -> bytes | None:
        """The latest request for the run."""
        return self._store.get_all(within_s=within_s).get(_request_key(run_id))

    def run_id(self) -> str | None:
        """Id of the recorded run."""
        latest = _latest(self._store.get_all())
        return latest.head.run_id if latest else None

    def load(self) -> tuple[RunRecord, RunState] | None:
        """The recorded run; None if there is none.

        Raises
        ------
        DamagedRunRecordError
            If parts of it are missing or damaged.
        OperationError
            If a later version of kafkabal wrote it.
        """
        records = self._store.get_all()
        for key in _head_keys(records):
            _check_head(records[key], key)
        latest = _latest(records)
        if latest is None:
            return None
        if latest.packed is None:
            raise DamagedRunRecordError(latest.head.run_id, "incomplete")
        return _unpacked(records, latest.head.run_id, latest.packed)


def _nothing() -> None:
    """Confirm nothing before a write."""


def _decoded(kind: type[_T], text: bytes, run_id: str) -> _T:
    try:
        return json_decoder(kind).decode(text)
    except msgspec.DecodeError as error:
        raise DamagedRunRecordError(run_id, "damaged") from error


def _unpacked(records: Mapping[str, bytes], run_id: str, packed: bytes) -> tuple[RunRecord, RunState]:
    """A run whose parts are there, with its latest state."""
    record = _decoded(RunRecord, zlib.decompress(packed), run_id)  # its hash was checked
    states = _states(records, record.run_id).values()
    return record, max(states, key=lambda state: (state.openings, state.at), default=RunState())


def _packed(records: Mapping[str, bytes], head: _Head) -> bytes | None:
    packed = b"".join(records.get(_part_key(head.run_id, i), b"") for i in range(head.parts))
    return packed if hashlib.sha256(packed).hexdigest() == head.sha256 else None


def is_state_key(key: str) -> bool:
    """Whether a record is the state of a run, as an opening of it has left it."""
    return key.split("/")[2:3] == [_STATE]


def _states(records: Mapping[str, bytes], run_id: str) -> dict[str, RunState]:
    """The state that each opening of a run has recorded last, by key."""
    keys = [key for key in records if key.startswith(f"{_RUN}/{run_id}/") and is_state_key(key)]
    return {key: _decoded(RunState, records[key], run_id) for key in keys}


def _state_key(run_id: str, state: RunState) -> str:
    """Where an opening of a run records its state: two that follow the same one differ by time."""
    key = f"{_RUN}/{run_id}/{_STATE}"
    return f"{key}/{state.openings}/{state.at}" if state.openings else key


def _request_key(run_id: str) -> str:
    return f"{_RUN}/{run_id}/request"


def _part_key(run_id: str, number: int) -> str:
    return f"{_RUN}/{run_id}/{number}"


def _head_key(run_id: str) -> str:
    return f"{_RUN}/{run_id}/{_HEAD}"


def _is_of_run(key: str) -> bool:
    return key == _RUN or key.startswith(f"{_RUN}/")


def _latest(records: Mapping[str, bytes]) -> _Latest | None:
    """The latest run that is there as a whole, or else the latest one."""
    heads = sorted(_heads(records), key=lambda head: head.number, reverse=True)
    for head in heads:
        packed = _packed(records, head)
        if packed is not None:
            return _Latest(head, packed)
    return _Latest(heads[0], None) if heads else None


def _heads(records: Mapping[str, bytes]) -> list[_Head]:
    """The heads that can be decoded."""
    heads = []
    for key in _head_keys(records):
        with suppress(msgspec.DecodeError):
            heads.append(json_decoder(_Head).decode(records[key]))
    return heads


def _head_keys(records: Mapping[str, bytes]) -> list[str]:
    return [key for key in records if key == _RUN or (_is_of_run(key) and key.split("/")[2:] == [_HEAD])]


def _check_head(text: bytes, key: str) -> None:
    """Refuse a head that cannot be read: an older run would count, although a later one may have changed something."""
    head = _decoded(_Head, text, "an earlier version" if key == _RUN else key.split("/")[1])
    if head.run_format > _RUN_FORMAT:
        raise OperationError(
            f"run {head.run_id} was recorded on the cluster by a later version of kafkabal",
            hint="use that version on every host that changes this cluster",
        )
