"""One number for a state: the cluster, and everything that the processes of the tool remember.

What a process remembers is on its stack: where each of its functions stands, and what its variables hold. Two moments
with the same fingerprint have the same future, so only one of them is followed. Left out is what no decision depends
on: the constants of the run, what is reported, the numbers of requests. A moment in time counts by how long ago it was.
"""

from __future__ import annotations

import hashlib
import marshal
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime
from enum import Enum
from functools import cache
from pathlib import PurePath
from types import FrameType, FunctionType, MethodType
from typing import Any

import msgspec
import numpy as np

from kafkabal.clusters.simulated.clock import FakeClock
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fault_injection import FaultyCluster
from kafkabal.executor.observe.copy_progress import ProgressMeter
from kafkabal.executor.reassign.partition_task import Task
from kafkabal.executor.reassign.target_placement import TargetPlacement
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import Limits, RunOptions, Throttle, Timeouts
from kafkabal.executor.safety.fenced_requests import Effects
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.journal import Journal
from kafkabal.executor.state.run_record import PlannedPartition, RunRecord
from kafkabal.executor.state.run_states import RunState
from kafkabal.isolated_listeners import IsolatedListener
from kafkabal.plan import Plan
from tools.model_check.world import CLOCK_STARTS_S, World

_LONGEST_AGE_S = 700.0
"""Longer than every timeout of the run: whatever was earlier is as good as this."""
_TIMES_FROM_S = CLOCK_STARTS_S / 2
_CONSTANT = (
    FakeClock,
    InMemoryCluster,
    FaultyCluster,
    Effects,
    RunRecord,
    PlannedPartition,
    RunOptions,
    Limits,
    Timeouts,
    Plan,
    PurePath,
)
_EXECUTOR = "kafkabal.executor"
_LEFT_OUT = frozenset({"at", "asked_at", "_left_at", "_ours", "_originals", "__dict__", "__weakref__"})
"""When something was written down, and what follows from the plan or from the record of the run."""
_Frozen = Any


def fingerprint(world: World, frame: FrameType | None, extra: tuple[object, ...]) -> bytes:
    """Hash of the world and of the stack from a frame on outwards, with what else counts."""
    now_s = world.kafka.clock.monotonic()
    stack = _Freezer(now_s).stack(frame) if frame is not None else ()
    whole: _Frozen = (cluster(world), stack, extra)
    return hashlib.blake2b(marshal.dumps(whole, 0), digest_size=12).digest()


def cluster(world: World) -> tuple[_Frozen, ...]:
    """The cluster, with its record of the run."""
    parts, now_s = world.kafka.parts, world.kafka.clock.monotonic()
    return (
        tuple((b.alive, tuple(sorted(b.own_configs.items()))) for b in parts.brokers.values()),
        tuple(tuple(sorted(t.configs.items())) for t in parts.topics.values()),
        tuple((*map(tuple, (p.replicas, p.isr, p.adding, p.removing)), p.leader) for p in world.partitions()),
        tuple((lock.owner, lock.client.is_stopped, now_s - lock.heartbeat_s) for lock in parts.locks.values()),
        tuple((key, _record(key, value)) for key, value in sorted(parts.records.items())),
        world.budget,
        world.is_disk_full,
        world.is_output_gone,
        tuple(sorted(map(str, world.touched))),
        tuple(tuple(sorted(set_.items())) for set_ in world.operators.values()),
    )


def _record(key: str, value: bytes) -> _Frozen:
    if not key.endswith("/state"):
        return value
    return state_of_run(msgspec.json.decode(value, type=RunState))


