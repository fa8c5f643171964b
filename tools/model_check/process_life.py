"""One life of a process of the tool: from a command until it returns, fails or crashes, with all disturbances."""

from __future__ import annotations

import errno
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from types import FrameType

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fault_injection import WRITES, Call, CallOutcome, FaultyCluster
from kafkabal.errors import KafkabalError
from kafkabal.executor.execute_run import apply, cancel, resume, roll_back
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import Event
from kafkabal.executor.run_result import RunResult
from kafkabal.executor.safety.lock_holder import LockHolder
from kafkabal.executor.safety.stop_request import StopReason, StopSwitch
from kafkabal.executor.state.cluster_record import ClusterRecord
from tools.model_check.disturbances import LAST, SLEEP, STALLS_TOOL, Disturbance, Kind, cost, happen, possible
from tools.model_check.invariants import ViolationError, check_replicas, check_throttles, check_writer
from tools.model_check.journal_digest import JournalDigest, journal_digests
from tools.model_check.world import SESSION_S, World, write_files

_MOST_CALLS = 20_000
_OTHER = {"one": "two", "two": "one"}
_OUTCOMES = {Kind.TIMEOUT: CallOutcome.TIMEOUT, Kind.LOST: CallOutcome.RESPONSE_LOST, Kind.REFUSED: CallOutcome.REFUSED}


class Command(StrEnum):
    """What a process does."""

    APPLY = "apply"
    RESUME = "resume"
    ROLL_BACK = "roll back"
    CANCEL = "cancel"


class CrashError(BaseException):
    """A process dies."""


@dataclass(slots=True)
class Moment:
    """A call about to be made, or the end of a sleep."""

    life: Life
    method: str
    frame: FrameType
    may_be_taken_over: bool
    is_between_read_and_write: bool

    @property
    def possible(self) -> tuple[Disturbance, ...]:
        """What can happen now."""
        return tuple(
            possible(
                self.life.world,
                self.method,
                may_be_taken_over=self.may_be_taken_over,
                is_between_read_and_write=self.is_between_read_and_write,
            )
        )


