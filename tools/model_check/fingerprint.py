"""Fingerprints of states: the cluster, and everything that the tool's processes remember.

A process's memory is its stack: the position in each of its functions, and the values of their variables. Two moments
with the same fingerprint have the same future, so only one of them is followed. Whatever no decision depends on is left
out: constants of the run, reports, history, request numbers, the order of effects in a journal. A time counts by its
age. The remaining budget is not part of it: a state that was followed with a larger budget has been followed with every
smaller one.
"""

from __future__ import annotations

import hashlib
import marshal
import math
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from types import FrameType, FunctionType, MethodType
from typing import Any, NamedTuple

import msgspec
import numpy as np

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.cluster_parts import SimulatedLock, SimulatedPartition
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.clusters.simulated.fault_injection import FaultyCluster
from kafkabal.clusters.simulated.memory_lock import MemoryLock
from kafkabal.executor.observe.copy_progress import CopyProgress
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.reassign.target_placement import TargetPlacement
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunLimits, RunOptions, Throttle, Timeouts
from kafkabal.executor.safety.fenced_requests import FencedRequests
from kafkabal.executor.state.cluster_record import ClusterRecord, is_state_key
from kafkabal.executor.state.journal import Journal
from kafkabal.executor.state.read_journal import JournalContent
from kafkabal.executor.state.run_record import RunPartition, RunRecord
from kafkabal.executor.state.run_request import POLL_EVERY_S, RunRequests
from kafkabal.executor.state.run_states import RunState
from kafkabal.isolated_listeners import IsolatedListener
from kafkabal.plan import Plan
from tools.model_check.journal_digest import JournalDigest, read_digest
from tools.model_check.process_life import LifeClock, WatchedSwitch
from tools.model_check.world import CLOCK_STARTS_S, World

_LONGEST_AGE_S = 700.0
"""Longer than every timeout of the run: older times are equivalent."""
_TIMES_FROM_S = CLOCK_STARTS_S / 2
_CONSTANT = (
    FakeClock,
    LifeClock,
    InMemoryCluster,
    FaultyCluster,
    FencedRequests,
    RunRecord,
    RunPartition,
    RunOptions,
    RunLimits,
    Timeouts,
    Plan,
    PurePath,
)
_EXECUTOR = "kafkabal.executor"
_NUMBERS = frozenset({"effects"})
"""Variables that count requests, which appear only in the journal."""
_OF_THE_STORE = frozenset(
    {
        ("make_fence.<locals>.retake", "run"),
        ("make_fence.<locals>.is_as_left", "run"),
        ("make_fence.<locals>.confirm_cluster", "run"),
        ("_taken_over", "run"),
    }
)
"""Variables of functions: the run as the process found it, whose record and state the store has too. Its journal, which
only these frames show, is not read again: states that differ in nothing else have the same future."""
_LEFT_OUT = frozenset(
    {"at", "asked_at", "began_s", "not_before_s", "_state_key", "_ours", "_originals", "__dict__", "__weakref__"}
)
"""When something was written or started, and what follows from the plan or from the record of the run."""
_Frozen = Any


class Fingerprint(NamedTuple):
    """Two hashes of a state."""

    left: bytes
    """Hash of what would be left if the tool died now: the cluster and the journals."""
    whole: bytes
    """Hash of that and of everything that the processes remember."""


def fingerprint(
    world: World, frame: FrameType | None, journals: tuple[JournalDigest, ...], extra: tuple[object, ...]
) -> Fingerprint:
    """Hashes of the world, the journals, the stack from a frame outwards, and the extra values."""
    latest = _latest_written(world.kafka.parts.records)
    now_s = world.kafka.clock.monotonic()
    now = world.kafka.clock.utc_now().isoformat(timespec="milliseconds")
    # the newer of the two will be believed: include which one that is, and whether the next write can be as new
    written = tuple([(j.content, (j.openings, j.at) < latest, j.at == latest[1], j.at == now) for j in journals])
    left = _hash((cluster(world), written))
    stack = _Freezer(now_s, latest).stack(frame) if frame is not None else ()
    return Fingerprint(left, _hash((left, stack, _handled_errors(), extra)))


