"""What a run does where it may not set the throttle that it was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kafkabal.clusters.protocol import Fault, ResourceKind
from kafkabal.errors import NotAuthorizedError
from kafkabal.executor.runs import apply

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.mark.parametrize("denied", [ResourceKind.BROKER, ResourceKind.TOPIC])
def test_throttle_that_may_not_be_set(scene: Any, monkeypatch: pytest.MonkeyPatch, denied: ResourceKind) -> None:
    """The run is refused at once and says how to go without; nothing has moved, and no throttle is left."""
    alter_configs = scene.memory.alter_configs

    def change(changes: Sequence[Any]) -> Any:
        faults = {c.resource: Fault("AUTHORIZATION_FAILED") for c in changes if c.resource.kind is denied}
        return {**alter_configs([c for c in changes if c.resource not in faults]), **faults}

    monkeypatch.setattr(scene.memory, "alter_configs", change)
    began_s = scene.memory.kafka.clock.monotonic()
    with pytest.raises(NotAuthorizedError, match="may not be set") as refused:
        apply(scene.workplace(), scene.plan, scene.options)
    assert "--throttle none" in (refused.value.hint or "")
    assert scene.memory.kafka.clock.monotonic() - began_s < 10.0
    scene.assert_as_at_start()
