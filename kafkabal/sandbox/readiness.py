"""Tells when a sandbox is ready: every broker is registered and responds."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from kafkabal.sandbox.free_ports import LOOPBACK, is_listening
from kafkabal.sandbox.node_layout import Node

_ANSWER_TIMEOUT_S: Final = 5.0
"""A starting broker accepts connections before it responds; the request is repeated until the limit of the whole
wait."""


class Readiness:
    """Checks starting nodes repeatedly, and queries only those that have not responded yet.

    Parameters
    ----------
    nodes
        The nodes to wait for.
    broker_ids
        Brokers that each of them, if it is a broker, must see as alive.
    """

    def __init__(self, nodes: Iterable[Node], broker_ids: Collection[int]) -> None:
        self._waited_for = list(nodes)
        self._broker_ids = frozenset(broker_ids)

    @property
    def waited_for(self) -> list[Node]:
        """The nodes that are not ready yet."""
        return list(self._waited_for)

    def check(self) -> bool:
        """Check the nodes that were not ready; returns whether all are."""
        while self._waited_for and self._is_ready(self._waited_for[0]):
            del self._waited_for[0]
        return not self._waited_for

    def _is_ready(self, node: Node) -> bool:
        if not is_listening(node.main_port):
            return False
        return not node.role.serves_clients or self._broker_ids <= _brokers_known_to(node)


def _brokers_known_to(node: Node) -> frozenset[int]:
    """Ask one broker for the live brokers; an empty set if it does not respond."""
    import confluent_kafka
    import confluent_kafka.admin

    address = f"{LOOPBACK}:{node.main_port}"
    # a starting broker that does not respond is expected, so log nothing
    client = confluent_kafka.admin.AdminClient({"bootstrap.servers": address, "log_level": 0})
    try:
        return frozenset(client.list_topics(timeout=_ANSWER_TIMEOUT_S).brokers)
    except confluent_kafka.KafkaException:
        return frozenset()
