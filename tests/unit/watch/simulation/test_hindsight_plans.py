"""The yardstick of a simulated watch: what it moves at once, and what in the evening."""

from __future__ import annotations

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition
from kafkabal.watch.simulation.hindsight_plans import hindsight_bytes
from kafkabal.watch.simulation.simulation_case import HOUR_S, BrokerFault, JoiningBroker, SimulationCase

STATE = cluster(
    brokers(4),
    [TopicRow(topic="t", partitions=[partition(n, (n % 4 + 1, (n + 1) % 4 + 1), 10 * GB) for n in range(40)])],
)


def bytes_of(*faults: BrokerFault, new: tuple[JoiningBroker, ...] = ()) -> int:
    """What the yardstick moves within a day."""
    return hindsight_bytes(STATE, SimulationCase(new_brokers=new), faults, 1.0)


def test_a_broker_that_is_back_is_filled_at_once() -> None:
    """One that fails again that day is repaired and filled again: nobody but who knows the future would have waited."""
    once = bytes_of(BrokerFault(broker=1, at_s=HOUR_S, for_s=HOUR_S))
    twice = bytes_of(*(BrokerFault(broker=1, at_s=at_h * HOUR_S, for_s=HOUR_S) for at_h in (1, 6)))

    assert once > 300 * GB
    assert twice > 1.8 * once


def test_a_broker_that_stays_away_or_is_short_away_is_not_filled() -> None:
    """Repaired only, and nothing at all before ``--dead-after`` has passed."""
    forever = bytes_of(BrokerFault(broker=1, at_s=HOUR_S, for_s=float("inf")))

    assert forever == 200 * GB
    assert bytes_of(BrokerFault(broker=1, at_s=HOUR_S, for_s=600.0)) == 0


def test_a_broker_that_joins_is_filled_unless_one_is_missing() -> None:
    """While one is missing it is not known what is balanced; what a repair copies is all that moves."""
    joins = (JoiningBroker(broker=5, at_s=2 * HOUR_S, like=1),)

    assert bytes_of(new=joins) > 100 * GB
    assert bytes_of(BrokerFault(broker=1, at_s=HOUR_S, for_s=float("inf")), new=joins) == 200 * GB
