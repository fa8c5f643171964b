"""Views of a live cluster, and the same views with newer latencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kafkabal.clusters.cluster_protocol import InFlight, Reading, ReadRequest
from kafkabal.errors import UsageError
from kafkabal.model.cluster_state import LogDirState
from kafkabal.producer.routing_view_reader import ViewReader
from kafkabal.routing import marginal_load
from kafkabal.routing.routing_view import RoutingView
from kafkabal.scoring.evaluation import due_of
from kafkabal.scoring.registry import WeightedScore, load_scores
from kafkabal.scoring.score_protocol import Score
from kafkabal.simulator.workload_cluster import TOPIC, WorkloadCluster, build_workload_cluster
from kafkabal.testing import cluster_builders


def next_view(views: ViewReader, scores: Sequence[WeightedScore]) -> RoutingView:
    """The topic, read again."""
    views.read(scores)
    return views.view(TOPIC, scores)


def same_view(views: ViewReader, scores: Sequence[WeightedScore]) -> RoutingView:
    """The topic as last read, with current latencies."""
    views.update_latencies()
    return views.view(TOPIC, scores)


class Reader:
    """A cluster that counts how often it is read."""

    def __init__(self, *answers: Reading) -> None:
        self.reads = 0
        self.requests: list[ReadRequest] = []
        self._answers = answers or (Reading(build_workload_cluster(WorkloadCluster(brokers=3))),)

    def read(self, request: ReadRequest) -> Reading:
        """The answers in turn, then the last one every time."""
        self.reads += 1
        self.requests.append(request)
        return self._answers[min(self.reads, len(self._answers)) - 1]


class Latencies:
    """Latencies that can be changed."""

    figures: Mapping[int, float] = {}

    def latencies_s(self) -> Mapping[int, float]:
        """See BrokerLatencies."""
        return self.figures


@pytest.mark.parametrize("scores", [["disk"], ["leader-bytes-in"]])
def test_a_view_needs_no_controller(scores: list[str]) -> None:
    """Records are routed by what brokers report, while a cluster has no controller as well."""
    reader = Reader()
    ViewReader(reader, latency=Latencies(), prometheus=None, clock=lambda: 0.0, sleep=lambda _: None).read(
        load_scores(scores)
    )
    assert {request.in_flight for request in reader.requests} == {InFlight.OMITTED}


def test_the_same_view_has_the_latencies_of_now() -> None:
    """New latencies neither read the cluster nor change the view's time; scores that need latencies appear."""
    reader, latencies, now_s = Reader(), Latencies(), [5.0]
    views = ViewReader(reader, latency=latencies, prometheus=None, clock=lambda: now_s[0])
    scores = load_scores(["latency"])
    view = next_view(views, scores)
    assert (view.at_s, np.isnan(view.latency_s).all()) == (5.0, True)
    assert [marginal.counted.any() for marginal in view.marginal_loads] == [False], "none is measured yet"

    now_s[0], latencies.figures = 6.0, {1: 0.5, 3: 0.1}
    same = same_view(views, scores)
    assert (same.at_s, reader.reads) == (5.0, 1)
    np.testing.assert_array_equal(same.latency_s, [0.5, np.nan, 0.1])
    assert [marginal.name for marginal in same.marginal_loads] == ["latency"]
    assert [marginal.counted.tolist() for marginal in same.marginal_loads] == [[True, False, True]]

    assert (next_view(views, scores).at_s, reader.reads) == (6.0, 2)


def test_brokers_that_report_no_log_dirs_are_asked_again() -> None:
    """Brokers that were too busy to report log dirs are not taken for brokers that never report them."""
    whole = build_workload_cluster(WorkloadCluster(brokers=3))
    unknown = replace(whole.replicas, size_bytes=np.full(len(whole.replicas), -1))
    offline = replace(whole.log_dirs, state=np.full(len(whole.log_dirs), LogDirState.OFFLINE, np.int8))
    silent, slept_s = Reading(whole.replace(replicas=unknown, log_dirs=offline)), list[float]()
    reader = Reader(silent, silent, Reading(whole))
    views = ViewReader(reader, latency=Latencies(), prometheus=None, clock=lambda: 5.0, sleep=slept_s.append)
    view = next_view(views, load_scores(["disk"]))
    assert ([marginal.name for marginal in view.marginal_loads], reader.reads) == (["disk"], 3)
    assert slept_s == [0.1, 0.4]

    forever = ViewReader(Reader(silent), latency=Latencies(), prometheus=None, clock=lambda: 5.0, sleep=slept_s.append)
    with pytest.raises(UsageError, match="needs log-dirs"):
        next_view(forever, load_scores(["disk"]))


def test_a_reading_is_evaluated_once_for_all_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    """What brokers are due does not depend on the topic: for each of a thousand topics it would take minutes."""
    evaluated: list[str] = []

    def due(score: Score, *more: Any) -> Any:
        evaluated.append(score.name)
        return due_of(score, *more)

    monkeypatch.setattr(marginal_load, "due_of", due)
    state = cluster_builders.cluster(
        cluster_builders.brokers(3), [cluster_builders.topic(name, [1, 2], [2, 3]) for name in "abc"]
    )
    views = ViewReader(Reader(Reading(state)), latency=Latencies(), prometheus=None, clock=lambda: 0.0)
    scores = load_scores(["disk"])
    for times in (1, 2):
        views.read(scores)
        assert [views.view(name, scores).topic for name in "abc"] == ["a", "b", "c"]
        assert evaluated == ["disk"] * times
