"""Reading for training from real brokers: exactly once through kills, transactions, and lost brokers."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import ConsumerGroupTopicPartitions, IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from kafkabal.clusters.kafka import KafkaCluster
from kafkabal.clusters.kafka.range_fetcher import RangeFetcher
from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.errors import DriftError, OperationError, UsageError
from kafkabal.reader import TopicReader, combine_states
from kafkabal.sandbox import Sandbox, SandboxSpec, WaitLimit, up
from tests.live.conftest import MakeSandbox
from tests.live.topic_deletion import delete_topic

RECORDS = 3000
PARTITIONS = 5
_BATCH_S = 0.05
_TIMEOUT_S = 60.0
"""A loaded machine takes seconds for what takes milliseconds on a free one."""


class Topic:
    """A topic with unequal partitions."""

    def __init__(self, sandbox: Sandbox, name: str) -> None:
        self.sandbox = sandbox
        self.servers = sandbox.bootstrap_servers
        self.name = name
        self.admin = AdminClient({"bootstrap.servers": self.servers})

    def create(self, partitions: int = PARTITIONS, factor: int = 2, **config: str) -> None:
        """Create the topic."""
        topic = NewTopic(self.name, partitions, factor, config={k.replace("_", "."): v for k, v in config.items()})
        next(iter(self.admin.create_topics([topic]).values())).result()

    def delete(self) -> None:
        """Delete the topic."""
        delete_topic(self.servers, self.name)

    def produce(self, records: int = RECORDS, partition_of: Callable[[int], int] | None = None, **config: Any) -> None:
        """Fill the topic, by default one partition with ten times as much as another."""
        partition_of = partition_of or _partition
        producer = Producer({"bootstrap.servers": self.servers, **config})
        randomness = random.Random(1)
        for number in range(records):
            while True:
                try:
                    producer.produce(
                        self.name, b"%d" % number + randomness.randbytes(2000), partition=partition_of(number)
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush()

    def await_markers(self, partitions: int) -> None:
        """Wait until all commits count: a producer has its answer before the markers are written to the partitions."""
        places = [TopicPartition(self.name, p) for p in range(partitions)]

        def ends(isolation: IsolationLevel) -> list[int]:
            latest = {place: OffsetSpec.latest() for place in places}  # type: ignore[no-untyped-call]
            found = self.admin.list_offsets(latest, isolation_level=isolation)
            return [found[place].result().offset for place in places]

        def is_stable() -> bool:
            return ends(IsolationLevel.READ_COMMITTED) == ends(IsolationLevel.READ_UNCOMMITTED)

        assert WaitLimit().until(is_stable)

    def reader(self, **options: Any) -> TopicReader:
        """A reader of the topic."""
        return TopicReader(self.name, bootstrap_servers=self.servers, **{"shuffle_seed": 3, "tail": "keep", **options})


def _partition(number: int) -> int:
    return 0 if number % 10 < 6 else number % PARTITIONS


def _places(reader: Any) -> list[tuple[int, int]]:
    return [(sample.partition, sample.offset) for sample in reader]


@pytest.fixture
def make_topic(three_brokers: Sandbox) -> Iterator[Callable[[], Topic]]:
    """Separate topics for the tests."""
    made: list[Topic] = []

    def make() -> Topic:
        made.append(Topic(three_brokers, f"reader-{os.getpid()}-{time.monotonic_ns()}"))
        return made[-1]

    yield make
    for topic in made:
        if topic.name in topic.admin.list_topics(timeout=10).topics:
            topic.delete()


class Trainers:
    """Processes that share a topic, and are killed together."""

    def __init__(self, topic: Topic, folder: Path, **options: Any) -> None:
        self._topic = topic
        self._folder = folder
        self._options = options
        self.state: dict[str, Any] | None = None
        self.seen: Counter[tuple[int, int]] = Counter()
        self.ended = False
        self.stopped_within = 0
        """Kills that came after some samples, and before the last."""

    def run(self, ranks: int, batches: int | None, halfway: Callable[[], None] = lambda: None) -> None:
        """Start this many, and kill them once they have logged this many batches together; None lets them end.

        ``halfway`` is called when half of these batches are logged."""
        logs = [self._folder / f"log-{rank}" for rank in range(ranks)]
        processes = [self._start(rank, ranks, log) for rank, log in enumerate(logs)]
        if batches is not None:
            _await_lines(logs, batches // 2, processes)
            halfway()
            _await_lines(logs, batches, processes)
            for process in processes:
                process.kill()
        for process in processes:
            _, err = process.communicate(timeout=240)
            assert batches is not None or process.returncode == 0, err.decode()
        self._adopt(logs, ranks)

    def run_together(self, computing_s: Sequence[float]) -> list[int]:
        """An epoch of readers with these seconds per batch, started together; returns how many samples each got."""
        logs = [self._folder / f"log-{rank}" for rank in range(len(computing_s))]
        processes = [
            self._start(rank, len(logs), log, computing_s=each)
            for rank, (log, each) in enumerate(zip(logs, computing_s, strict=True))
        ]
        while _lines(logs) < len(logs):
            assert all(process.poll() is None for process in processes)
            time.sleep(0.01)
        Path(self._options["start"]).touch()
        for process in processes:
            _, err = process.communicate(timeout=240)
            assert process.returncode == 0, err.decode()
        counts = []
        for log in logs:
            lines = map(json.loads, log.read_text().splitlines())
            had = [tuple(place) for line in lines if line != "end" for place in line[0]]
            self.seen.update(had)
            counts.append(len(had))
        return counts

    def _start(self, rank: int, ranks: int, log: Path, **options: Any) -> subprocess.Popen[bytes]:
        log.unlink(missing_ok=True)
        given = {
            "topic": self._topic.name,
            "bootstrap_servers": self._topic.servers,
            "manifest": str(self._folder / "manifest"),
            "rank": rank,
            "world_size": ranks,
            "log": str(log),
            "state": self.state,
            **self._options,
            **options,
        }
        script = Path(__file__).parent / "reader_process.py"
        return subprocess.Popen([sys.executable, str(script), json.dumps(given)], stderr=subprocess.PIPE)

    def _adopt(self, logs: list[Path], ranks: int) -> None:
        """Count the samples, and combine the last saved states into one."""
        states: dict[int, dict[str, Any]] = {}
        ended, before = 0, self.seen.total()
        for rank, log in enumerate(logs):
            lines = log.read_text().splitlines(keepends=True) if log.exists() else []
            for line in lines:
                if not line.endswith("\n"):
                    continue  # killed while it was writing it
                if line == '"end"\n':
                    ended += 1
                    continue
                samples, states[rank] = json.loads(line)
                self.seen.update(map(tuple, samples))
        self.ended = ended == ranks
        self.stopped_within += self.seen.total() > before and not self.ended
        if states:
            begun = next(iter(states.values()))
            missing = (r for r in range(ranks) if r not in states)
            states |= {r: {**begun, "reader": r, "taken": 0, "readers": ranks} for r in missing}
            self.state = combine_states([self._as_of(state, rank, ranks) for rank, state in states.items()])

    def _as_of(self, state: dict[str, Any], rank: int, ranks: int) -> dict[str, Any]:
        """A rank that got nothing yet still has the state it was given."""
        if (state["reader"], state["readers"]) == (rank, ranks):
            return state
        return {**state, "reader": rank, "readers": ranks, "taken": 0}


def _lines(logs: list[Path]) -> int:
    return sum(log.read_bytes().count(b"\n") for log in logs if log.exists())


def _await_lines(logs: list[Path], lines: int, processes: list[subprocess.Popen[bytes]]) -> None:
    end_s = time.monotonic() + _TIMEOUT_S
    while _lines(logs) < lines and any(p.poll() is None for p in processes) and time.monotonic() < end_s:
        time.sleep(0.001)


def _train_through_kills(
    trainers: Trainers, kills: int, randomness: random.Random, meanwhile: Callable[[], None] = lambda: None
) -> int:
    """Kill trainers this often at random moments, then let them finish; returns how many kills fell within the
    epoch."""
    for _ in range(kills):
        if trainers.ended:
            break
        meanwhile()
        trainers.run(randomness.choice((1, 2, 4)), randomness.randrange(40))
    meanwhile()
    if not trainers.ended:
        trainers.run(3, None)
    assert trainers.seen == Counter(dict.fromkeys(_all_places(), 1))
    return trainers.stopped_within


def _all_places() -> list[tuple[int, int]]:
    counts = Counter(map(_partition, range(RECORDS)))
    return [(partition, offset) for partition, count in counts.items() for offset in range(count)]


def test_kills_neither_repeat_nor_lose_samples(make_topic: Callable[[], Topic], tmp_path: Path) -> None:
    """Readers killed with SIGKILL at random moments and resumed by 1, 2 or 4 ranks get every sample exactly once."""
    topic = make_topic()
    topic.create()
    topic.produce()
    assert _train_through_kills(Trainers(topic, tmp_path), 6, random.Random(11)) > 1


def _sweep(topic: Topic, folder: Path, seed: int, kills: int, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Epochs with kills until this many have fallen within one; in each epoch every sample comes once."""
    randomness, within, epochs = random.Random(seed), 0, 0
    while within < kills:
        epochs += 1
        assert epochs <= kills, "kills hardly ever come within an epoch"
        place = folder / str(epochs)
        place.mkdir()
        within += _train_through_kills(Trainers(topic, place), kills - within, randomness, meanwhile)


