"""The worked example of the documentation does what the documentation says."""

import re
import sys
from pathlib import Path

import pytest

from kafkabal.model.cluster_rows import BrokerRow
from kafkabal.scoring.evaluation import evaluate
from kafkabal.scoring.registry import load_scores
from kafkabal.testing import cluster_builders

DOCS = Path(__file__).parents[3] / "docs" / "own-score.md"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The example as a module that can be imported."""
    code = re.search(r"```python\n# gpu_scores\.py\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert code is not None
    (tmp_path / "gpu_scores.py").write_text(code[1])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "gpu_scores", raising=False)
    return "gpu_scores"


def test_the_worked_example_gives_the_figures_that_are_shown(module: str) -> None:
    """Loads, shares and skew of the table are those that kafkabal computes."""
    brokers = [BrokerRow(broker=b, rack=f"r{b - 1}") for b in (1, 2)]
    partition_rows = [cluster_builders.partition(i, [1 + i], 600) for i in range(2)]
    for row in partition_rows:
        assert row.log_dirs is not None
        row.log_dirs[0] = None
    cluster = cluster_builders.cluster(
        brokers, [type(cluster_builders.topic("t"))(topic="train.images", partitions=partition_rows)]
    )
    (weighted,) = load_scores([f"{module}:GpuLocality=2"])
    result = evaluate(weighted.score, cluster, tolerance=0.09)
    shown = re.findall(r"^\| (\d) \| (\d+) \| (\d+) \| \d+ \| ([\d.]+) \|$", DOCS.read_text(), re.MULTILINE)
    assert weighted.weight == 2
    assert [
        (str(b), f"{load:.0f}", f"{c:.0f}", f"{s:.2f}")
        for b, load, c, s in zip(cluster.brokers.id, result.load, result.capacity, result.share, strict=True)
    ] == shown
    assert result.skew == pytest.approx(0.5)
    assert result.outside.tolist() == [True, True]
