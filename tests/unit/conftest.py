"""Topics to route to, and records to route."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kafkabal.routing.key_hashes import KeyTable
from kafkabal.routing.policy_protocol import RecordBatch
from kafkabal.routing.routing_view import RoutingView, view_of
from kafkabal.scoring.registry import load_scores
from kafkabal.simulator.workload_cluster import TOPIC, Leaders, WorkloadCluster, build_workload_cluster


@pytest.fixture
def view_over() -> Callable[..., RoutingView]:
    """Create the view of a synthetic topic; arguments are fields of its cluster, and the scores."""

    def make(*scores: str, **fields: object) -> RoutingView:
        spec = WorkloadCluster(**fields)  # type: ignore[arg-type]
        return view_of(build_workload_cluster(spec), TOPIC, load_scores(scores or ("disk",)))

    return make


@pytest.fixture
def uneven_view(view_over: Callable[..., RoutingView]) -> RoutingView:
    """Six brokers, eight partitions, two brokers lead two of them."""
    return view_over(brokers=6, leaders=Leaders.BROKERS_PLUS_2, racks=3, existing_bytes=10**6)


@pytest.fixture
def mixed_records() -> RecordBatch:
    """Records with and without keys, of all sizes, at growing times."""
    source = np.random.default_rng(7)
    n = 4000
    key = np.where(source.random(n) < 0.4, -1, source.zipf(1.5, n) % 200).astype(np.int32)
    return RecordBatch(
        size_bytes=source.lognormal(8, 1.5, n).astype(np.int64) + 1,
        key=key,
        keys=KeyTable.numbered(200),
        at_s=np.cumsum(source.exponential(0.002, n)),
    )