def _hash(plain: _Frozen) -> bytes:
    return hashlib.blake2b(marshal.dumps(plain, 0), digest_size=12).digest()


def _latest_written(records: Mapping[str, bytes]) -> tuple[int, str]:
    """How often the run was reopened, and when that was written, by its record on the cluster."""
    return max((_state_in(value)[1:] for key, value in records.items() if is_state_key(key)), default=(0, ""))


def _handled_errors() -> tuple[str, ...]:
    """Errors that a process is about to reraise; their texts are only reported."""
    error, names = sys.exc_info()[1], []
    while error is not None:
        names.append(type(error).__name__)
        error = error.__context__
    return tuple(names)


def cluster(world: World) -> tuple[_Frozen, ...]:
    """The cluster, with its record of the run."""
    parts, now_s = world.kafka.parts, world.kafka.clock.monotonic()
    return (
        tuple(
            [
                (
                    b.registered,
                    b.hung_since_s and now_s - b.hung_since_s,
                    _sorted(b.own_configs),
                    repr(b.preferred_log_dirs),
                )
                for b in parts.brokers.values()
            ]
        ),
        _sorted(parts.default_configs),
        tuple([_sorted(t.configs) for t in parts.topics.values()]),
        tuple([_partition(p) for p in world.partitions()]),
        tuple([_lock(lock, now_s) for lock in parts.locks.values()]),
        _records(parts.records),
        world.is_disk_full,
        world.is_output_gone,
        tuple(sorted(map(str, world.touched))),
        tuple([_sorted(set_) for set_ in world.operators.values()]),
    )


def _sorted(configs: Mapping[str, str]) -> _Frozen:
    return tuple(sorted(configs.items()))


def _partition(p: SimulatedPartition) -> _Frozen:
    logs = tuple([(b, g.log_dir, g.copied_bytes, g.future_log_dir, g.future_bytes) for b, g in sorted(p.logs.items())])
    return (tuple(p.replicas), tuple(p.isr), tuple(p.adding), tuple(p.removing), p.leader, logs)


def _lock(lock: SimulatedLock, now_s: float) -> _Frozen:
    """A running holder sends heartbeats all the time."""
    return lock.owner, lock.client.is_stopped, now_s - lock.heartbeat_s if lock.client.is_stopped else 0.0


def _records(records: Mapping[str, bytes]) -> _Frozen:
    """The records; of the states that several openings of the run have written, only the latest is ever believed.

    How many others have the number of its opening counts too: two processes that reopened the run after the same one,
    of which the later to write finds that it is not the only one (``ClusterRecord.is_as_left``).
    """
    states = [_state_in(value) for key, value in records.items() if is_state_key(key)]
    latest, openings, _ = max(states, key=lambda state: state[1:], default=((), 0, ""))
    as_late = sum(state[1] == openings for state in states)
    return latest, as_late, tuple([(key, value) for key, value in sorted(records.items()) if not is_state_key(key)])


@lru_cache(maxsize=1000)
def _state_in(value: bytes) -> tuple[_Frozen, int, str]:
    """What a record on the cluster says about the run, how often the run was reopened, and the time of writing."""
    state = msgspec.json.decode(value, type=RunState)
    return state_of_run(state), state.openings, state.at


def state_of_run(state: RunState) -> tuple[_Frozen, ...]:
    """What is remembered of a run, without the time of writing."""
    return (
        state.goal.value,
        state.phase.value,
        tuple(sorted(state.rates)),
        repr(state.throttle),
        repr(state.later_originals),
        state.outcome.value if state.outcome else "",
        tuple(state.pending),
    )


