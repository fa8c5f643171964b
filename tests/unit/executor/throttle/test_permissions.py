"""What a run does if it may not set its throttle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kafkabal.clusters.cluster_protocol import Fault
from kafkabal.clusters.config_items import ResourceKind
from kafkabal.errors import NotAuthorizedError
from kafkabal.executor.execute_run import apply, resume
from kafkabal.executor.run_events import Warned
from kafkabal.executor.state.run_states import RunOutcome


@pytest.mark.parametrize("denied", [ResourceKind.BROKER, ResourceKind.TOPIC])
def test_throttle_that_may_not_be_set(scene: Any, monkeypatch: pytest.MonkeyPatch, denied: ResourceKind) -> None:
    """The run is refused at once and says how to go without; nothing has moved, and no throttle is left."""
    alter_configs = scene.memory.alter_configs

    def change(changes: Sequence[Any]) -> Any:
        faults = {c.resource: Fault("AUTHORIZATION_FAILED") for c in changes if c.resource.kind is denied}
        return {**alter_configs([c for c in changes if c.resource not in faults]), **faults}

    monkeypatch.setattr(scene.memory, "alter_configs", change)
    began_s = scene.memory.kafka.clock.monotonic()
    with pytest.raises(NotAuthorizedError, match="not authorized to set the throttle") as refused:
        apply(scene.environment(), scene.plan, scene.options)
    assert "--throttle none" in (refused.value.hint or "")
    assert scene.memory.kafka.clock.monotonic() - began_s < 10.0
    scene.assert_as_at_start()


def test_records_that_may_be_neither_read_nor_written(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run without access to the cluster's record says so, and is applied and resumed from its journal alone."""

    def deny() -> Any:
        raise NotAuthorizedError("cannot read topic __kafkabal")

    records = scene.memory.records()
    monkeypatch.setattr(type(records), "get_all", lambda store, within_s=None: deny())
    environment = scene.crash_before("alter_reassignments")
    assert any("only the journal on this host" in e.message for e in scene.recorder.of(Warned))
    assert resume(environment).outcome is RunOutcome.COMPLETE
    scene.assert_as_planned()


def test_a_lock_that_may_not_be_taken_is_warned_of(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run continues with a lock of its host, and says who is not excluded and which permission would change
    that."""

    def deny(*_: Any, **__: Any) -> Any:
        raise NotAuthorizedError("cannot join the group", hint="grant Read on group g")

    monkeypatch.setattr(scene.faulty, "lock", deny)
    assert apply(scene.environment(), scene.plan, scene.options).outcome is RunOutcome.COMPLETE
    warned = [e.message for e in scene.recorder.of(Warned)]
    assert "runs from other hosts are not blocked: cannot join the group (grant Read on group g)" in warned
