"""Weights as they are published."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from jsonschema import Draft202012Validator

from kafkabal.routing import Context, WeightRecord, load_policy, view_of
from kafkabal.routing.byte_stride import ByteStride
from kafkabal.routing.policies.score import ScoreWeighted
from kafkabal.scoring import load_scores
from kafkabal.simulator.workload_cluster import TOPIC, WorkloadCluster, build_workload_cluster

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "weights-record.schema.json"


def weighed() -> tuple[ScoreWeighted, WeightRecord]:
    """A policy that has seen a cluster with an uneven topic, and its record."""
    scores = load_scores(["disk=2"])
    view = view_of(build_workload_cluster(WorkloadCluster(brokers=3)), TOPIC, scores)
    policy = load_policy("score").create(Context())
    assert isinstance(policy, ScoreWeighted)
    policy.refresh(view)
    record = WeightRecord.of(
        policy.client_weights(),
        view,
        scores={"disk": 2.0},
        valid_s=60,
        published_at="2026-01-01T00:00:00Z",
        publisher="me",
    )
    return policy, record


def test_a_record_matches_its_schema() -> None:
    """A record has all keys of the published schema, and no other."""
    document = json.loads(weighed()[1].to_json())
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(document)
    assert (document["kafkabal_weights"], document["topic"], document["valid_ms"]) == (1, TOPIC, 60_000)


def test_weights_of_a_record_route_like_the_policy() -> None:
    """A stride made of the JSON picks what the policy itself picks, until slots are as long as a batch."""
    policy, record = weighed()
    read = json.loads(record.to_json())
    stride = ByteStride(1, policy._stride._start, lambda: None)
    stride.set_slot_bytes(read["slot_bytes"], read["slot_part"])
    stride.set_weights(np.array(read["weights"]), 0.0, np.array(read["leaders"], np.int32))
    sizes = np.random.default_rng(1).integers(1, 3000, 1000).tolist()
    assert [stride.pick(None, size) for size in sizes] == [policy.pick(None, size) for size in sizes]