class _Freezer:
    """Converts values on a stack to plain ones; values seen before become numbers, which breaks cycles."""

    def __init__(self, now_s: float, latest: tuple[int, str]) -> None:
        self.now_s = now_s
        self.latest = latest
        self.met: dict[int, int] = {}

    def stack(self, frame: FrameType | None) -> tuple[_Frozen, ...]:
        """The executor's functions, from a frame outwards."""
        frames = []
        while frame is not None:
            if frame.f_globals.get("__name__", "").startswith(_EXECUTOR):
                # Python lists them in an order that depends on earlier listings
                variables = sorted(frame.f_locals.items(), key=_name)
                function = frame.f_code.co_qualname
                significant = [v for v in variables if v[0] not in _NUMBERS and (function, v[0]) not in _OF_THE_STORE]
                local = tuple([(name, self.freeze(value)) for name, value in significant])
                frames.append((function, frame.f_lasti, local))
            frame = frame.f_back
        return tuple(frames)

    def freeze(self, value: Any) -> _Frozen:
        """The plain value of any value."""
        kind: Any = type(value)
        if kind in _PLAIN:
            return value
        how = _HOW.get(kind)
        if how is None:
            how = _HOW[kind] = _how(kind)
        return how(self, value)

    def seconds(self, value: float) -> _Frozen:
        """A duration unchanged; a time as its age."""
        if value < _TIMES_FROM_S or value == math.inf:
            return value
        return "ago", min(self.now_s - value, _LONGEST_AGE_S)

    def seconds_until(self, value: float) -> float:
        """Time left until a deadline; past deadlines no longer matter."""
        return max(value - self.now_s, 0.0)


_PLAIN = frozenset({int, bool, type(None)})
_HOW: dict[type, Callable[[_Freezer, Any], _Frozen]] = {}
"""Converters by type, for the types seen so far."""


def _name(item: tuple[str, Any]) -> str:
    return item[0]


def _text(freezer: _Freezer, value: str) -> _Frozen:
    if is_state_key(value):  # it contains the number and the time of an opening: only its age has consequences
        number = value.split("/")[3:4]
        return "state", freezer.latest[0] - (int(number[0]) if number else 0)
    return "time" if len(value) > 18 and value[4] == "-" and value[10] == "T" else str(value)


def _bytes(_: _Freezer, value: bytes) -> _Frozen:
    return _state_in(value)[0] if value.startswith(b'{"at":') else value


def _sequence(freezer: _Freezer, value: Sequence[Any]) -> _Frozen:
    return tuple([freezer.freeze(v) for v in value])


def _set(freezer: _Freezer, value: Set[Any]) -> _Frozen:
    # sort tasks by name: their order in a set differs from run to run
    members = [str(v.name) if isinstance(v, PartitionTask) else freezer.freeze(v) for v in value]
    return tuple(sorted(members, key=repr))


def _mapping(freezer: _Freezer, value: Mapping[Any, Any]) -> _Frozen:
    return tuple([(freezer.freeze(k), freezer.freeze(v)) for k, v in value.items()])


def _error(_: _Freezer, value: BaseException) -> _Frozen:
    return type(value).__name__, str(value)


def _object(kind: type) -> Callable[[_Freezer, Any], _Frozen]:
    """Converts an object to its significant attributes."""
    slots = [name for base in kind.__mro__ for name in _slots(base)]
    names = tuple(n for n in dict.fromkeys(slots) if n not in _LEFT_OUT)

    def freeze(freezer: _Freezer, value: Any) -> _Frozen:
        wanted = names or tuple(n for n in getattr(value, "__dict__", ()) if n not in _LEFT_OUT)
        return kind.__name__, *[freezer.freeze(getattr(value, name, None)) for name in wanted]

    return freeze


def _slots(kind: type) -> tuple[str, ...]:
    struct = getattr(kind, "__struct_fields__", None)
    slots = struct if struct is not None else kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots) if isinstance(slots, tuple | list) else ()


def _how(kind: Any) -> Callable[[_Freezer, Any], _Frozen]:
    if issubclass(kind, str):
        return _text
    if issubclass(kind, bytes):
        return _bytes
    if issubclass(kind, int):
        return lambda _, value: int(value)
    if issubclass(kind, float):
        return _Freezer.seconds
    if issubclass(kind, _CONSTANT):
        return lambda *_: kind.__name__
    return _once(_SPECIAL.get(kind) or _how_compound(kind))


