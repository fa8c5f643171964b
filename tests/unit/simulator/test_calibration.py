"""Prediction intervals cover the real outcome as often as they claim."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kafkabal.errors import InputFileError, UsageError
from kafkabal.routing import KeyTable, load_policy, view_of
from kafkabal.scoring import load_scores
from kafkabal.simulator import (
    TOPIC,
    FixedSize,
    ListedKeys,
    ListedSizes,
    SimulationOptions,
    Workload,
    WorkloadCluster,
    ZipfKeys,
    build_workload_cluster,
    compare,
    row_records,
    simulate,
)
from kafkabal.simulator.workload import UniformKeys

RECORDS = 1500


@pytest.mark.parametrize(("policy", "seed"), [("key-hash", 11), ("pkg", 12)])
def test_intervals_of_keyed_data_cover_the_truth(policy: str, seed: int) -> None:
    """Of 100 drawn workloads with keys unknown beforehand, about 95 end within the predicted interval."""
    source = np.random.default_rng(seed)
    view = view_of(build_workload_cluster(WorkloadCluster(brokers=4, partitions=8)), TOPIC, load_scores(("disk",)))
    options, choice = SimulationOptions(delivery=False), load_policy(policy)
    covered = 0
    for _ in range(100):
        n_keys = int(source.integers(5, 500))
        keys = UniformKeys(n_keys) if source.random() < 0.3 else ZipfKeys(n_keys, float(source.uniform(0.5, 1.3)))
        workload = Workload(records=RECORDS, sizes=FixedSize(int(source.integers(100, 2000))), keys=keys)
        (predicted,) = compare(view, [choice], workload, range(10), options)
        names = KeyTable.of([b"%x" % number for number in source.choice(10**9, n_keys, replace=False)])
        real = Workload(records=RECORDS, sizes=workload.sizes, keys=ListedKeys(keys.draw(source, 0, RECORDS), names))
        figure = predicted.figure(lambda run: run.max_over_mean, least=1)
        truth = simulate(view, choice, real, options).max_over_mean
        covered += abs(truth - figure.mean) <= figure.half_width
    assert covered >= 90, "the chance of fewer, at 95 % each, is 1 in 80"


def test_real_keys_are_read_from_the_data(tmp_path: Path) -> None:
    """Rows yield the sizes and keys that produce would send, in order; null is no key."""
    path = tmp_path / "events.jsonl"
    users = ["ann", None, "bob", "ann"]
    rows = [json.dumps({"user": user, "text": "x" * n}) for n, user in enumerate(users)]
    path.write_text("\n".join(rows) + "\n")
    sizes, keys = row_records(path, "user")

    assert keys is not None
    assert [None if row < 0 else keys.keys[row] for row in keys.row] == [b"ann", None, b"bob", b"ann"]
    assert keys.table(1) is keys.table(2), "no seed draws other keys"
    lengths = [len(row) + len(user or "") for row, user in zip(rows, users, strict=True)]
    assert sizes.size_bytes.tolist() == lengths
    drawn = keys.draw(np.random.default_rng(0), 3, 3)
    assert drawn.tolist() == [keys.row[3], keys.row[0], keys.row[1]]
    assert isinstance(row_records(path, None)[0], ListedSizes)
    assert row_records(path, None)[1] is None


def test_long_keys_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All keys are padded to the longest, so that a mistaken field would take seconds and gigabytes."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"k": "a"}\n{"k": "' + "a" * 65_537 + '"}\n')
    with pytest.raises(UsageError, match=r"rows\.jsonl, line 2: the key is longer than 65,536 bytes \(65,537\)"):
        row_records(path, "k")
    monkeypatch.setattr("kafkabal.simulator.data_set_sizes._MOST_KEY_BYTES", 10)
    path.write_text('{"k": "a"}\n{"k": "bbbbbb"}\n')
    with pytest.raises(InputFileError, match="2 distinct keys of up to 6 bytes are too many to simulate"):
        row_records(path, "k")
