"""The simulator's prediction for a topic, compared with its log dirs after the same files were sent."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafkabal.sandbox import Sandbox

_TOPIC, _OTHER_TOPIC = "foretold", "held"
_HELD_BYTES = 1_500_000
_WRITTEN_BYTES = 4_600_000
"""By two replicas of the data set, with headers."""


def test_log_dirs_hold_the_predicted_bytes(three_brokers: Sandbox, tmp_path: Path) -> None:
    """Small files, whose headers take as many bytes as they do, make each broker's log dirs grow as predicted, though
    one broker is ahead by as much as it would get.

    Within 4 %, or 2 % of all that is written for a broker that gets little."""
    randomness = random.Random(7)
    for number in range(6000):
        path = tmp_path / "data" / f"label{number % 10}" / f"{number}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(randomness.randbytes(randomness.randint(50, 400)))
    workload = tmp_path / "w.yaml"
    workload.write_text("rate: 1MB/s\ntransport: {batch: 1MB, linger: 5ms}\n")
    admin = AdminClient({"bootstrap.servers": three_brokers.bootstrap_servers})
    topics = [NewTopic(_TOPIC, 6, 2), NewTopic(_OTHER_TOPIC, 1, replica_assignment=[[3]])]
    for created in admin.create_topics(topics).values():
        created.result()
    filler = Producer({"bootstrap.servers": three_brokers.bootstrap_servers})
    filler.produce_batch(_OTHER_TOPIC, [{"value": randomness.randbytes(_HELD_BYTES // 30)}] * 30)
    assert filler.flush(30) == 0

    def run(*words: str) -> Any:
        whole = [sys.executable, "-m", "kafkabal.cli.main", *words, "--profile", str(three_brokers.profile_path)]
        environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
        done = subprocess.run(
            [*whole, "-o", "json"], capture_output=True, text=True, env=environment, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def held() -> dict[int, int]:
        return {row["broker"]: row["used_bytes"] for row in run("inspect", "--by", "broker")["brokers"]}

    before = held()
    asked = ("--topic", _TOPIC, "--data", str(tmp_path / "data"), "--workload", str(workload), "--policy", "score")
    foretold = {row["broker"]: row["written_bytes"] for row in run("route-simulate", *asked)["brokers"]}
    run("produce", _TOPIC, str(tmp_path / "data"), "--policy", "score", "--producer-config", "linger.ms=5")
    grown = {broker: used - before[broker] for broker, used in held().items()}
    assert grown == pytest.approx(foretold, rel=0.04, abs=0.02 * _WRITTEN_BYTES)