def state_of_run(state: RunState) -> tuple[_Frozen, ...]:
    """What is remembered of a run, without when it was written down."""
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
    """Turns what is on a stack into plain values; what was met before becomes a number, so that cycles end."""

    def __init__(self, now_s: float) -> None:
        self._now_s = now_s
        self._met: dict[int, int] = {}

    def stack(self, frame: FrameType | None) -> tuple[_Frozen, ...]:
        """The functions of the executor, from a frame on outwards."""
        frames = []
        while frame is not None:
            if frame.f_globals.get("__name__", "").startswith(_EXECUTOR):
                local = tuple([(name, self.freeze(value)) for name, value in frame.f_locals.items()])
                frames.append((frame.f_code.co_qualname, frame.f_lasti, local))
            frame = frame.f_back
        return tuple(frames)

    def freeze(self, value: Any) -> _Frozen:
        """A plain value for any other."""
        kind: Any = type(value)
        return _how(kind)(self, value)

    def seconds(self, value: float) -> _Frozen:
        """A duration as it is; a moment as how long ago it was."""
        if value < _TIMES_FROM_S or value == math.inf:
            return value
        return "ago", min(self._now_s - value, _LONGEST_AGE_S)

    def once(self, value: Any, how: Callable[[_Freezer, Any], _Frozen]) -> _Frozen:
        """An object where it is met first, its number from then on."""
        known = self._met.get(id(value))
        if known is not None:
            return "met", known
        self._met[id(value)] = len(self._met)
        return how(self, value)


def _plain(_: _Freezer, value: Any) -> _Frozen:
    return value


def _text(_: _Freezer, value: str) -> _Frozen:
    return "time" if len(value) > 18 and value[4] == "-" and value[10] == "T" else str(value)


def _sequence(freezer: _Freezer, value: Sequence[Any]) -> _Frozen:
    return tuple([freezer.freeze(v) for v in value])


def _set(freezer: _Freezer, value: Set[Any]) -> _Frozen:
    # tasks are told apart by name: their own order in a set differs from run to run
    members = [str(v.name) if isinstance(v, Task) else freezer.freeze(v) for v in value]
    return tuple(sorted(members, key=repr))


def _mapping(freezer: _Freezer, value: Mapping[Any, Any]) -> _Frozen:
    return tuple([(freezer.freeze(k), freezer.freeze(v)) for k, v in value.items()])


def _error(_: _Freezer, value: BaseException) -> _Frozen:
    return type(value).__name__, str(value)


def _object(kind: type) -> Callable[[_Freezer, Any], _Frozen]:
    """The attributes of an object that count."""
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


@cache
def _how(kind: Any) -> Callable[[_Freezer, Any], _Frozen]:
    """How values of a type are made plain."""
    if kind in (int, bool, bytes, type(None)):
        return _plain
    if issubclass(kind, str):
        return _text
    if issubclass(kind, int):
        return lambda _, value: int(value)
    if issubclass(kind, float):
        return _Freezer.seconds
    if issubclass(kind, _CONSTANT):
        return lambda *_: kind.__name__
    how = _SPECIAL.get(kind) or _how_compound(kind)
    return lambda freezer, value: freezer.once(value, how)


def _how_compound(kind: type) -> Callable[[_Freezer, Any], _Frozen]:
    for base, how in _COMPOUND:
        if issubclass(kind, base):
            return how
    return (lambda *_: kind.__name__) if kind.__module__ == "builtins" else _object(kind)


def _meter(freezer: _Freezer, meter: ProgressMeter) -> _Frozen:
    """Only how much has come, and since when nothing has: the rest is for reports."""
    placed = tuple(sorted(str(t.name) for t in meter._placed))  # noqa: SLF001
    return (meter.done_bytes, placed, freezer.freeze(meter._changed_s))  # noqa: SLF001


_COMPOUND: tuple[tuple[Any, Callable[[_Freezer, Any], _Frozen]], ...] = (
    ((tuple, list, deque), _sequence),
    ((set, frozenset), _set),
    (Mapping, _mapping),
    (Enum, lambda _, value: value.name),
    (np.ndarray, lambda _, value: value.tobytes()),
    (BaseException, _error),
    ((FunctionType, MethodType), lambda _, value: value.__qualname__),
    ((type, datetime), lambda _, value: type(value).__name__),
)

_SPECIAL: dict[type, Callable[[_Freezer, Any], _Frozen]] = {
    ProgressMeter: _meter,
    IsolatedListener: lambda _, listener: listener._listener is None,  # noqa: SLF001
    Journal: lambda _, journal: (journal.is_tolerant, journal.error is None),
    RunEnvironment: lambda _, environment: (environment.host, str(environment.stop.reason)),
    RunState: lambda _, state: state_of_run(state),
    ClusterRecord: lambda *_: "record",
    TargetPlacement: lambda _, target: (str(target.name), target.replicas),
    Throttle: lambda _, throttle: repr(throttle),
}