def _once(how: Callable[[_Freezer, Any], _Frozen]) -> Callable[[_Freezer, Any], _Frozen]:
    """Converts an object when it is first seen; later occurrences become its number."""

    def freeze(freezer: _Freezer, value: Any) -> _Frozen:
        met, key = freezer.met, id(value)
        known = met.get(key)
        if known is not None:
            return "met", known
        met[key] = len(met)
        return how(freezer, value)

    return freeze


def _how_compound(kind: type) -> Callable[[_Freezer, Any], _Frozen]:
    for base, how in _COMPOUND:
        if issubclass(kind, base):
            return how
    return (lambda *_: kind.__name__) if kind.__module__ == "builtins" else _object(kind)


def _task(freezer: _Freezer, task: PartitionTask) -> _Frozen:
    return (_TASK(freezer, task), freezer.seconds_until(task.not_before_s))


def _method(freezer: _Freezer, method: MethodType) -> _Frozen:
    return method.__qualname__, freezer.freeze(method.__self__)


def _run_state(freezer: _Freezer, state: RunState) -> _Frozen:
    """Includes how it compares to the record on the cluster, since the newer of the two will be believed."""
    own, latest = (state.openings, state.at), freezer.latest
    return (*state_of_run(state), own < latest, own == latest)


def _journal(freezer: _Freezer, journal: JournalContent) -> _Frozen:
    """The parsed journal. Its length counts if more was written since, which will be cut off."""
    is_whole = journal.path.stat().st_size == journal.valid_bytes
    rest = "" if is_whole else read_digest(journal.path, journal.path.parent, journal.valid_bytes).content
    return freezer.freeze(journal.state), rest


def _meter(freezer: _Freezer, meter: CopyProgress) -> _Frozen:
    """Bytes of incomplete copies, those not noted yet, and how long nothing has arrived; the rest is for reports.

    Which copies of a task count depends on its state when the meter was created.
    """
    placed = meter._placed  # noqa: SLF001
    counted = sorted([(str(t.name), None if t in placed else on) for t, on in meter._missing.items()])  # noqa: SLF001
    partial = sorted([(str(t.name), count) for t, count in meter._partial.items()])  # noqa: SLF001
    unnoted = meter.done_bytes - meter._noted_bytes  # noqa: SLF001
    return (tuple(partial), unnoted, tuple(counted), freezer.freeze(meter._changed_s))  # noqa: SLF001


_COMPOUND: tuple[tuple[Any, Callable[[_Freezer, Any], _Frozen]], ...] = (
    ((tuple, list, deque), _sequence),
    ((set, frozenset), _set),
    (Mapping, _mapping),
    (Enum, lambda _, value: value.name),
    (np.ndarray, lambda _, value: value.tobytes()),
    (BaseException, _error),
    (FunctionType, lambda _, value: value.__qualname__),
    (MethodType, _method),
    ((type, datetime), lambda _, value: type(value).__name__),
)

_TASK = _object(PartitionTask)
_SPECIAL: dict[type, Callable[[_Freezer, Any], _Frozen]] = {
    CopyProgress: _meter,
    IsolatedListener: lambda _, listener: listener._listener is None,  # noqa: SLF001
    Journal: lambda _, journal: (journal.is_tolerant, not journal.gap),
    RunEnvironment: lambda freezer, environment: (environment.host, freezer.freeze(environment.stop)),
    WatchedSwitch: lambda _, switch: str(switch.asked),
    JournalContent: _journal,
    RunState: _run_state,
    ClusterRecord: lambda freezer, record: freezer.latest[0] - record._opening[1],  # noqa: SLF001
    RunRequests: lambda freezer, requests: min(freezer.now_s - requests._polled_s, POLL_EVERY_S),  # noqa: SLF001
    # its view of the cluster is already part of the fingerprint
    MemoryLock: lambda freezer, lock: (lock._is_ours(), freezer.freeze(lock._lock)),  # noqa: SLF001
    SimulatedLock: lambda freezer, lock: _lock(lock, freezer.now_s),
    PartitionTask: _task,
    TargetPlacement: lambda _, target: (str(target.name), target.replicas),
    Throttle: lambda _, throttle: repr(throttle),
}
