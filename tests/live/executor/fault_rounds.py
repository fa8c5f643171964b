"""Rounds of random faults: a run on real brokers while records are written and read, and faults occur around it.

A round is drawn from its seed: the speed of the run, which faults occur, when and for how long, simultaneously or one
after the other, and whether people resume the run or roll it back. In the end, with everything repaired, every
partition is as planned or as before, every throttle is as it was found, and every acknowledged record is read once, in
order."""

from __future__ import annotations

import logging
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Position
from msgspec.structs import replace

from kafkabal.executor.run_options import OnInterrupt, RunOptions, Timeouts
from kafkabal.executor.state.run_states import RunOutcome
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import ANY_DIR
from tests.live.executor.broker_links import BrokerLinks
from tests.live.executor.hosts import SESSION_S, Process
from tests.live.executor.record_batches import written_batches
from tests.live.executor.scenery import BROKERS, KB, LONGEST_S, MB
from tests.live.executor.stage import Stage, options

_VALUE = bytes(500)
_CONTROLLERS = (101, 102, 103)
_MOST_TRIES = 5
_CLOCK_STEPS_S = (-86_400, -3_600, -2, 2, 3_600, 86_400)
_MOST_LINES = 300
"""Of what a producer logs, the last: a paused broker makes it log some ten."""


class RecordsError(AssertionError):
    """Records of a partition are not as they were acknowledged."""

    def __init__(self, name: TopicPartition, what: str, offsets: list[int | None]) -> None:
        super().__init__(f"{name}: {what}")
        self.name = name
        self.offsets = offsets


class _Lines(logging.Handler):
    """Collects log messages."""

    def __init__(self, lines: deque[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(f"{record.created:.3f} {record.getMessage()}")


@dataclass
class Traffic:
    """A producer with acks=all, and a check of its records afterwards."""

    servers: str
    partitions: list[TopicPartition]
    acknowledged: dict[TopicPartition, list[tuple[int | None, int]]] = field(default_factory=lambda: defaultdict(list))
    """Offset and number of each record; the offset is not known where only a repeated request was answered."""
    refused: list[str] = field(default_factory=list)
    """Why, for each record that was."""
    logged: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_LINES))
    """What the producer says of its id, its epochs, and what it sends again."""
    is_over: threading.Event = field(default_factory=threading.Event)

    def write(self) -> None:
        """Write numbered records, a few hundred a second, and note where each acknowledged one went.

        With several requests in flight, librdkafka raises the epoch of its producer id if one fails and the next is out
        of order. Records sent to other partitions, of which only the response was lost, are then written again under
        the new epoch: a duplicate caused by the producer alone."""
        logger = logging.getLogger(f"producer.{id(self)}")
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.addHandler(_Lines(self.logged))
        producer = Producer(
            {
                "bootstrap.servers": self.servers,
                "acks": "all",
                "enable.idempotence": True,
                "max.in.flight.requests.per.connection": 1,
                "delivery.timeout.ms": 300_000,
                "debug": "eos",
                "error_cb": lambda error: logger.error("%s", error),
            },
            logger=logger,
        )
        number = 0
        while not self.is_over.wait(0.004):
            name = self.partitions[number % len(self.partitions)]
            producer.produce(name.topic, _VALUE, key=b"%d" % number, partition=name.partition, on_delivery=self._note)
            producer.poll(0)
            number += 1
        producer.flush(300)

    def _note(self, error: Any, message: Any) -> None:
        if error is not None:
            self.refused.append(str(error))
            return
        name = TopicPartition(message.topic(), message.partition())
        self.acknowledged[name].append((message.offset(), int(message.key())))

    def check(self, starts: dict[TopicPartition, int]) -> int:
        """Read everything from the start offsets on, and compare; returns the number of acknowledged records."""
        for name, noted in self.acknowledged.items():
            read = self._read(name, starts[name])
            numbers = [number for _, number in read]
            times = Counter(numbers)
            _refuse(name, "acknowledged records lost", [place for place in noted if not times[place[1]]])
            _refuse(name, "records at other offsets", sorted({p for p in noted if p[0] is not None} - set(read)))
            _refuse(name, "duplicated records", [place for place in read if times[place[1]] > 1])
            _refuse(name, "reordered records", [b for a, b in pairwise(read) if b[1] < a[1]])
        return sum(map(len, self.acknowledged.values()))

    def _read(self, name: TopicPartition, first: int) -> list[tuple[int | None, int]]:
        """Offset and number of every record from a start offset on."""
        consumer = Consumer(
            {"bootstrap.servers": self.servers, "group.id": "checker", "enable.auto.commit": False, "log_level": 0}
        )
        position = Position(name.topic, name.partition, first)
        _, end = consumer.get_watermark_offsets(position, timeout=LONGEST_S)
        consumer.assign([position])
        read: list[tuple[int | None, int]] = []
        give_up_at = time.monotonic() + LONGEST_S
        while first + len(read) < end and time.monotonic() < give_up_at:
            message = consumer.poll(0.5)
            if message is not None and message.error() is None:
                read.append((message.offset(), int(message.key())))
        consumer.close()
        return read


