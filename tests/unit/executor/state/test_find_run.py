"""Which run a journal or a cluster record is of."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.errors import UsageError
from kafkabal.executor.execute_run import apply
from kafkabal.executor.state.find_run import find_run


def test_journal_of_another_cluster(scene: Any) -> None:
    """A journal is not applied to a cluster that it is not about."""
    apply(scene.environment(), scene.plan, scene.options)
    scene.memory.kafka.parts.cluster_id = "another"
    with pytest.raises(UsageError, match="journal of another cluster: simulated, not another"):
        find_run(scene.environment(), scene.journal())
