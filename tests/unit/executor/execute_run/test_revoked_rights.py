"""A permission that is revoked during a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from kafkabal.clusters import ConfigChange, ConfigResource, Fault
from kafkabal.errors import NotAuthorizedError
from kafkabal.executor.execute_run import apply, repair_run
from kafkabal.executor.run_events import Warned
from tests.unit.executor.conftest import Scene


def test_what_may_no_longer_be_restored_is_named(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that may no longer change configs cancels its moves, raises the missing permission, and warns of the
    throttles that it leaves; ``repair`` restores them once it is granted again."""
    alter, denied = scene.memory.alter_configs, Fault("CLUSTER_AUTHORIZATION_FAILED", "denied")

    def deny(changes: Sequence[ConfigChange]) -> Mapping[ConfigResource, Fault]:
        if any(call.method == "alter_reassignments" for call in scene.faulty.calls):
            return {change.resource: denied for change in changes}
        return alter(changes)

    with monkeypatch.context() as patched:
        patched.setattr(scene.memory, "alter_configs", deny)
        with pytest.raises(NotAuthorizedError, match="not authorized to set the throttle"):
            apply(scene.environment(), scene.plan, scene.options)
    assert not scene.memory.reassignments()
    warned = [w.message for w in scene.recorder.of(Warned) if w.message.startswith("still set: ")]
    assert len(warned) == 1
    assert "CLUSTER_AUTHORIZATION_FAILED" in warned[0]
    assert repair_run(scene.environment()).pending == []
    scene.assert_clean()
