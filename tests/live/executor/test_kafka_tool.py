"""Our plans in Kafka's own tool, and the rollback plan that a run writes."""

from __future__ import annotations

from kafkabal.plan.plan_file import write_plan
from tests.live.executor.stage import Stage


def test_kafkas_tool_takes_plans_of_ours(stage: Stage) -> None:
    """Kafka's tool reports a completed run as complete, applies the rollback plan, and returns every replica."""
    plan = stage.folder / "plan.json"
    write_plan(stage.plan, plan)
    stage.finish("apply")
    verified = stage.run_kafkas_tool(plan, "--verify", "--preserve-throttles")
    assert verified.count("is completed") == len(stage.plan.partitions)
    way_back = max(stage.journals()).with_suffix(".rollback.json")
    started = stage.run_kafkas_tool(way_back, "--execute")
    assert "Successfully started partition reassignment" in started
    stage.until(lambda: not stage.in_flight())
    stage.until(
        lambda: (
            {n: (r, d) for n, (r, _, d) in stage.placement().items()}
            == {n: (r, d) for n, (r, _, d) in stage.start.items()}
        )
    )
    # its throttles would stay until --verify is run: our run finds none, and leaves none
    stage.assert_configs(stage.configs)


def test_throttles_of_kafkas_tool_are_named_and_removed(stage: Stage) -> None:
    """Once its reassignments are adopted and completed, its throttles are named, and one command deletes them."""
    plan = stage.folder / "plan.json"
    write_plan(stage.plan, plan)
    stage.run_kafkas_tool(plan, "--execute", "--throttle", "100000")
    stage.until(stage.in_flight)
    rates = ("--throttle", "50MB", "--override-throttle")
    adopted = stage.command("adopt", "--finish", "--yes", *rates)
    assert adopted.returncode == 0, adopted.stderr
    assert not stage.in_flight()
    assert "that kafkabal did not set remain on broker 1, broker 2, broker 3, broker 4" in adopted.stderr
    assert "'kafkabal rebalance repair --remove" in adopted.stderr
    removed = stage.command("repair", "--remove", "--yes")
    assert removed.returncode == 0, removed.stderr
    stage.soon(stage.assert_no_throttle)
