"""Whether a broker can be stopped for good: only without replicas, and only if it is no voter."""

from __future__ import annotations

import re

import pytest

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.executor.observe.brokers_safe_to_stop import SafeToStop, prove_safe_to_stop
from kafkabal.testing.cluster_builders import brokers, cluster, topic


@pytest.mark.parametrize(
    ("voters", "is_voter"),
    [(None, (None, None, None)), (frozenset({2, 3}), (False, True, True)), (frozenset(), (False, False, False))],
)
def test_what_is_proved_of_each_broker(voters: frozenset[int] | None, is_voter: tuple[bool | None, ...]) -> None:
    """Its partitions, each once and the first three by name, and its vote; brokers in order, unknown ones hold none."""
    state = cluster(brokers(3), [topic("a", [1, 2], [2, 1], [1, 2]), topic("b", [1, 2], [2, 3])])
    memory = InMemoryCluster.of(state)
    memory.kafka.parts.quorum_voters = voters
    of_1, of_3, of_9 = is_voter
    assert prove_safe_to_stop(memory, state, {9, 3, 1}) == (
        SafeToStop(1, 4, ("a-0", "a-1", "a-2"), of_1),
        SafeToStop(3, 1, ("b-1",), of_3),
        SafeToStop(9, 0, (), None if of_9 is None else False),
    )


@pytest.mark.parametrize(
    ("checked", "words"),
    [
        (SafeToStop(1, 2, ("a-0", "a-1"), None), "broker 1 is not safe to stop: it holds a-0, a-1"),
        (SafeToStop(1, 1, ("a-0",), is_voter=True), "broker 1 is not safe to stop: it holds a-0"),
        (SafeToStop(1, 0, (), is_voter=True), "broker 1 is not safe to stop: it votes in the controller quorum"),
        (SafeToStop(1, 0, (), is_voter=False), "broker 1 is safe to stop: no replica.*, and it is not a voter"),
        (SafeToStop(1, 0, (), None), "broker 1 is safe to stop: no replica, so no leader and no group coordinator$"),
    ],
)
def test_one_line_for_people(checked: SafeToStop, words: str) -> None:
    """Replicas first, then the vote; of a vote that is unknown nothing is said."""
    assert re.match(words, checked.in_words())
