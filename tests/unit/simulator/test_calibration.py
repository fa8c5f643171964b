"""Prediction intervals cover the real outcome as often as they claim."""

from __future__ import annotations

import gzip
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
    folder_records,
    row_records,
    simulate,
)
from kafkabal.simulator.workload import UniformKeys
from kafkabal.sources import FolderSource, RecordsToSend

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


def test_keys_of_files_are_those_of_produce(tmp_path: Path) -> None:
    """Path or label, in path order and counted with the size; other keys are refused with the ones there are."""
    for name, content in {"b/2": "22", "a/1": "1", "top": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    for key, expected in {"path": [b"a/1", b"b/2", b"top"], "label": [b"a", b"b", None]}.items():
        sizes, keys = folder_records(tmp_path, key)
        source = FolderSource(tmp_path, key=key)
        blocks = list(source.blocks(RecordsToSend(i, i, part) for i, part in enumerate(source.listing().parts)))
        assert [k for block in blocks for k in block.keys or ()] == expected
        assert keys is not None
        assert [None if row < 0 else keys.keys[row] for row in keys.row] == expected
        contents = [1, 2, 0]
        size_bytes = [n + len(key or b"") for n, key in zip(contents, expected, strict=True)]
        assert sizes.size_bytes.tolist() == [max(n, 1) for n in size_bytes]
    assert folder_records(tmp_path, None)[1] is None
    with pytest.raises(UsageError, match="invalid key for files: 'size'") as caught:
        folder_records(tmp_path, "size")
    assert caught.value.hint == "choose from: path, label"


def test_hints_name_no_options_of_another_command(tmp_path: Path) -> None:
    """A file of unknown format cannot be given with --format, as to produce."""
    (tmp_path / "data").write_text("x")
    with pytest.raises(UsageError, match="unknown file format") as caught:
        row_records(tmp_path / "data", None)
    assert (caught.value.hint or "").startswith("give a file whose name ends with its format")
    for name, content in (("a.jsonl.gz", b""), ("b.jsonl", gzip.compress(b"{}")), ("c.jsonl", "{}".encode("utf-16"))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputFileError, match=r"is compressed|is in UTF-16") as refused:
            row_records(tmp_path / name, None)
        assert (refused.value.hint or "").startswith(("decompress it", "convert it")), name
        assert "produce" not in (refused.value.hint or ""), name


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
