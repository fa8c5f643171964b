"""Our plans in Kafka's own tool, and the rollback plan that a run writes."""

from __future__ import annotations

from pathlib import Path

from kafkabal.clusters.config_items import ConfigResource, ConfigSource, ResourceKind
from kafkabal.model.kafka_configs import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE
from kafkabal.plan.plan_file import write_plan
from tests.live.executor.broker_links import BrokerLinks
from tests.live.executor.stage import Stage


def _ask(stage: Stage, plan: Path, *words: str) -> str:
    """Run Kafka's tool on a plan; returns its output."""
    ran = stage.sandbox.kafka_tool("ReassignPartitionsCommand", "--reassignment-json-file", str(plan), *words)
    assert ran.exit_code == 0, ran
    return ran.stdout


def test_kafkas_tool_takes_plans_of_ours(stage: Stage) -> None:
    """Kafka's tool reports a completed run as complete, applies the rollback plan, and returns every replica."""
    plan = stage.folder / "plan.json"
    write_plan(stage.plan, plan)
    stage.finish("apply")
    verified = _ask(stage, plan, "--verify", "--preserve-throttles")
    assert verified.count("is completed") == len(stage.plan.partitions)
    way_back = max(stage.journals()).with_suffix(".rollback.json")
    started = _ask(stage, way_back, "--execute")
    assert "Successfully started partition reassignment" in started
    stage.until(lambda: not stage.in_flight())
    stage.until(
        lambda: (
            {n: (r, d) for n, (r, _, d) in stage.placement().items()}
            == {n: (r, d) for n, (r, _, d) in stage.start.items()}
        )
    )
    # its throttles would stay until somebody runs --verify: our run finds none, and leaves none
    stage.assert_configs(stage.configs)


def test_throttles_that_kafkas_tool_clears_are_set_again(linked_stage: Stage, links: BrokerLinks) -> None:
    """The tool clears throttles of all brokers and of its topic, even if nothing is in flight; they are set again."""
    stage = linked_stage
    plan = stage.folder / "plan.json"
    write_plan(stage.plan_of(stage.moving(3)), plan)
    process = stage.begin(stage.slow)
    stage.until(lambda: stage.in_flight(stage.moving(0)))
    # a copy without a throttle would complete before it is observed; the run began with the link, as Kafka does not let
    # it have its lock while a follower of the lock's group is cut off
    with links.cut(1, 4):
        cancelled = _ask(stage, plan, "--cancel")
        assert "None of the specified partition moves are active" in cancelled
        assert "Clearing broker-level throttles on brokers 1,2,3,4" in cancelled
        assert f"Clearing topic-level throttles on topic {stage.moves}" in cancelled
        stage.soon(lambda: _assert_is_throttled(stage))
        assert stage.in_flight(stage.moving(0))
    stage.hasten()
    code, said = process.end()
    assert code == 0, said
    stage.soon(lambda: _assert_no_throttle(stage))  # the operator's were removed with them


def _assert_is_throttled(stage: Stage) -> None:
    """The largest move is throttled."""
    found = stage.found_configs()
    ours = {
        (ConfigResource(ResourceKind.BROKER, "1"), LEADER_RATE): "100000",
        (ConfigResource(ResourceKind.BROKER, "4"), FOLLOWER_RATE): "100000",
    }
    assert {(of, key): value.value for of, key in ours if (value := found[of].get(key))} == ours
    listed = found[ConfigResource(ResourceKind.TOPIC, stage.moves)][FOLLOWER_REPLICAS].value
    assert "0:4" in (listed or "").split(",")


def test_throttles_of_kafkas_tool_are_named_and_removed(stage: Stage) -> None:
    """Once its reassignments are adopted and completed, its throttles are named, and one command deletes them."""
    plan = stage.folder / "plan.json"
    write_plan(stage.plan, plan)
    _ask(stage, plan, "--execute", "--throttle", "100000")
    stage.until(stage.in_flight)
    rates = ("--throttle", "50MB", "--override-throttle")
    adopted = stage.command("adopt", "--finish", "--yes", *rates)
    assert adopted.returncode == 0, adopted.stderr
    assert not stage.in_flight()
    assert "that kafkabal did not set remain on broker 1, broker 2, broker 3, broker 4" in adopted.stderr
    assert "'kafkabal rebalance repair --remove' deletes them" in adopted.stderr
    removed = stage.command("repair", "--remove", "--yes")
    assert removed.returncode == 0, removed.stderr
    stage.soon(lambda: _assert_no_throttle(stage))


def _assert_no_throttle(stage: Stage) -> None:
    found = {
        at: value.value
        for at, values in stage.found_configs().items()
        for value in values.values()
        if value.source is ConfigSource.OWN and value.value
    }
    assert found == {}
