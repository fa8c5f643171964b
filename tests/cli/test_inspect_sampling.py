"""``kafkabal inspect --sample``: what is read twice, and what may be refused."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from kafkabal.cli.commands.inspect_sampling import reading_with_rates
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.clusters import Capability, Reading, ReadRequest
from kafkabal.errors import NotAuthorizedError
from kafkabal.testing.cluster_builders import brokers, cluster, topic


def test_sampling_works_without_access_to_consumer_groups() -> None:
    """What producers write is measured all the same, and a warning says what is not; other refusals are errors."""
    state = cluster(brokers(1), [topic("t", [1])])
    asked: list[bool] = []
    err = io.StringIO()

    def read(request: ReadRequest) -> Reading:
        asked.append(request.group_offsets)
        if request.group_offsets:
            raise NotAuthorizedError("cannot read the committed offsets of group g")
        return Reading(state, ())

    context = CommandContext(stderr=err, sleep=lambda _: None)
    group_reader: Any = SimpleNamespace(capabilities={Capability.GROUP_OFFSETS})
    reading_with_rates(read, group_reader, context, sample_s=1.0, detailed=False)
    assert asked == [True, False, False]
    assert "of group g; what consumers read is unknown" in err.getvalue()

    def refuse(_: ReadRequest) -> Reading:
        raise NotAuthorizedError("cannot describe the cluster")

    with pytest.raises(NotAuthorizedError, match="describe the cluster"):
        reading_with_rates(refuse, group_reader, context, sample_s=1.0, detailed=False)
