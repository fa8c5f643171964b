"""Records sent for real: a data set through kills, repetitions, and a topic that disappears."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from kafkabal.producer.sent_record_reader import SentRecordReader
from kafkabal.sandbox import Sandbox, SandboxSpec
from tests.live.conftest import MakeSandbox
from tests.live.topic_deletion import delete_topic

FILES = 1000


class Bench:
    """A topic of five partitions on three brokers, and an environment for the command."""

    def __init__(self, sandbox: Sandbox, folder: Path, topic: str) -> None:
        self.servers = sandbox.bootstrap_servers
        self.profile = str(sandbox.profile_path)
        self.topic = topic
        self.state = folder / "state"
        self.admin = AdminClient({"bootstrap.servers": self.servers})

    def create(self, **config: str) -> None:
        """Create the topic."""
        (made,) = self.admin.create_topics([NewTopic(self.topic, 5, 2, config=config)]).values()
        made.result()

    def delete(self) -> None:
        """Delete the topic."""
        delete_topic(self.servers, self.topic)

    def start(self, *words: str, stdout: IO[str] | int = subprocess.PIPE) -> subprocess.Popen[str]:
        """Start the command in a separate process."""
        return subprocess.Popen(
            [sys.executable, "-m", "kafkabal.cli.main", "produce", self.topic, *words, "--profile", self.profile],
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "XDG_STATE_HOME": str(self.state)},
        )

    def run(self, *words: str, stdin: str = "") -> tuple[int, str, str]:
        """Run the command to its end; returns exit code, stdout, stderr."""
        process = self.start(*words)
        out, err = process.communicate(stdin, timeout=120)
        return process.returncode, out, err

    def paths(self) -> Counter[bytes]:
        """How often each file is in the topic."""
        reader = SentRecordReader({"bootstrap.servers": self.servers}, self.topic)
        return Counter(dict(list(message.headers() or ()))["path"] for message in reader.messages_since({}))

    def records(self) -> int:
        """How many records the topic holds."""
        return sum(SentRecordReader({"bootstrap.servers": self.servers}, self.topic).end_offsets().values())


@pytest.fixture
def bench(three_brokers: Sandbox, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """A separate topic for each test."""
    bench = Bench(three_brokers, tmp_path, f"produce-{abs(hash(request.node.name)) % 10**8}")
    bench.create()
    yield bench
    if bench.topic in bench.admin.list_topics(timeout=10).topics:
        bench.delete()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A thousand files of 1 to 30 kB under ten labels."""
    randomness = random.Random(7)
    for i in range(FILES):
        path = tmp_path / "data" / f"label{i % 10}" / f"{i}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(randomness.randbytes(randomness.randint(1_000, 30_000)))
    return tmp_path / "data"


