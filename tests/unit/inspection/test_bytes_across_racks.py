"""Bytes across racks: exact for replication, by hand on small clusters; racks may be paths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kafkabal.inspection.bytes_across_racks import rack_traffic, with_rack_level
from kafkabal.model import BrokerRow, ClusterState
from kafkabal.testing.cluster_builders import brokers, cluster, topic


def sampled(state: ClusterState, rates: list[float]) -> ClusterState:
    """The state with these rates of its partitions, half of which is read again."""
    written = np.array(rates)
    return state.replace(partitions=replace(state.partitions, in_bytes_per_s=written, out_bytes_per_s=written / 2))


def test_replication_across_racks_is_counted_per_follower() -> None:
    """One partition has a follower in the other rack, one has both there, one none."""
    state = cluster(brokers(4, racks=2), [topic("t", [1, 3], [1, 2, 4], [2, 4])])
    found = rack_traffic(sampled(state, [100.0, 10.0, 1.0]))
    assert state.racks == ("r0", "r1")
    assert found.produced.tolist() == [110, 1]
    assert found.replicated_out.tolist() == [20, 0]
    assert found.replicated_in.tolist() == [0, 20]
    assert found.read.tolist() == [55, 0.5]
    assert found.clients_across.tolist() == [82.5, 0.75]


def test_without_rates_traffic_is_unknown() -> None:
    """Traffic computed from unknown rates is NaN, not zero; what other rates give stays known."""
    state = cluster(brokers(2, racks=2), [topic("t", [1, 2])])
    assert np.isnan(rack_traffic(state).replicated_out).all()
    unread = sampled(state, [100.0])
    unread = unread.replace(partitions=replace(unread.partitions, out_bytes_per_s=np.array([np.nan])))
    found = rack_traffic(unread)
    assert (found.replicated_out.tolist(), np.isnan(found.clients_across).tolist()) == ([100, 0], [True, True])


def test_what_never_crosses_racks_is_zero() -> None:
    """Without followers in other racks nothing crosses, which is known if the rates are."""
    state = cluster(brokers(2, racks=2), [topic("t", [1], [2])])
    found = rack_traffic(sampled(state, [100.0, 10.0]))
    assert (found.replicated_in.tolist(), found.replicated_out.tolist()) == ([0, 0], [0, 0])


def test_paths_are_grouped_by_their_first_parts() -> None:
    """Rows of one data centre are one at level 1; what stays within it no longer crosses."""
    names = ("dc1/row1/r1", "dc1/row2/r1", "dc2/row1/r1")
    rows = [BrokerRow(broker=b, rack=name, log_dirs=brokers(1)[0].log_dirs) for b, name in enumerate(names, 1)]
    state = sampled(cluster(rows, [topic("t", [1, 2, 3])]), [10.0])
    assert rack_traffic(state).replicated_out.tolist() == [20, 0, 0]
    rooms = with_rack_level(state, 1)
    assert rooms.racks == ("dc1", "dc2")
    assert rack_traffic(rooms).replicated_out.tolist() == [10, 0]
    assert with_rack_level(state, 2).racks == ("dc1/row1", "dc1/row2", "dc2/row1")
    assert with_rack_level(state, 9).racks == names
