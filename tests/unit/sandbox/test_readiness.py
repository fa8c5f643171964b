"""A sandbox is ready when every broker listens and knows all expected brokers."""

from __future__ import annotations

import pytest

from kafkabal.sandbox import Node, Role, readiness

NODES = (
    Node(101, Role.CONTROLLER, None, {"CONTROLLER": 1}),
    Node(1, Role.BROKER, None, {"PLAINTEXT": 2}),
    Node(2, Role.BROKER, None, {"PLAINTEXT": 3}),
)


def test_a_check_continues_where_the_last_one_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller need only listen; a broker must know the others, and is not asked again once it does."""
    listening: set[int] = set()
    known: dict[int, set[int]] = {1: set(), 2: set()}
    asked: list[int] = []

    def brokers_known_to(node: Node) -> frozenset[int]:
        asked.append(node.id)
        return frozenset(known[node.id])

    monkeypatch.setattr(readiness, "is_listening", lambda port: port in listening)
    monkeypatch.setattr(readiness, "_brokers_known_to", brokers_known_to)
    waiting = readiness.Readiness(NODES, [1, 2])

    assert not waiting.check()
    listening |= {1, 2, 3}
    known[1] = {1}
    assert not waiting.check()
    assert [node.id for node in waiting.waited_for] == [1, 2]
    known[1] = {1, 2, 3}
    assert not waiting.check()
    known[2] = {1, 2}
    assert waiting.check()
    assert asked == [1, 1, 2, 2]