def test_kills_neither_lose_nor_duplicate_records(bench: Bench, data: Path) -> None:
    """A command killed with SIGKILL at three points and run again puts every file into the topic exactly once."""
    for target in (1, FILES // 4, FILES // 2):
        process = bench.start(str(data), "--producer-config", "linger.ms=1")
        end = time.monotonic() + 60
        while bench.records() < target and process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        process.kill()
        process.communicate()
    code, out, err = bench.run(str(data))
    assert code == 0, err
    assert bench.paths() == Counter({str(p.relative_to(data)).encode(): 1 for p in data.rglob("*.bin")})
    code, out, err = bench.run(str(data), "-o", "json")
    assert (code, '"records_already_there":1000' in out.replace(" ", "")) == (0, True)


def test_an_interrupted_run_prints_how_to_continue(bench: Bench, data: Path) -> None:
    """SIGINT ends the run with 130 and a hint; what was sent is not sent again."""
    process = bench.start(str(data))
    while not bench.records() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(2)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "run the same command again to continue" in err
    assert bench.run(str(data))[0] == 0
    assert set(bench.paths().values()) == {1}
    assert bench.records() == FILES


def test_oversize_files_are_refused_then_split(bench: Bench, data: Path) -> None:
    """A file larger than the topic accepts is named before anything is sent; with --chunk it is sent in parts."""
    (data / "label0" / "large.bin").write_bytes(bytes(3_000_000))
    code, _, err = bench.run(str(data))
    assert (code, "large.bin (3000" in err, bench.records()) == (2, True, 0)
    assert bench.run(str(data), "--chunk", "1MB")[0] == 0
    assert bench.paths()[b"label0/large.bin"] == 3


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_records_that_were_sent_are_not_a_failure_if_nobody_can_read_the_report(bench: Bench) -> None:
    """A cron job whose log is full must not send them again, or raise an alarm, because of it."""
    with open("/dev/full", "w") as full:  # noqa: PTH123
        process = bench.start("-", "--format", "text", stdout=full)
        _, err = process.communicate("a\nb\n", timeout=120)
    assert process.returncode == 0
    assert "cannot write the output: No space left on device" in err
    assert bench.records() == 2


def test_brokers_end_even_with_records_of_all_sizes(make_sandbox: MakeSandbox, tmp_path: Path) -> None:
    """Rows of 0.1 to 20 kB into an empty topic: the fullest of four brokers gets 1.005 of the mean at most."""
    sandbox = make_sandbox(SandboxSpec(brokers=4), "even")
    bench = Bench(sandbox, tmp_path, "rows")
    (made,) = bench.admin.create_topics([NewTopic("rows", 8, 1)]).values()
    made.result()
    randomness = random.Random(5)
    rows = tmp_path / "rows.jsonl"
    with rows.open("w") as file:
        for _ in range(20_000):
            file.write(json.dumps("x" * int(min(20_000, randomness.lognormvariate(6.5, 0.8)))) + "\n")
    code, out, err = bench.run(str(rows), "--no-manifest", "-o", "json")
    assert code == 0, err
    sent = [broker["sent_bytes"] for broker in json.loads(out)["brokers"]]
    assert max(sent) <= 1.005 * sum(sent) / len(sent), sent


def test_standard_input_with_keys(bench: Bench) -> None:
    """Rows from a pipe arrive with their keys; a policy that breaks their order is refused unless allowed."""
    rows = "".join(f'{{"user":"u{i % 50}","n":{i}}}\n' for i in range(5000))
    code, _, err = bench.run("-", "--key", "user", stdin=rows)
    assert (code, "--any-key-order" in err) == (2, True)
    code, _, err = bench.run("-", "--key", "user", "--policy", "key-hash", stdin=rows)
    assert code == 0, err
    reader = SentRecordReader({"bootstrap.servers": bench.servers}, bench.topic)
    partitions: dict[bytes, set[int]] = {}
    for message in reader.messages_since({}):
        partitions.setdefault(message.key() or b"", set()).add(message.partition() or 0)
    assert len(partitions) == 50
    assert {len(found) for found in partitions.values()} == {1}


def test_a_recreated_topic_is_not_mistaken_for_the_old_one(bench: Bench, data: Path) -> None:
    """The manifest of a deleted topic is not used for a new one of the same name: everything is sent to it."""
    manifest = str(data.parent / "manifest.jsonl")
    assert bench.run(str(data), "--manifest", manifest)[0] == 0
    bench.delete()
    bench.create()
    code, _, err = bench.run(str(data), "--manifest", manifest)
    assert (code, "manifest of an earlier topic" in err, bench.records()) == (2, True, 0)
    assert bench.run(str(data))[0] == 0
    assert bench.records() == FILES


def test_a_dead_broker_does_not_stop_a_run_that_the_others_serve(make_sandbox: MakeSandbox, tmp_path: Path) -> None:
    """A broker is killed during the run, which survives several topic checks, and every record is there once."""
    with make_sandbox(SandboxSpec(brokers=3, racks=0), "produce") as sandbox:
        bench = Bench(sandbox, tmp_path, "images")
        bench.create()
        process = bench.start("-", "--format", "text", "--producer-config", "linger.ms=1")
        assert process.stdin is not None
        for number in range(160):
            process.stdin.write(f"{number}\n")
            process.stdin.flush()
            time.sleep(0.1)
            if number == 20:
                sandbox.kill(3)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        reader = SentRecordReader({"bootstrap.servers": bench.servers}, bench.topic)
        found = Counter(message.value() for message in reader.messages_since({}))
        assert found == Counter(str(number).encode() for number in range(160))


def test_a_topic_deleted_during_the_run_stops_it(bench: Bench) -> None:
    """Records are sent neither to a deleted topic nor to one that a broker auto-creates in its place."""
    process = bench.start("-", "--format", "text", "--producer-config", "linger.ms=1")
    stdin = process.stdin
    assert stdin is not None

    def feed(holds: Callable[[], bool]) -> None:
        give_up_at = time.monotonic() + 150
        with suppress(BrokenPipeError):
            while holds() and process.poll() is None and time.monotonic() < give_up_at:
                stdin.write("a record\n")
                stdin.flush()
                time.sleep(0.02)

    # rows come for as long as the run reads them: it cannot finish before the topic is gone
    feed(lambda: not bench.records())
    bench.delete()
    feed(lambda: True)
    with suppress(BrokenPipeError):
        stdin.close()
    process.stdin = None
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    assert "was deleted under way" in err or "is gone" in err
    assert "records sent by this run" in err