@pytest.mark.sweep
@pytest.mark.timeout(1800)
def test_fifty_kills(make_topic: Callable[[], Topic], tmp_path: Path) -> None:
    """Fifty kills between the first and the last sample of an epoch, with changing ranks."""
    topic = make_topic()
    topic.create()
    topic.produce()
    _sweep(topic, tmp_path, 12, 50)


@pytest.fixture(scope="module")
def _brokers(sandbox_home: Path) -> Iterator[Sandbox]:
    with up(SandboxSpec(brokers=3, racks=3), f"reader-dies-{os.getpid()}", home=sandbox_home) as sandbox:
        yield sandbox


@pytest.fixture
def mortal_brokers(_brokers: Sandbox) -> Sandbox:
    """Three brokers in three racks, which a test may kill: they are started again for the next one."""
    _brokers.start()
    return _brokers


def test_kills_while_a_broker_dies(mortal_brokers: Sandbox, tmp_path: Path) -> None:
    """A broker dies for good while the first trainers read, and they are killed too: still each sample once."""
    topic = Topic(mortal_brokers, "reader-dies")
    topic.create(factor=3)
    topic.produce()
    trainers = Trainers(topic, tmp_path, prefetch="1MB")
    trainers.run(2, 24, halfway=lambda: mortal_brokers.kill(3))
    _train_through_kills(trainers, 2, random.Random(16))


