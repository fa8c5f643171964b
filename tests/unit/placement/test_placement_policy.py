"""How a placement is written."""

import pytest

from kafkabal.errors import UsageError
from kafkabal.placement.placement_policy import Layout, PlacementPolicy, parse_policy


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("score", PlacementPolicy()),
        ("even", PlacementPolicy(layout=Layout.EVEN)),
        ("brokers+2", PlacementPolicy(layout=Layout.BROKERS_PLUS_2)),
        ("brokers+2:7", PlacementPolicy(layout=Layout.BROKERS_PLUS_2, seed=7)),
        ("binomial:0.3", PlacementPolicy(layout=Layout.BINOMIAL, probability=0.3)),
        ("binomial:0.3:7", PlacementPolicy(layout=Layout.BINOMIAL, probability=0.3, seed=7)),
        ("binomial:1", PlacementPolicy(layout=Layout.BINOMIAL, probability=1.0)),
    ],
)
def test_a_placement_is_read(text: str, policy: PlacementPolicy) -> None:
    """The seed is 0 unless it is given, and what is read is written back so that it means the same."""
    assert parse_policy(text) == policy
    assert parse_policy(str(policy)) == policy


@pytest.mark.parametrize(
    "text",
    [
        "",
        "scores",
        "score:1",
        "even:1",
        "brokers+2:x",
        "brokers+2:1:2",
        "binomial",
        "binomial:",
        "binomial:2",
        "binomial:-1",
        "binomial:nan",
        "binomial:0.5:x",
        "binomial:0.5:1:2",
    ],
)
def test_invalid_placements_are_refused(text: str) -> None:
    """The text is shown, and what there is instead."""
    with pytest.raises(UsageError, match="unknown placement") as error:
        parse_policy(text)
    assert "binomial:P[:SEED]" in (error.value.hint or "")
