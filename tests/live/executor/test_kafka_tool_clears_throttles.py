"""Kafka's own tool clears throttles while a run needs them."""

from __future__ import annotations

from kafkabal.clusters.config_items import ConfigResource, ResourceKind
from kafkabal.model.kafka_configs import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE
from kafkabal.plan.plan_file import write_plan
from tests.live.executor.broker_links import BrokerLinks
from tests.live.executor.hosts import Process
from tests.live.executor.stage import Stage


def test_throttles_that_kafkas_tool_clears_are_set_again(linked_stage: Stage, links: BrokerLinks) -> None:
    """The tool clears throttles of all brokers and of its topic, even if nothing is in flight; they are set again."""
    stage = linked_stage
    plan = stage.folder / "plan.json"
    write_plan(stage.plan_of(stage.moving(3)), plan)
    process = stage.begin(stage.slow)
    stage.until(lambda: stage.in_flight(stage.moving(0)))
    # a copy without a throttle would complete before it is observed; the run began with the link, as Kafka does not let
    # it have its lock while a follower of the lock's group is cut off. Cut from both replicas: on a busy machine
    # the leader may be fenced, and the copy would go on from the other one
    with links.cut(1, 4), links.cut(2, 4):
        cancelled = stage.run_kafkas_tool(plan, "--cancel")
        assert "None of the specified partition moves are active" in cancelled
        assert "Clearing broker-level throttles on brokers 1,2,3,4" in cancelled
        assert f"Clearing topic-level throttles on topic {stage.moves}" in cancelled
        stage.soon(lambda: _assert_is_throttled(stage, process))
        assert stage.in_flight(stage.moving(0))
    stage.hasten()
    code, said = process.end()
    assert code == 0, said
    stage.soon(stage.assert_no_throttle)  # the operator's were removed with them


def _assert_is_throttled(stage: Stage, process: Process) -> None:
    """The largest move is throttled; if not, the output of the run and what is in flight say why."""
    found = stage.found_configs()
    ours = {
        (ConfigResource(ResourceKind.BROKER, "1"), LEADER_RATE): "100000",
        (ConfigResource(ResourceKind.BROKER, "4"), FOLLOWER_RATE): "100000",
    }
    assert {(of, key): value.value for of, key in ours if (value := found[of].get(key))} == ours, (
        f"in flight: {stage.in_flight(stage.moving(0))}; the run: {process.said.read_text()}"
    )
    listed = found[ConfigResource(ResourceKind.TOPIC, stage.moves)][FOLLOWER_REPLICAS].value
    assert "0:4" in (listed or "").split(",")