@pytest.mark.sweep
@pytest.mark.timeout(3600)
def test_kills_while_brokers_are_killed(make_sandbox: MakeSandbox, tmp_path: Path) -> None:
    """One broker after the other is killed and restarted before the trainers start: still each sample once."""
    sandbox = make_sandbox(SandboxSpec(brokers=4))
    topic = Topic(sandbox, "reader-kills")
    topic.create(factor=3)
    topic.produce()
    down: list[int] = []
    drawn = random.Random(13)

    def kill_one() -> None:
        for broker in down:
            sandbox.start(broker)
        down[:] = [drawn.choice((2, 3, 4))]  # broker 1 is the controller too
        sandbox.kill(*down)

    _sweep(topic, tmp_path, 14, 50, kill_one)


def test_a_slow_reader_hands_work_to_others(make_topic: Callable[[], Topic], tmp_path: Path) -> None:
    """Of four readers one computes at half speed: it gets fewer samples than each of the others, and each comes
    once."""
    topic = make_topic()
    topic.create()
    topic.produce()
    computing_s = [2 * _BATCH_S, _BATCH_S, _BATCH_S, _BATCH_S]
    trainers = Trainers(topic, tmp_path, balance="dynamic", start=str(tmp_path / "start"))
    slow, *others = trainers.run_together(computing_s)
    assert trainers.seen == Counter(dict.fromkeys(_all_places(), 1))
    assert slow < min(others)


