"""Throttles of a broker that died during a run, if controllers accept its configs (KIP-919)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from kafkabal.clusters.cluster_protocol import Fault
from kafkabal.clusters.config_items import ConfigResource, ResourceKind
from kafkabal.executor.execute_run import cancel

_DEAD = ConfigResource(ResourceKind.BROKER, "4")


@pytest.mark.parametrize("has_controllers", [True, False])
def test_rates_of_a_broker_that_cannot_be_read(
    scene: Any, monkeypatch: pytest.MonkeyPatch, has_controllers: bool
) -> None:
    """They are restored without being read if that is possible; otherwise they stay pending, and are named."""
    environment = scene.crash_before("alter_reassignments")
    assert scene.configs_now()["broker 4"] != scene.configs["broker 4"]
    memory = scene.memory
    configs, alter_configs = memory.configs, memory.alter_configs
    unreachable = {_DEAD: Fault("unreachable", "connection refused")}

    def read(resources: Collection[ConfigResource], keys: Collection[str]) -> Any:
        found, faults = configs(set(resources) - {_DEAD}, keys)
        return found, {**faults, **{r: f for r, f in unreachable.items() if r in resources}}

    def change(changes: Collection[Any]) -> Any:
        if has_controllers:
            return alter_configs(changes)
        return {**alter_configs([c for c in changes if c.resource != _DEAD]), **unreachable}

    monkeypatch.setattr(memory, "configs", read)
    monkeypatch.setattr(memory, "alter_configs", change)
    result = cancel(environment)
    own = scene.configs_now()["broker 4"]
    assert (own == scene.configs["broker 4"]) is has_controllers
    assert (result.pending == []) is has_controllers
