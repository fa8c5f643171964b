"""The record that publishes the weights of a topic; see docs/formats.md."""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf
from typing import Annotated, Final, Literal, Self

import msgspec
from msgspec import Meta

from kafkabal.routing.routing_view import RoutingView
from kafkabal.routing.weights_for_clients import ClientWeights

WEIGHTS_TOPIC: Final = "__kafkabal_weights"
"""Topic of the weights; the latest record of each topic has the topic's name as key."""

_Share = Annotated[float, Meta(ge=0, le=1)]
_Row = Annotated[int, Meta(ge=-1)]
_Positive = Annotated[int, Meta(ge=1)]


class WeightRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Weights of a topic; its numbers survive JSON bit for bit, so that all clients pick alike."""

    kafkabal_weights: Literal[1] = 1
    """Version of the format."""
    topic: str
    published_at: str
    publisher: str
    scores: dict[str, float]
    valid_ms: _Positive
    slot_bytes: _Positive
    slot_part: Annotated[float, Meta(gt=0)] | None
    brokers: list[int]
    leaders: list[_Row]
    weights: list[_Share]

    @classmethod
    def of(
        cls,
        weights: ClientWeights,
        view: RoutingView,
        *,
        scores: Mapping[str, float],
        valid_s: float,
        published_at: str,
        publisher: str,
    ) -> Self:
        """The record of the weights that a policy computed from a view.

        Parameters
        ----------
        scores
            The scores, with their weights, that it balances.
        valid_s
            Clients stop following the record after this time without a newer one.
        published_at
            ISO 8601, UTC.
        publisher
            Name of the publisher, for people.
        """
        return cls(
            topic=view.topic,
            published_at=published_at,
            publisher=publisher,
            scores=dict(scores),
            valid_ms=round(valid_s * 1000),
            slot_bytes=weights.slot_bytes,
            slot_part=None if isinf(weights.slot_part) else weights.slot_part,
            brokers=view.broker_id.tolist(),
            leaders=weights.leader.tolist(),
            weights=weights.weights.tolist(),
        )

    def to_json(self) -> bytes:
        """The value of the record; its key is the name of the topic."""
        return msgspec.json.encode(self)