def test_gaps_of_transactions_and_every_codec(make_topic: Callable[[], Topic]) -> None:
    """Aborted transactions are not read, committed ones each once, whatever the compression; markers are no samples."""
    topic = make_topic()
    topic.create(partitions=2)
    expected = []
    for number, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        producer = Producer(
            {"bootstrap.servers": topic.servers, "transactional.id": f"{topic.name}-{codec}", "compression.type": codec}
        )
        producer.init_transactions()
        for aborted in (False, True, False):
            producer.begin_transaction()
            values = [f"{codec} {number} {aborted} {i}" * 50 for i in range(40)]
            for i, value in enumerate(values):
                producer.produce(topic.name, value.encode(), partition=i % 2)
            producer.flush()
            if aborted:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
                expected += values
    topic.await_markers(2)
    data = topic.reader(epochs=2)
    assert not data.manifest.is_dense
    got = Counter(sample.value.decode() for sample in data)
    assert got == Counter({value: 2 * count for value, count in Counter(expected).items()})


def test_markers_beyond_the_response(make_topic: Callable[[], Topic]) -> None:
    """Of interleaved transactions only committed ones are returned, though the marker that ends one, and the records
    that began it, are in other responses than those between."""
    topic = make_topic()
    topic.create(partitions=1)
    producers = []
    for name in ("aborted", "committed"):
        producers.append(Producer({"bootstrap.servers": topic.servers, "transactional.id": f"{topic.name}-{name}"}))
        producers[-1].init_transactions()
        producers[-1].begin_transaction()
    for number in range(60):
        producers[number % 2].produce(topic.name, b"x" * 20_000, partition=0)
        producers[number % 2].flush()
    producers[0].abort_transaction()
    producers[1].commit_transaction()
    topic.await_markers(1)
    settings = ConnectionSettings(bootstrap_servers=tuple(topic.servers.split(",")))
    with KafkaCluster(settings) as cluster:
        described = cluster.describe_topic(topic.name, _TIMEOUT_S)
    assert described is not None
    fetcher = RangeFetcher(settings, topic.name, described.topic_id)
    assert fetcher.ranges() == {0: (0, 62)}
    committed = list(range(1, 60, 2))
    for length in (1, 7, 62):
        found = [
            offset
            for begin in range(0, 62, length)
            for offset, *_ in fetcher.fetch(0, begin, min(62, begin + length), length).records
        ]
        assert found == committed, length
    fetcher.close()


def test_a_topic_made_again_is_refused(make_topic: Callable[[], Topic]) -> None:
    """A topic that was deleted and created again is another data set, whatever its content."""
    topic = make_topic()
    topic.create()
    topic.produce(100)
    data = topic.reader()
    topic.delete()
    topic.create()
    topic.produce(100)
    with pytest.raises(DriftError, match="created again"):
        _places(data)
    with pytest.raises(UsageError, match="unknown topic"):
        TopicReader("nothing-of-that-name", bootstrap_servers=topic.servers)


@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_topic_deleted_while_it_is_read(make_topic: Callable[[], Topic], is_made_again: bool) -> None:
    """A topic deleted in mid-epoch, and perhaps created again, ends the reader with one line, without other records."""
    topic = make_topic()
    topic.create()
    topic.produce()
    samples = iter(topic.reader(prefetch="100kB"))
    next(samples)
    topic.delete()
    if is_made_again:
        topic.create()
        topic.produce()
    with pytest.raises(DriftError, match="created again" if is_made_again else "has been deleted since it was pinned"):
        _places(samples)


def test_records_deleted_by_retention_are_reported(make_topic: Callable[[], Topic]) -> None:
    """Records deleted since they were pinned end the reader with an error that names the offset."""
    from confluent_kafka import TopicPartition

    topic = make_topic()
    topic.create(partitions=1)
    Producer({"bootstrap.servers": topic.servers})
    producer = Producer({"bootstrap.servers": topic.servers})
    for _ in range(100):
        producer.produce(topic.name, bytes(1000), partition=0)
    producer.flush()
    data = topic.reader()
    next(iter(topic.admin.delete_records([TopicPartition(topic.name, 0, 60)]).values())).result()
    with pytest.raises(DriftError, match=r"was deleted by retention \(the log begins at 60\)"):
        _places(data)