Choose = Callable[[Moment], Disturbance]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a life ended."""

    result: RunResult | None = None
    error: KafkabalError | None = None
    has_crashed: bool = False


class WatchedSwitch(StopSwitch):
    """Records when it is queried."""

    def __init__(self, touched: set[Kind]) -> None:
        self.asked: StopReason | None = None
        self._touched = touched

    @property
    def reason(self) -> StopReason | None:
        """Why the process should stop."""
        self._touched.add(Kind.STOP)
        return self.asked

    @reason.setter
    def reason(self, reason: StopReason | None) -> None:
        self.asked = reason


@dataclass
class Process:
    """A process of the tool on a host."""

    host: str
    client: InMemoryCluster
    faulty: FaultyCluster
    stop: WatchedSwitch
    is_dead: bool = False
    has_read_configs: bool = False
    """Whether it has read configs since its last observation: it may be about to write them."""
    dies_after: int = 0
    """Number of the call after which it crashes."""


class Life:
    """Runs one command in a world; another host may take over in the middle."""

    def __init__(self, world: World, folder: Path, choose: Choose) -> None:
        self.world = world
        self.folder = folder
        self.processes: list[Process] = []
        """The running processes, the active one last."""
        self.trail: list[str] = []
        """What happened, for people."""
        self.touched: set[Kind] = set()
        """What the tool has queried, reported to or written to since this was last cleared."""
        self._choose = choose
        self._calls = 0
        self._journals: tuple[JournalDigest, ...] | None = None

    @property
    def journals(self) -> tuple[JournalDigest, ...]:
        """The current journals of all hosts; read again after a write."""
        if self._journals is None:
            self._journals = journal_digests(self.folder)
        return self._journals

    def run(self, command: Command, host: str) -> Ending:
        """Restore the files of the hosts, and run a command on one of them."""
        write_files(self.folder, self.world.files)
        with self._disk():
            return self._run(command, host)

    def _run(self, command: Command, host: str) -> Ending:
        client = InMemoryCluster(self.world.kafka, name=host)
        process = Process(host, client, FaultyCluster(client), WatchedSwitch(self.touched))
        self.processes.append(process)
        process.faulty.before.append(self._before)
        process.faulty.after.append(self._after)
        try:
            return Ending(result=_act(command, self._environment(process), self.world))
        except KafkabalError as error:
            return Ending(error=error)
        except CrashError:
            return Ending(has_crashed=True)
        finally:
            process.is_dead = True
            client.stop()
            self.processes.pop()

    def _environment(self, process: Process) -> RunEnvironment:
        return RunEnvironment(
            cluster=process.faulty,
            state_dir=self.folder / process.host,
            clock=LifeClock(self, process.host),
            listener=_Output(self),
            stop=process.stop,
            host=process.host,
            user="operator",
            holder=LockHolder(process.host, 1),
            run_suffix=lambda: "x",
        )

    def at_sleep(self, frame: FrameType) -> None:
        """At the end of a sleep: all copies have completed, unless chosen otherwise."""
        chosen = self._decide(SLEEP, frame)
        if chosen.kind is Kind.NOTHING:
            for name in self.world.arriving():
                self.world.arrive(name)

    def _before(self, call: Call) -> None:
        process = self.processes[-1]
        if process.is_dead:
            raise CrashError
        if call.method == "broker_ids":
            process.has_read_configs = False
        chosen = self._decide(call.method, _caller())
        outcome = _OUTCOMES.get(chosen.kind)
        if outcome is not None:
            process.faulty.fail_call(call.number, outcome)
        if chosen.kind is Kind.CRASH:
            self._die(process)
        if chosen.kind is Kind.CRASH_AFTER:
            process.dies_after = call.number
        if call.method in WRITES and chosen.kind not in STALLS_TOOL:
            check_writer(self.world, process.client)

    def _after(self, call: Call) -> None:
        process = self.processes[-1]
        if call.method == "configs":
            process.has_read_configs = True
        if call.method == "alter_configs":
            process.has_read_configs = False
            check_throttles(self.world, self.folder)
        if process.dies_after == call.number:
            self._die(process)

    def _decide(self, method: str, frame: FrameType) -> Disturbance:
        self._calls += 1
        if self._calls > _MOST_CALLS:
            raise ViolationError(f"no end after {_MOST_CALLS} calls")
        check_replicas(self.world)
        process = self.processes[-1]
        lock = self.world.kafka.parts.locks.get("")
        may_be_taken_over = (
            self.world.budget > 0
            and len(self.processes) == 1
            and lock is not None
            and lock.client is process.client
            and ClusterRecord(process.client.records()).run_id() is not None
        )
        chosen = self._choose(Moment(self, method, frame, may_be_taken_over, process.has_read_configs))
        if chosen.kind is not Kind.NOTHING:
            self.trail.append(f"{process.host}, call {self._calls} ({method}): {chosen}")
        self.world.budget = 0 if chosen.kind in LAST else self.world.budget - cost(chosen)
        happen(self.world, chosen)
        if chosen.kind is Kind.STOP:
            process.stop.request(StopReason.INTERRUPT)
        if chosen.kind in STALLS_TOOL:
            is_elsewhere = chosen.kind is not Kind.TAKEN_OVER_HERE
            is_back = chosen.kind in (Kind.ROLLED_BACK, Kind.LATE_BACK)
            host = _OTHER[process.host] if is_elsewhere else process.host
            self._take_over(process, Command.ROLL_BACK if is_back else Command.RESUME, host)
        return chosen

    def _take_over(self, process: Process, command: Command, host: str) -> None:
        """Stall a process for longer than its session, and let another one continue its run meanwhile."""
        process.client.stop()
        self.world.kafka.clock.sleep(SESSION_S + 1.0)
        ending = self._run(command, host)
        self.trail.append(f"{host}: {ending.error or ending.result or 'died'}")
        process.client.resume_process()

    def _die(self, process: Process) -> None:
        process.is_dead = True
        raise CrashError

    @contextmanager
    def _disk(self) -> Iterator[None]:
        """Simulate a full disk for the journals if the world says so, and skip real fsyncs."""
        real = os.fsync

        def fsync(_: int) -> None:
            self._journals = None
            self.touched.add(Kind.DISK_FULL)
            if self.world.is_disk_full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        os.fsync = fsync  # type: ignore[assignment]
        try:
            yield
        finally:
            os.fsync = real


def _caller() -> FrameType:
    """The frame in which the tool made the call, or went to sleep."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    assert frame.f_back.f_back is not None
    return frame.f_back.f_back


class LifeClock:
    """The world's clock as seen on a host, whose time of day may be wrong."""

    def __init__(self, life: Life, host: str) -> None:
        self._life = life
        self._host = host
        self._clock = life.world.kafka.clock

    def monotonic(self) -> float:
        """See the protocol."""
        return self._clock.monotonic()

    def utc_now(self) -> datetime:
        """See the protocol."""
        return self._clock.utc_now() + timedelta(seconds=self._life.world.clocks_off_s.get(self._host, 0.0))

    def sleep(self, seconds: float) -> None:
        """Advance the time, and complete copies."""
        self._clock.sleep(seconds)
        self._life.at_sleep(_caller())


class _Output:
    """The output of a process; writing fails once the terminal is closed."""

    def __init__(self, life: Life) -> None:
        self._life = life

    def on_event(self, event: Event) -> None:  # noqa: ARG002
        self._life.touched.add(Kind.OUTPUT_GONE)
        if self._life.world.is_output_gone:
            raise OSError(errno.EIO, os.strerror(errno.EIO))


def _act(command: Command, environment: RunEnvironment, world: World) -> RunResult | None:
    match command:
        case Command.APPLY:
            return apply(environment, world.plan, world.options)
        case Command.RESUME:
            return resume(environment)
        case Command.ROLL_BACK:
            return roll_back(environment)
        case Command.CANCEL:
            return cancel(environment)