def _refuse(name: TopicPartition, what: str, places: list[tuple[int | None, int]]) -> None:
    if places:
        offsets = [offset for offset, _ in places]
        raise RecordsError(name, f"{len(places)} {what}, by offset and number: {places[:10]}", offsets)


@dataclass
class Round:
    """One round on a stage."""

    stage: Stage
    links: BrokerLinks
    seed: int
    small_dir: Path | None = None
    """A log dir of broker 4 on a volume that is small enough to be filled."""
    is_short: bool = False
    story: list[str] = field(default_factory=list)
    """What happened, for people."""

    def __post_init__(self) -> None:
        self._random = Random(self.seed)
        self._full: set[int] = set()
        """Brokers with a log dir that is full."""
        self._began_s = time.monotonic()

    def run(self) -> int:
        """Run the round; returns the number of records that were written and acknowledged.

        An error is raised with the story of the round as a note."""
        try:
            return self._run()
        except Exception as error:
            if isinstance(error, RecordsError):
                self._tell_of_batches(error)
            error.add_note("\n".join(self.story))
            raise

    def _tell_of_batches(self, error: RecordsError) -> None:
        """Name the cause of a wrong record: one that exists under two epochs was sent twice by the producer."""
        around = {near for offset in error.offsets[:10] if offset is not None for near in range(offset - 2, offset + 3)}
        for broker in BROKERS:
            for log_dir in self.stage.sandbox.log_dirs(broker):
                for batch in written_batches(log_dir / f"{error.name.topic}-{error.name.partition}"):
                    if around & set(batch.offsets):
                        self._tell(f"broker {broker}: {batch}")

    def _run(self) -> int:
        stage = self.stage
        starts = stage.ends()
        traffic = Traffic(stage.sandbox.bootstrap_servers, sorted(starts))
        writer = threading.Thread(target=traffic.write)
        writer.start()
        try:
            self._run_beside(traffic, writer)
            self._tell("checking records")
            acknowledged = traffic.check(starts)
        except Exception:
            self.story += ["the producer logged:", *traffic.logged]
            raise
        raised = sum("bumped epoch" in line for line in traffic.logged)
        self._tell(f"{acknowledged} records checked; the producer raised its epoch {raised} times")
        return acknowledged

    def _run_beside(self, traffic: Traffic, writer: threading.Thread) -> None:
        try:
            self.stage.until(lambda: bool(traffic.acknowledged))
            self._run_among_faults()
            self._end()
        finally:
            traffic.is_over.set()
            writer.join()
        assert not traffic.refused, f"{len(traffic.refused)} records refused: {set(traffic.refused)}"

    def _run_among_faults(self) -> None:
        process = self._begin()
        number = 1 if self.is_short else self._random.randint(1, 3)
        faults = self._random.sample(self._faults(process), number)
        at_once = self._random.random() < 0.5
        with ExitStack() as wrong:
            for fault in faults:
                wrong.enter_context(fault())
                time.sleep(self._random.uniform(0.5, 4.0))
                if not at_once:
                    wrong.close()
        self._await_end(process)

    def _begin(self) -> Process:
        """Start the run, and wait until it moves something; a run refused before it began is started again.

        A busy machine may delay the heartbeats of a broker or of the lock; a run that starts in that second is rightly
        refused before it changes anything."""
        options = self._options()
        for _ in range(_MOST_TRIES):
            self.stage.await_health()
            process = self.stage.begin(options, is_watched=True)
            self.stage.until(lambda p=process: self.stage.in_flight() or p.has_ended)
            if not process.has_ended or self.stage.begun() is not None:
                return process
            code, said = process.end()
            self._check_placement(is_back=True)  # no replica has moved
            self._tell(f"refused with {code}: {said.strip()[-200:]}")
        raise AssertionError(f"refused {_MOST_TRIES} times")

    def _options(self) -> RunOptions:
        chosen = options(2 * MB if self.is_short else self._random.choice((300 * KB, MB)))
        timeouts = Timeouts(poll_s=0.25, broker_grace_s=self._random.choice((2.0, 30.0)), broker_return_s=20.0)
        policy = self._random.choice((OnInterrupt.CANCEL, OnInterrupt.FINISH))
        return replace(chosen, timeouts=timeouts, on_interrupt=policy)

    def _await_end(self, process: Process) -> None:
        if process.popen.poll() is None:
            # refused if the run has ended by now, or was ended by another process
            self.stage.command("throttle", "50MB", "--log-dir-throttle", "60MB")
        code, said = process.end()
        self._tell(f"the run ended with {code}: {said.strip()[-200:]}")

    def _end(self) -> None:
        """Resume or roll back until nothing is left to do, and compare."""
        stage = self.stage
        action = self._random.choice(("resume", "resume", "roll back"))
        for number in range(_MOST_TRIES):
            if number > 0:
                stage.await_health()
            code, said = stage.execute(action)
            self._tell(f"{action}: {code}: {said.strip()[-200:]}")
            if code == 0 or (action == "resume" and stage.journal().state.outcome is RunOutcome.COMPLETE):
                break
        stage.soon(lambda: self._check_placement(is_back=action == "roll back"))
        stage.assert_clean()

    def _check_placement(self, *, is_back: bool) -> None:
        """Replicas in order, and log dirs; leaders may have changed since, when a broker died."""
        found = self.stage.placement()
        for change in self.stage.plan.partitions:
            name = TopicPartition(change.topic, change.partition)
            replicas, _, dirs = found[name]
            if is_back:
                before, _, before_dirs = self.stage.start[name]
                assert (replicas, dirs) == (before, before_dirs), name
            else:
                assert replicas == change.replicas, name
                wanted = zip(change.replicas, change.log_dirs, strict=True)
                assert all(dirs.get(b) == d for b, d in wanted if d != ANY_DIR), name

    def _tell(self, what: str) -> None:
        self.story.append(f"{time.monotonic() - self._began_s:.0f} s: {what}")

    def _faults(self, process: Process) -> list[Callable[[], AbstractContextManager[None]]]:
        quick = [
            lambda: self._paused_broker(),
            lambda: self._cut_link(),
            lambda: self._slow_link(),
            lambda: self._killed_controller(),
            lambda: self._signalled(process, signal.SIGKILL),
            lambda: self._signalled(process, signal.SIGTERM),
            lambda: self._signalled(process, signal.SIGINT),
            lambda: self._stopped_tool(process),
            lambda: self._killed_broker(),
            lambda: self._lost_output(process),
            lambda: self._stepped_clock(process),
        ]
        if self.is_short:
            return quick
        slow = [lambda: self._restarted_brokers(), lambda: self._failed_log_dir()]
        return [*quick, *slow, *([lambda: self._full_disk(self.small_dir)] if self.small_dir else [])]

    def _pair(self) -> tuple[int, int]:
        one, other = self._random.sample(BROKERS, 2)
        return one, other

    @contextmanager
    def _killed_broker(self) -> Iterator[None]:
        broker = self._random.choice(BROKERS)
        self._tell(f"broker {broker} killed")
        self.stage.sandbox.kill(broker)
        yield
        if broker not in self._full:
            self.stage.sandbox.start(broker)

    @contextmanager
    def _paused_broker(self) -> Iterator[None]:
        broker = self._random.choice(BROKERS)
        self._tell(f"broker {broker} paused")
        self.stage.sandbox.pause(broker)
        yield
        self.stage.sandbox.start(broker)

    @contextmanager
    def _cut_link(self) -> Iterator[None]:
        one, other = self._pair()
        self._tell(f"brokers {one} and {other} cut off from each other")
        with self.links.cut(one, other):
            yield

    @contextmanager
    def _slow_link(self) -> Iterator[None]:
        one, other = self._pair()
        self._tell(f"a slow link between brokers {one} and {other}")
        with self.links.slow(one, other, self._random.choice((0.05, 0.3))):
            yield

    @contextmanager
    def _killed_controller(self) -> Iterator[None]:
        controller = self._random.choice(_CONTROLLERS)
        self._tell(f"controller {controller} killed")
        self.stage.sandbox.kill(controller)
        yield
        self.stage.sandbox.start(controller)

    @contextmanager
    def _restarted_brokers(self) -> Iterator[None]:
        self._tell("rolling restart")
        for broker in self._random.sample(BROKERS, len(BROKERS)):
            if broker not in self._full:
                self.stage.sandbox.stop(broker)
                self.stage.sandbox.start(broker)
        yield

    @contextmanager
    def _failed_log_dir(self) -> Iterator[None]:
        """A broker finds a file in place of its log dir, until it is restarted with the dir restored."""
        broker = self._random.choice(BROKERS)
        log_dir = self._random.choice([d for d in self.stage.sandbox.log_dirs(broker) if d != self.small_dir])
        self._tell(f"log dir {log_dir.name} of broker {broker} fails")
        aside = log_dir.with_name(f"{log_dir.name}-aside")
        log_dir.rename(aside)
        log_dir.touch()
        try:
            yield
        finally:
            self.stage.sandbox.kill(broker)
            log_dir.unlink()
            aside.rename(log_dir)
            self._delete_twins(broker, log_dir)
            if broker not in self._full:
                self.stage.sandbox.start(broker)

    def _delete_twins(self, broker: int, log_dir: Path) -> None:
        """Delete replicas from a failed dir that the broker also has in another one, as Kafka asks its operator to.

        If the dir fails while a replica moves out of it, the copy is completed and the old one stays; a broker that
        finds both does not start."""
        for other in self.stage.sandbox.log_dirs(broker):
            for folder in other.glob("*-*[0-9]") if other != log_dir else ():
                if (twin := log_dir / folder.name).is_dir():
                    self._tell(f"{folder.name} is in both log dirs; that of {log_dir.name} is deleted")
                    shutil.rmtree(twin)

    @contextmanager
    def _full_disk(self, folder: Path) -> Iterator[None]:
        self._tell(f"{folder.name} of broker 4 is full")
        filler = folder / ".filler"
        # a broker that starts without room for its checkpoints exits at once
        self._full.add(4)
        try:
            subprocess.run(["dd", "if=/dev/zero", f"of={filler}", "bs=1M"], capture_output=True, check=False)
            yield
        finally:
            filler.unlink()
            self._full.clear()
            self.stage.sandbox.kill(4)
            self.stage.sandbox.start(4)

    @contextmanager
    def _signalled(self, process: Process, which: signal.Signals) -> Iterator[None]:
        self._tell(f"the tool gets {which.name}")
        if process.popen.poll() is None:
            process.send(which)
        yield

    @contextmanager
    def _lost_output(self, process: Process) -> Iterator[None]:
        """The reader of the tool's output goes away for good."""
        self._tell("the output of the tool is lost")
        assert process.reader is not None
        process.reader.go_away()
        yield

    @contextmanager
    def _stepped_clock(self, process: Process) -> Iterator[None]:
        """The clock of the tool's host is stepped, and set right again."""
        seconds = self._random.choice(_CLOCK_STEPS_S)
        self._tell(f"the clock of the tool is stepped by {seconds:+d} s")
        assert process.clock is not None
        process.clock.step_to(seconds)
        yield
        process.clock.step_to(0)

    @contextmanager
    def _stopped_tool(self, process: Process) -> Iterator[None]:
        """The tool stalls for longer than its session; another process may resume its run meanwhile."""
        is_taken_over = self._random.random() < 0.5
        self._tell(f"the tool stands still{', and its run is resumed' if is_taken_over else ''}")
        if process.popen.poll() is not None:
            yield
            return
        process.send(signal.SIGSTOP)
        time.sleep(SESSION_S + 1.0)
        if is_taken_over and process.popen.poll() is None:
            code, said = self.stage.execute("resume", host=self._random.choice(("one", "two")))
            self._tell(f"resumed meanwhile: {code}: {said.strip()[-200:]}")
        yield
        process.send(signal.SIGCONT)  # unless another fault has ended it meanwhile
