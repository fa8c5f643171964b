"""The nightly cron job, unattended for a simulated month on a failing cluster: the resulting state, and its mails."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from kafkabal.errors import ExitCode
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.kafka_configs import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition
from kafkabal.units import DAY_S
from kafkabal.watch.simulation.simulated_scene import SimulatedScene
from kafkabal.watch.simulation.simulation_case import HOUR_S, BrokerFault, GrowthTrend, SimulationCase
from tests.cli.simulated import simulate

LINE = ("rebalance", "--yes", "-q", "--window", "01:00-05:00", "--throttle", "50MB/s")
DAYS = 30
AT_NIGHT_S = 1.0 * HOUR_S
BROKERS = 6
THROTTLES = {LEADER_RATE, FOLLOWER_RATE, LEADER_REPLICAS, FOLLOWER_REPLICAS}
PERIODS = range(2, 26, 4)
DROPPED_ON, OVERLAPS_ON, FULL_ON = 8, 12, 17


def _scene() -> SimulatedScene:
    """Six brokers in three racks; every other day one dies, in the evening or during the nightly run."""
    source = np.random.default_rng(5)
    rows = [
        partition(n, [(n + i) % BROKERS + 1 for i in range(2)], int(source.lognormal(np.log(3 * GB), 0.6)))
        for n in range(48)
    ]
    # dead from the evening on: the first night that sees this waits for ten minutes and repairs
    evenings = [BrokerFault(broker=_dying(d), at_s=(d + 20 / 24) * DAY_S, for_s=30 * HOUR_S) for d in PERIODS]
    nights = [
        BrokerFault(broker=(d // 4 + 3) % BROKERS + 1, at_s=(d + 3) * DAY_S + AT_NIGHT_S + 600.0, for_s=3 * HOUR_S)
        for d in PERIODS
    ]
    faults = (*evenings, *nights)
    case = SimulationCase(step_s=HOUR_S, growth=GrowthTrend(per_day=0.01, spread=1.0, noise=0.3))
    return SimulatedScene(cluster(brokers(BROKERS, racks=3), [TopicRow(topic="t", partitions=rows)]), case, faults)


def _dying(day: int) -> int:
    """The broker that dies on the evening of a given day."""
    return day // 4 % BROKERS + 1


def _once_moving(scene: SimulatedScene, action: Callable[[], Any]) -> None:
    """Run an action once reassignments are in flight."""

    def look() -> None:
        if scene.kafka.parts.moving:
            action()
        else:
            scene.clock.at(scene.clock.monotonic() + 20.0, look)

    scene.clock.at(scene.clock.monotonic() + 20.0, look)


@pytest.fixture
def terminal_that_closes() -> Iterator[None]:
    """Simulate a process without a SIGHUP handler, such as this test's, which the signal would end."""
    before = signal.signal(signal.SIGHUP, lambda *_: None)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("terminal_that_closes")
def test_a_month_of_nights(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The month ends balanced, repaired and without throttles; runs with exit 0 sent no mail, all others say what to
    do."""
    scene = _scene()
    simulation = simulate(scene.cluster, run_cli, monkeypatch)
    codes, mails = [], []
    overlapping: list[int] = []

    def night(**world: Any) -> None:
        done = simulation.run(*LINE, **world)
        codes.append(done.code)
        if done.out or done.err:
            mails.append((done.code, done.out + done.err))

    disk = scene.kafka.parts.brokers[2].log_dirs["/d0"]
    for day in range(DAYS):
        scene.clock.sleep(day * DAY_S + AT_NIGHT_S - scene.clock.monotonic())
        if day == DROPPED_ON:
            _once_moving(scene, lambda: signal.raise_signal(signal.SIGHUP))
        elif day == OVERLAPS_ON:
            _once_moving(scene, lambda: overlapping.append(simulation.run(*LINE).code))
        elif day == FULL_ON:
            disk.other_bytes = int(disk.total_bytes * 0.9)
        elif day == FULL_ON + 2:
            disk.other_bytes = 0
        night()
        if day - 1 in PERIODS:
            held = [p.name for p in scene.kafka.catch_up().partitions() if _dying(day - 1) in p.replicas]
            assert held == [], f"not repaired in the first night: {mails[-1:]}"

    parts = scene.kafka.catch_up()
    assert not parts.moving
    assert all(sorted(p.isr) == sorted(p.replicas) for p in parts.partitions())
    assert not [b.id for b in parts.brokers.values() if THROTTLES & b.own_configs.keys()]
    assert not [t.name for t in parts.topics.values() if THROTTLES & t.configs.keys()]
    assert simulation.run("inspect", "--check").code == ExitCode.DONE
    assert overlapping == [ExitCode.BUSY]
    assert codes.count(ExitCode.TERMINATED) == 1
    assert set(codes) <= {ExitCode.DONE, ExitCode.FAILED, ExitCode.FINDINGS, ExitCode.UNSAFE, ExitCode.TERMINATED}
    assert all(code and mail.startswith("kafkabal") and "bug" not in mail for code, mail in mails), mails
    for _, mail in mails:
        lines = [line.strip().removeprefix("kafkabal: warning: ") for line in mail.splitlines()]
        assert len(lines) == len(set(lines)), mail
        assert sum("hint: " in line for line in lines) == 1, mail
        assert not [line for line in lines if "remains at" in line], mail
