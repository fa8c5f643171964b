"""Kafka's own partitioner, run from the sandbox's jars, as the reference for ours."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from kafkabal.routing.broker_first_policy import InFlight
from kafkabal.routing.key_hashes import KeyTable, key_partition, murmur2
from kafkabal.routing.policies.adaptive import AdaptiveState, draw, learn, pick_kernel
from kafkabal.sandbox.jars import ensure_jars, ensure_java_compiler
from kafkabal.sandbox.java_programs import java_binary
from kafkabal.sandbox.sandbox_home import default_cache
from kafkabal.sandbox.sandbox_spec import DEFAULT_KAFKA_VERSION

Ask = Callable[[Sequence[str]], list[str]]

SOURCE = Path(__file__).parent / "java" / "org"
MAIN = "org.apache.kafka.clients.producer.internals.PartitionerAnswers"
NOW_S = 100.0
TIMEOUT_S = 1.0


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Queries to Kafka's classes, one per line."""
    folder = tmp_path_factory.mktemp("answers")
    class_path = ":".join(map(str, ensure_jars(DEFAULT_KAFKA_VERSION, default_cache())))
    java, compiler = str(java_binary()), str(ensure_java_compiler(default_cache()))
    compiled = [java, "-jar", compiler, "-17", "-nowarn", "-cp", class_path, "-d", str(folder), str(SOURCE)]
    subprocess.run(compiled, check=True, timeout=60)

    def answers(questions: Sequence[str]) -> list[str]:
        run = [java, "-cp", f"{class_path}:{folder}", MAIN]
        done = subprocess.run(run, input="\n".join(questions), capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.splitlines()

    return answers


def test_keys_go_where_kafka_puts_them(ask: Ask) -> None:
    """For ten thousand random keys, the hash, singly and in bulk, and the partition match Kafka's classes."""
    randomness = random.Random(1)
    keys = [randomness.randbytes(randomness.randint(0, 70)) for _ in range(10_000)]
    counts = [randomness.randint(1, 5000) for _ in keys]
    found = ask([f"key {key.hex()} {n}" for key, n in zip(keys, counts, strict=True)])
    assert found == [f"{murmur2(key)} {key_partition(key, n)}" for key, n in zip(keys, counts, strict=True)]
    assert [int(line.split()[0]) for line in found] == KeyTable.of(keys).murmur2().tolist()


def test_queues_weigh_as_in_kafka(ask: Ask) -> None:
    """For a thousand random tables of queues, some incomplete, each random number gives Kafka's choice."""
    randomness = random.Random(2)
    questions, expected = [], []
    for _ in range(1000):
        n = randomness.randint(2, 40)
        queues = [randomness.choice((0, randomness.randint(0, 30))) for _ in range(n)]
        left = sorted(randomness.sample(range(n), randomness.choice((n, randomness.randint(1, n)))))
        kept = [queues[partition] for partition in left]
        end = sum(max(kept) + 1 - queue for queue in kept)
        drawn = [randomness.randrange(end) for _ in range(10)]
        padded = kept + [0] * (n - len(kept))
        questions.append(f"load {listed(padded)} {listed(left)} {len(left)} {listed(drawn)}")
        state = loaded(queues, left)
        picks = [draw(state, (number + 0.5) / end, NOW_S) for number in drawn]
        expected.append(f"{end} {listed(picks)}")
    assert ask(questions) == expected


def test_batches_close_as_in_kafka(ask: Ask) -> None:
    """Records of random sizes change the partition after the same record as in Kafka's classes."""
    randomness = random.Random(3)
    questions, expected = [], []
    for _ in range(200):
        n, batch_bytes = randomness.randint(1, 12), randomness.randint(1, 20_000)
        sizes = [randomness.randint(1, 9000) for _ in range(50)]
        drawn = [randomness.randrange(2**31) for _ in range(51)]
        questions.append(f"sticky {batch_bytes} {n} {listed(sizes)} {listed(drawn)}")
        expected.append(listed(stuck(n, batch_bytes, sizes, drawn)))
    assert ask(questions) == expected


def loaded(queues: Sequence[int], left: Sequence[int]) -> AdaptiveState:
    """A broker per partition, with this many queued one-byte batches; excluded partitions have not responded."""
    state = empty(len(queues), 1)
    state.pending_bytes[:] = queues
    state.in_flight.pending[:] = [1] * len(queues)
    state.moved_s[:] = [NOW_S if partition in left else 0.0 for partition in range(len(queues))]
    return state


def stuck(n: int, batch_bytes: int, sizes: Sequence[int], drawn: Sequence[int]) -> list[int]:
    """Partitions that our policy picks when everything is acknowledged at once."""
    state, numbers, picks = empty(n, batch_bytes), iter(drawn), []
    for size in sizes:
        # opening a batch takes one random number
        number = next(numbers) if state.current[1] <= 0 else 0
        picks.append(pick_kernel(state, size, [-1], [(number % n + 0.5) / n], NOW_S))
        learn(state, picks[-1], size, 0.001, NOW_S)
    return picks


def empty(n: int, batch_bytes: int) -> AdaptiveState:
    """The state of the policy before the first record."""
    return AdaptiveState(
        available=list(range(n)),
        in_flight=InFlight(list(range(n)), [0] * n, [0] * n, list(range(n))),
        pending_bytes=[0] * n,
        moved_s=[NOW_S] * n,
        current=[0, 0],
        batch_bytes=[batch_bytes],
        timeout_s=[TIMEOUT_S],
    )


def listed(numbers: Sequence[int]) -> str:
    """Numbers separated by commas."""
    return ",".join(map(str, numbers))