def test_a_byte_that_changed_on_disk_is_noticed(
    make_topic: Callable[[], Topic], command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """Brokers send the log as it is; records of a damaged batch end the reading, or are left out with on_error.

    To measure readers, they are read as others are, with a warning.
    """
    topic = make_topic()
    topic.create(partitions=1, factor=1)
    producer = Producer({"bootstrap.servers": topic.servers, "batch.num.messages": 10})
    for number in range(100):
        producer.produce(topic.name, b"%03d" % number * 500, partition=0)
    producer.flush()
    logs = [path for b in (1, 2, 3) for d in topic.sandbox.log_dirs(b) for path in d.glob(f"{topic.name}-0/*.log")]
    with logs[0].open("r+b") as log:
        log.seek(log.read().index(b"050" * 10))
        log.write(b"X")
    with pytest.raises(OperationError, match=f"{topic.name}-0: offset \\d+ cannot be decoded: the batch is damaged"):
        _places(topic.reader())
    skipping = topic.reader(on_error="skip")
    values = [sample.value for sample in skipping]
    assert all(value == value[:3] * 500 for value in values)
    assert 1 <= skipping.metrics.corrupt == 100 - len(values) <= 10
    got = command("read", topic.name, "--for", "1s")
    assert got.returncode == 0
    assert f"topic {topic.name} has damaged records" in got.stderr


def test_progress_is_committed_for_others_to_see(make_topic: Callable[[], Topic]) -> None:
    """In the end the group's offsets are at the end of every partition."""
    topic = make_topic()
    topic.create()
    topic.produce(500)
    data = topic.reader(group=f"{topic.name}-group")
    _places(data)
    asked = ConsumerGroupTopicPartitions(f"{topic.name}-group")
    end_s, committed = time.monotonic() + _TIMEOUT_S, {}
    pinned = {p.partition: p.end for p in data.manifest.partitions}
    while committed != pinned and time.monotonic() < end_s:
        found = next(iter(topic.admin.list_consumer_group_offsets([asked]).values())).result()
        committed = {tp.partition: tp.offset for tp in found.topic_partitions}
        time.sleep(0.2)
    assert committed == pinned


def test_replicas_in_the_rack_are_read(make_topic: Callable[[], Topic]) -> None:
    """With a replica of every partition in each rack, no byte comes from another rack."""
    topic = make_topic()
    topic.create(factor=3)
    topic.produce()
    end_s = time.monotonic() + _TIMEOUT_S
    while True:  # a follower that does not know yet what is committed leaves the fetch to its leader
        data = topic.reader(rack="r1")
        assert len(_places(data)) == RECORDS
        if data.metrics.cross_rack_bytes <= 0.05 * sum(data.metrics.network_bytes.values()):
            break
        assert time.monotonic() < end_s, data.metrics
    assert data.metrics.network_bytes


def test_later_records_do_not_change_the_epoch(make_topic: Callable[[], Topic], tmp_path: Path) -> None:
    """A pinned topic that grows is read as it was, and a state is resumed with the matching manifest."""
    topic = make_topic()
    topic.create()
    topic.produce(500)
    manifest, state = tmp_path / "manifest", tmp_path / "state"
    data = topic.reader(manifest=manifest, state=state)
    samples = iter(data)
    first = _places(next(samples) for _ in range(123))
    data.save()
    topic.produce(500)
    rest = _places(topic.reader(manifest=manifest, state=state))
    assert len(set(first + rest)) == len(first + rest) == 500
    with pytest.raises(UsageError, match="another data set"):
        topic.reader(state=state)


def test_a_cache_spares_the_brokers(make_topic: Callable[[], Topic], tmp_path: Path) -> None:
    """Two more epochs, one of them in another process, fetch only the last few samples."""
    topic = make_topic()
    topic.create()
    topic.produce()
    first = topic.reader(cache=tmp_path)
    _places(first)
    second = topic.reader(cache=tmp_path, epochs=2)
    assert len(_places(second)) == 2 * RECORDS
    assert sum(second.metrics.network_bytes.values()) == 0


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_many_small_partitions_take_few_requests(make_topic: Callable[[], Topic], tmp_path: Path, codec: str) -> None:
    """A block has records of several partitions of several brokers, before and after the topic has grown; the state of
    two readers is resumed by three, and each record comes once."""
    topic = make_topic()
    topic.create(partitions=100)
    config: Any = {"compression.type": codec}
    topic.produce(RECORDS, lambda number: number * number % 97, **config)  # 49 of them get some
    options: Any = {"manifest": tmp_path / "manifest", "cache": tmp_path / "cache"}
    two = [topic.reader(rank=rank, world_size=2, **options) for rank in range(2)]
    assert len(two[0].manifest.blocks) == 24
    seen = [place for data in two for place in _places(islice(data, 300))]
    state = combine_states([data.state_dict() for data in two])
    topic.produce(RECORDS, lambda number: number % 100)
    for rank in range(3):
        seen += _places(topic.reader(rank=rank, world_size=3, state=state, **options))
    assert sorted(seen) == sorted(_places(topic.reader(**options)))
    assert len(set(seen)) == len(seen) == RECORDS


@pytest.fixture
def command(three_brokers: Sandbox, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run kafkabal."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "kafkabal.cli.main", *words, "--profile", str(three_brokers.profile_path)],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
        )

    return run


def test_files_come_back_bit_for_bit(
    make_topic: Callable[[], Topic], command: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """Files sent by produce, split or whole, are restored by read --to, and a reader returns them as whole samples."""
    topic = make_topic()
    topic.create()
    randomness = random.Random(2)
    for number in range(60):
        path = tmp_path / "data" / f"label{number % 3}" / f"{number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(randomness.randbytes(randomness.randrange(0, 90_000)))
    assert command("produce", topic.name, str(tmp_path / "data"), "--chunk", "20kB").returncode == 0
    for written, there in ((60, 0), (0, 60)):
        got = command("read", topic.name, "--to", str(tmp_path / "back"), "-o", "json", "-q")
        assert got.returncode == 0, got.stderr
        document = json.loads(got.stdout)
        assert (document["files_written"], document["files_already_there"]) == (written, there)
    assert _files(tmp_path / "back") == _files(tmp_path / "data")
    assert {str(s.path): s.value for s in topic.reader(count=True)} == _files(tmp_path / "data")


def _files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_readers_measure_and_follow(
    make_topic: Callable[[], Topic], command: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """Two processes report their rates, route-simulate accepts the file, and --follow prints each record once."""
    topic = make_topic()
    topic.create()
    topic.produce(600)
    training = tmp_path / "training.yaml"
    got = command("read", topic.name, "--readers", "2", "--for", "2s", "--out", str(training), "-o", "json", "-q")
    assert got.returncode == 0, got.stderr
    document = json.loads(got.stdout)
    assert [reader["samples"] > 0 for reader in document["readers"]] == [True, True]
    assert {"default"} < set(yaml.safe_load(training.read_text())["read_rate"]) <= {"default", 1, 2, 3}
    short = ("--records", "2000", "--seeds", "1")
    got = command(
        "route-simulate", "--topic", topic.name, "--storage", "measured", "--training", str(training), *short, "-q"
    )
    assert got.returncode == 0, got.stderr
    got = command("read", topic.name, "--follow", "--from-start", "--for", "1s", "-o", "json")
    lines = [json.loads(line) for line in got.stdout.splitlines()]
    assert len({(line["partition"], line["offset"]) for line in lines}) == len(lines) == 600
    assert command("read", "nothing-of-that-name").returncode == 2


def test_following_ends_once_the_reader_is_dropped(make_topic: Callable[[], Topic], three_brokers: Sandbox) -> None:
    """``read --follow | head -1`` ends even if no further record comes."""
    topic = make_topic()
    topic.create()
    topic.produce(50)
    words = ["read", topic.name, "--follow", "--from-start", "-o", "json", "--profile", str(three_brokers.profile_path)]
    with subprocess.Popen(
        [sys.executable, "-m", "kafkabal.cli.main", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as followed:
        assert followed.stdout is not None
        assert json.loads(followed.stdout.readline())["offset"] >= 0
        followed.stdout.close()
        assert followed.wait(60) == 1


def test_a_broker_that_dies_is_read_around(mortal_brokers: Sandbox) -> None:
    """With a broker killed in the middle of an epoch, its partitions are read from their new leaders, once each."""
    topic = Topic(mortal_brokers, "survivor")
    topic.create(factor=3)
    topic.produce()
    data = topic.reader(prefetch="1MB")
    got = []
    for sample in data:
        got.append((sample.partition, sample.offset))
        if len(got) == RECORDS // 3:
            mortal_brokers.kill(3)
    assert len(got) == len(set(got)) == RECORDS
