"""Drained brokers get no new replicas meanwhile, if the cluster can cordon them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.clusters.cluster_protocol import Capability
from kafkabal.errors import UnreachableError
from kafkabal.executor.execute_run import apply, cancel, repair_run, resume, roll_back
from kafkabal.executor.run_events import Warned
from kafkabal.executor.state.run_states import RunOutcome
from kafkabal.model.kafka_configs import CORDONED_LOG_DIRS
from kafkabal.plan.plan import Plan

_DRAINED = 1


@pytest.fixture
def draining(scene: Any) -> Any:
    """The scene's plan, as one that drains a broker whose log dirs can be cordoned."""
    changes = tuple(c for c in scene.plan.partitions if _DRAINED not in c.replicas)
    scene.plan = Plan(partitions=changes, cluster_id="simulated", options={"drain": [_DRAINED]})
    scene.memory.kafka.parts.brokers[_DRAINED].static_configs[CORDONED_LOG_DIRS] = ""
    return scene


def _cordon(scene: Any) -> str | None:
    value: str | None = scene.memory.kafka.parts.brokers[_DRAINED].own_configs.get(CORDONED_LOG_DIRS)
    return value


def test_a_drained_broker_is_cordoned_before_anything_moves_and_stays_so(draining: Any) -> None:
    """The first change of the run is the cordon, which is still there once the broker is empty."""
    apply(draining.environment(), draining.plan, draining.options)
    changes = [c for c in draining.faulty.calls if c.method in ("alter_configs", "alter_reassignments")]
    assert [(x.key, x.value) for x in changes[0].arguments[0]] == [(CORDONED_LOG_DIRS, "*")]
    assert _cordon(draining) == "*"


@pytest.mark.parametrize("before", [None, "/d1"])
@pytest.mark.parametrize("way", [cancel, roll_back])
def test_the_earlier_value_is_restored(draining: Any, way: Any, before: str | None) -> None:
    """After a crash, a rollback or cancel leaves the config as it was found."""
    own = draining.memory.kafka.parts.brokers[_DRAINED].own_configs
    if before is not None:
        own[CORDONED_LOG_DIRS] = before
    environment = draining.crash_before("alter_reassignments")
    assert _cordon(draining) == "*"
    way(environment)
    assert _cordon(draining) == before


def test_a_resumed_run_cordons_again(draining: Any) -> None:
    """A cordon that was restored, or never set, is set before the run continues."""
    environment = draining.crash_before("alter_configs")
    assert _cordon(draining) is None
    resume(environment)
    assert _cordon(draining) == "*"


def test_a_value_set_by_another_tool_is_kept(draining: Any) -> None:
    """A rollback leaves a cordon that is no longer ours."""
    apply(draining.environment(), draining.plan, draining.options)
    draining.memory.kafka.parts.brokers[_DRAINED].own_configs[CORDONED_LOG_DIRS] = "/d0"
    roll_back(draining.environment())
    assert _cordon(draining) == "/d0"


def test_clusters_that_cannot_cordon_are_drained_all_the_same(draining: Any) -> None:
    """A broker without that config gets no request, nor does one whose configs may not be read."""
    del draining.memory.kafka.parts.brokers[_DRAINED].static_configs[CORDONED_LOG_DIRS]
    apply(draining.environment(), draining.plan, draining.options)
    assert _cordon(draining) is None
    draining.assert_as_planned()


def test_a_plan_that_drains_nothing_cordons_nothing(draining: Any) -> None:
    """Only --drain keeps new replicas off a broker."""
    plan = replace(draining.plan, options={})
    apply(draining.environment(), plan, draining.options)
    assert _cordon(draining) is None
    assert Capability.CONFIGS in draining.memory.capabilities


@pytest.mark.parametrize(
    ("before", "option"),
    [(None, "--delete-config cordoned.log.dirs"), ("/d1", "--add-config cordoned.log.dirs=[/d1]")],
)
@pytest.mark.parametrize("way", [cancel, roll_back, repair_run])
def test_a_dead_broker_that_stays_cordoned_is_named(draining: Any, way: Any, before: str | None, option: str) -> None:
    """The drained broker has died, and its cordon cannot be lifted: a warning says so and how to do it."""
    if before is not None:
        draining.memory.kafka.parts.brokers[_DRAINED].own_configs[CORDONED_LOG_DIRS] = before
    environment = draining.crash_before("alter_reassignments")
    draining.memory.kafka.kill(_DRAINED)
    draining.recorder.events.clear()
    way(environment)
    warned = [w.message for w in draining.recorder.of(Warned) if "broker 1 stays cordoned" in w.message]
    assert warned
    assert f"'kafka-configs --alter {option}'" in warned[0]


@pytest.mark.parametrize("way", [cancel, roll_back, repair_run])
def test_a_configuration_that_times_out_once(draining: Any, way: Any) -> None:
    """Reading the cordon is retried like every other call: the run is closed, and the cordon lifted."""
    environment = draining.crash_before("alter_reassignments")
    once = iter([True])

    def time_out(call: Any) -> None:
        if call.method == "configs" and list(call.arguments[1]) == [CORDONED_LOG_DIRS] and next(once, False):
            raise UnreachableError("timed out")

    draining.faulty.before.append(time_out)
    assert way(environment).outcome in (RunOutcome.STOPPED, RunOutcome.COMPLETE)
    assert _cordon(draining) is None
