"""The data set in torch's own data loaders; runs where torch is installed (docs/reader.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkabal.reader import TopicDataset
from kafkabal.reader.block_loader import BrokerBlocks
from kafkabal.reader.block_loader_factory import BlockLoaderFactory
from tests.unit.reader.conftest import MemoryTopic
from tests.unit.reader.test_dataset import CONNECTION

torch_data: Any = pytest.importorskip("torch.utils.data")

COUNTS = [300, 31, 180]
EVERYTHING = [(p, o) for p, n in enumerate(COUNTS) for o in range(n)]
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def make_data(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Data sets on a topic in memory, which workers inherit as they are forked."""
    topic = MemoryTopic(COUNTS)
    monkeypatch.setattr(BlockLoaderFactory, "loaders", lambda self: lambda: BrokerBlocks(self.manifest, topic))
    manifest = topic.manifest()

    def make(**options: Any) -> Any:
        given = {"connection": CONNECTION, "manifest": manifest, "shuffle_seed": 1, "tail": "keep", **options}
        return TopicDataset("t", **given)

    return make


def _places(batch: Any) -> list[tuple[int, int]]:
    return [(sample.partition, sample.offset) for sample in batch]


def _same(samples: list[Any]) -> list[Any]:
    return samples


def _loaded(loader: Any) -> list[tuple[int, int]]:
    return [place for batch in loader for place in _places(batch)]


@pytest.mark.parametrize("workers", [0, 2, 3])
def test_workers_share_an_epoch(make_data: Callable[..., Any], workers: int) -> None:
    """Every sample comes once, whatever the number of workers; each is a reader of its own."""
    loader = torch_data.DataLoader(make_data(num_workers=workers), batch_size=16, num_workers=workers, collate_fn=_same)
    assert sorted(_loaded(loader)) == EVERYTHING


def test_epochs_follow_each_other(make_data: Callable[..., Any]) -> None:
    """With set_epoch before each, and by themselves where workers persist, in another order each time."""
    data = make_data(num_workers=2)
    loader = torch_data.DataLoader(data, batch_size=16, num_workers=2, collate_fn=_same)
    lasting = torch_data.DataLoader(
        make_data(num_workers=2), batch_size=16, num_workers=2, collate_fn=_same, persistent_workers=True
    )
    orders = []
    for epoch in range(2):
        data.set_epoch(epoch)
        orders.append(_loaded(loader))
        assert _loaded(lasting) == orders[-1]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1]) == EVERYTHING


def test_ranks_and_workers_are_disjoint(make_data: Callable[..., Any]) -> None:
    """Two ranks of two workers each: four readers, each sample once."""
    seen: list[tuple[int, int]] = []
    for rank in range(2):
        data = make_data(rank=rank, world_size=2, num_workers=2)
        seen += _loaded(torch_data.DataLoader(data, batch_size=16, num_workers=2, collate_fn=_same))
    assert sorted(seen) == EVERYTHING


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batches", [1, 7, 20])
def test_a_stateful_loader_resumes_at_the_sample(make_data: Callable[..., Any], workers: int, batches: int) -> None:
    """What a stateful data loader saved in the middle of an epoch is continued by a new one without a repetition."""
    stateful: Any = pytest.importorskip("torchdata.stateful_dataloader")

    def loader() -> Any:
        data = make_data(num_workers=workers)
        return stateful.StatefulDataLoader(data, batch_size=16, num_workers=workers, collate_fn=_same)

    first = loader()
    iterator = iter(first)
    seen = [place for _ in range(batches) for place in _places(next(iterator))]
    state = first.state_dict()
    resumed = loader()
    resumed.load_state_dict(state)
    seen += _loaded(resumed)
    assert sorted(seen) == EVERYTHING
