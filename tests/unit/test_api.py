"""The Python API, tested by running what ``docs/python.md`` shows."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

import kafkabal
from kafkabal.api import ClusterConnection
from kafkabal.clusters.clock import Clock
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.config.settings import Settings
from kafkabal.errors import ConfigError, UnsafeError, UsageError
from kafkabal.executor.safety.overridable_check_names import Overridable
from kafkabal.model.cluster_state import ClusterState
from kafkabal.testing.cluster_builders import brokers, cluster, topic

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.fixture
def state() -> ClusterState:
    """Six brokers in three racks, three of which hold everything."""
    return cluster(brokers(6, racks=3), [topic("clicks", *[(1, 2, 3), (2, 3, 1), (3, 1, 2)] * 8)])


def test_the_page_runs_from_top_to_bottom(
    state: ClusterState, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every example of the page runs against a simulated cluster, and the plan that it applies takes effect."""
    clock = FakeClock()
    live = InMemoryCluster.of(state, clock)
    applied = partial(kafkabal.apply_plan, clock=_as_clock(clock), state_dir=tmp_path / "runs")
    monkeypatch.setattr(kafkabal, "connect", lambda *_, **__: ClusterConnection(live, Settings()))
    monkeypatch.setattr(kafkabal, "apply_plan", applied)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"Path": Path}

    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        if "Producer" in block or "TopicReader" in block:
            compile(block, str(PAGE), "exec")  # they need live brokers; tests of the producer and the reader run them
            continue
        exec(block.replace('"images"', '"clicks"' if "simulate" in block else '"images"'), names)

    held = np.bincount(kafkabal.connect().read().replicas.broker, minlength=6)
    assert held.min() >= 9
    assert "6 brokers" in capsys.readouterr().out
    assert (tmp_path / "plan.json").is_file()


def test_a_cluster_must_be_named() -> None:
    """Without an address the error says what to set."""
    with pytest.raises(ConfigError, match="no cluster"):
        kafkabal.connect()


def test_an_unknown_score_is_refused(state: ClusterState) -> None:
    """A misspelt score is a usage error, not a cluster without scores."""
    with pytest.raises(UsageError, match="dusk"):
        kafkabal.make_plan(state, scores=["dusk"])


def test_the_names_of_the_stub_exist() -> None:
    """Every name that type checkers see can be imported."""
    assert all(callable(getattr(kafkabal, name)) for name in kafkabal.__all__)


def _as_clock(clock: FakeClock) -> Clock:
    return clock


def test_omitted_arguments_come_from_the_environment(
    state: ClusterState, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A script and a command with the same environment use the same cluster."""
    kafkabal.write_snapshot(state, tmp_path / "cluster.jsonl")
    monkeypatch.setenv("KAFKABAL_SNAPSHOT", str(tmp_path / "cluster.jsonl"))
    with kafkabal.connect() as cluster:
        assert len(cluster.read().brokers) == 6


def test_a_cluster_is_read_without_its_controller(state: ClusterState) -> None:
    """As reports do: which reassignments are in flight is unknown, which is a warning, and a dead broker is another."""
    live = InMemoryCluster.of(state, FakeClock())
    live.kafka.parts.controller_responds = False
    live.kafka.parts.brokers[2].hung_since_s = 0.0
    with pytest.warns(UserWarning, match="did not respond|are unknown") as warned:
        found = ClusterConnection(live, Settings()).read()
    assert [str(warning.message) for warning in warned] == [
        "broker 2: broker 2 did not respond",
        "reassignments in flight are unknown: no controller responded within 10 s",
    ]
    assert (len(found.brokers), found.reassignments_known) == (6, False)
    assert {warning.filename for warning in warned} == {__file__}


def test_a_run_on_a_snapshot_is_no_run_of_the_cluster(
    state: ClusterState, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its journal is where the commands keep those of snapshots: a rollback of the live cluster must not find it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    kafkabal.write_snapshot(state, tmp_path / "cluster.jsonl")
    with kafkabal.connect(snapshot=tmp_path / "cluster.jsonl", save_to=tmp_path / "after.jsonl") as cluster:
        kafkabal.apply_plan(cluster, kafkabal.make_plan(cluster.read()))

    assert [path.parents[1].name for path in tmp_path.rglob("*/*/*.jsonl")] == ["snapshot-runs"]


def test_a_plan_is_checked_before_it_is_applied(state: ClusterState, tmp_path: Path) -> None:
    """As with the command, reassignments of another tool stop a run unless that check is allowed by its name."""
    clock = FakeClock()
    live = InMemoryCluster.of(state, clock)
    whole = kafkabal.make_plan(state)
    plan = structs.replace(whole, partitions=whole.partitions[:1])
    names = map(state.topic_partition, range(len(state.partitions)))
    live.alter_reassignments({next(name for name in names if name != plan.partitions[0].name): (4, 5, 6)})
    applied = partial(
        kafkabal.apply_plan, ClusterConnection(live, Settings()), plan, clock=_as_clock(clock), state_dir=tmp_path
    )
    with pytest.raises(UnsafeError, match="1 other reassignment in flight"):
        applied()
    assert live.lock_holders() == ()
    result = applied(allow=[Overridable.OTHER_REASSIGNMENTS])
    assert result is not None
    assert result.is_complete
